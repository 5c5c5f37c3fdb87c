/** The members of `ServerSession`: messages to one client, over the sender of its session. */

import { JsonRpc, type Logging, type MethodDefinition, MethodTable, type Sampling, Task } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as RequestError from "../../RequestError.ts"
import type { RequestOptions } from "../../RequestOptions.ts"
import type { StreamOrigin } from "../../Transport.ts"
import type { IncomingRequest } from "../engine/IncomingRequests.ts"
import type { Request } from "../engine/Layers.ts"
import * as OnceSteps from "../engine/OnceSteps.ts"
import * as Outgoing from "../engine/Outgoing.ts"
import type { OwnErrors } from "../engine/OwnErrors.ts"
import type { Sender } from "../engine/Sender.ts"
import * as SessionRuntime from "../engine/SessionRuntime.ts"
import type { TaskRequests } from "../engine/TaskRequests.ts"
import { trust } from "../trust.ts"
import type {
  BuildOptions,
  HandshakeState,
  RelatedRequest,
  ServerRequestOptions,
  ServerSessionShape
} from "./ServerSessionShape.ts"

const { notifications, requests } = MethodTable

/**
 * The members of a session. A process may have thousands of sessions, most of them idle. Therefore each member is a
 * getter of the prototype, and exists only while it is used.
 */
export abstract class ServerSessionMembers implements ServerSessionShape {
  abstract readonly runtime: SessionRuntime.SessionRuntime<HandshakeState>
  abstract readonly sender: Sender
  abstract readonly id: string
  abstract readonly state: ServerSessionShape["state"]
  abstract readonly profile: ServerSessionShape["profile"]
  abstract readonly requestedRevision: ServerSessionShape["requestedRevision"]
  abstract readonly initializeMeta: ServerSessionShape["initializeMeta"]
  abstract readonly hasCapability: ServerSessionShape["hasCapability"]
  /** Whether the requests of the client have no handshake. It ignores requests of the server, pings included. */
  abstract readonly hasModernClient: boolean
  /** Sends a log message, unless the client has set a higher level. */
  abstract sendLog(
    message: Omit<Logging.LogMessageParams, "_meta">,
    replyTo: StreamOrigin | undefined
  ): Effect.Effect<void, RequestError.RequestError>

  get inFlight(): ServerSessionShape["inFlight"] {
    return SessionRuntime.inFlight(this.runtime)
  }

  get events(): ServerSessionShape["events"] {
    return this.runtime.observers.events
  }

  get messages(): ServerSessionShape["messages"] {
    return SessionRuntime.messages(this.runtime)
  }

  get close(): ServerSessionShape["close"] {
    return this.runtime.close
  }

  get closed(): ServerSessionShape["closed"] {
    return this.runtime.closed
  }

  get request(): ServerSessionShape["request"] {
    return (name, params, options) => this.#request(name, params, options)
  }

  get extension(): ServerSessionShape["extension"] {
    return (row, params, options) =>
      this.#related(row.name, options, (replyTo) => this.#send(row, params, options, replyTo))
  }

  get ping(): ServerSessionShape["ping"] {
    return (options) => Effect.asVoid(this.#request("ping", {}, options))
  }

  get createMessage(): ServerSessionShape["createMessage"] {
    const create = <R>(params: Sampling.CreateMessageParams, options?: ServerRequestOptions<R>) =>
      this.#request("sampling/createMessage", params, options)
    // `SemanticChecks` has checked that a result without tools has none.
    return trust<ServerSessionShape["createMessage"]>(create)
  }

  get listRoots(): ServerSessionShape["listRoots"] {
    return (options) => this.#request("roots/list", {}, options)
  }

  get elicitForm(): ServerSessionShape["elicitForm"] {
    return (message, form, options) => this.#request("elicitation/create", { message, requestedSchema: form }, options)
  }

  get elicit(): ServerSessionShape["elicit"] {
    return this.elicitForm
  }

  get elicitUrl(): ServerSessionShape["elicitUrl"] {
    return (message, page, options) => this.#request("elicitation/create", { mode: "url", message, ...page }, options)
  }

  get taskRequests(): ServerSessionShape["taskRequests"] {
    return this.#taskRequests((row, params, options) => this.#send(row, params, options, undefined))
  }

  get elicitationComplete(): ServerSessionShape["elicitationComplete"] {
    return (elicitationId, options) =>
      Effect.suspend(() => {
        // The request that sent the user to the page may have ended; then the notification takes the standalone stream.
        const id = options?.relatedRequestId
        const replyTo = id === undefined ? undefined : this.runtime.inflight.find(id)?.origin
        return this.sender.notify(notifications["notifications/elicitation/complete"], { elicitationId }, replyTo)
      })
  }

  get log(): ServerSessionShape["log"] {
    return (message, options) =>
      this.#related("notifications/message", options, (replyTo) => this.sendLog(message, replyTo))
  }

  get progress(): ServerSessionShape["progress"] {
    return (token, step, options) =>
      this.#related("notifications/progress", options, (replyTo) => this.sender.progress(token, step, replyTo))
  }

  get resourceUpdated(): ServerSessionShape["resourceUpdated"] {
    return (uri) => this.#notify("notifications/resources/updated", { uri })
  }

  get resourceListChanged(): ServerSessionShape["resourceListChanged"] {
    return this.#notify("notifications/resources/list_changed", {})
  }

  get toolListChanged(): ServerSessionShape["toolListChanged"] {
    return this.#notify("notifications/tools/list_changed", {})
  }

  get promptListChanged(): ServerSessionShape["promptListChanged"] {
    return this.#notify("notifications/prompts/list_changed", {})
  }

  get notifications(): ServerSessionShape["notifications"] {
    return (name) => this.runtime.subscriptions.follow(name)
  }

  get send(): ServerSessionShape["send"] {
    return (message, options) => this.#related("send", options, (replyTo) => this.sender.send(message, replyTo))
  }

  get buildCreateMessage(): ServerSessionShape["buildCreateMessage"] {
    return (params, options) => this.#build("sampling/createMessage", params, options)
  }

  get buildElicitForm(): ServerSessionShape["buildElicitForm"] {
    return (message, form, options) => this.#build("elicitation/create", { message, requestedSchema: form }, options)
  }

  get buildElicitUrl(): ServerSessionShape["buildElicitUrl"] {
    return (message, page, options) => this.#build("elicitation/create", { mode: "url", message, ...page }, options)
  }

  // ===================================================================================================================
  // The sending of its messages
  // ===================================================================================================================

  taskRequestsOf(incoming: Pick<IncomingRequest, "ended" | "origin">, errors: OwnErrors): TaskRequests {
    return this.#taskRequests((row, params, options) =>
      incoming.ended
        ? Effect.fail(RequestError.make(row.name, { _tag: "ExchangeEnded" }))
        : this.sender.request(row, params, { ...options, replyTo: incoming.origin }), errors)
  }

  #taskRequests(request: Request, errors?: OwnErrors): TaskRequests {
    return {
      request: (row, params, options) =>
        OnceSteps.outside(row.name, Effect.suspend(() => request(row, params, options))),
      closed: this.runtime.closed,
      receiver: this.runtime,
      errors
    }
  }

  /** Passes on the origin of the request that a message belongs to. */
  #related<A, R>(
    method: string,
    options: RelatedRequest | undefined,
    use: (replyTo: StreamOrigin | undefined) => Effect.Effect<A, RequestError.RequestError, R>
  ): Effect.Effect<A, RequestError.RequestError, R> {
    return Effect.suspend(() => {
      const id = options?.relatedRequestId
      if (id === undefined) return use(undefined)
      const request = this.runtime.inflight.find(id)
      return request === undefined
        ? Effect.fail(RequestError.make(method, { _tag: "ExchangeEnded" }))
        : use(request.origin)
    })
  }

  #request<Name extends MethodTable.RequestName<"server">, R>(
    name: Name,
    params: MethodTable.ParamsOf<Name>,
    options: ServerRequestOptions<R> | undefined
  ): Effect.Effect<MethodTable.ResultOf<Name>, RequestError.RequestError, R> {
    return this.extension(requests[name], params, options)
  }

  #send<Params extends object, Result, R = never>(
    row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
    params: Params,
    options: RequestOptions<R> | undefined,
    replyTo: StreamOrigin | undefined
  ): Effect.Effect<Result, RequestError.RequestError, R> {
    return this.hasModernClient && !("reason" in this.runtime.state())
      ? Effect.fail(RequestError.make(row.name, Outgoing.notInModernRevision))
      : this.sender.request(row, params, { ...options, replyTo })
  }

  #notify<Name extends MethodTable.NotificationName<"server">>(
    name: Name,
    params: MethodTable.NotificationParamsOf<Name>
  ): Effect.Effect<void, RequestError.RequestError> {
    return this.sender.notify(notifications[name], params)
  }

  #build(method: string, params: object, options: BuildOptions = {}): JsonRpc.Request {
    const { relatedTaskId, task } = options
    const number = this.runtime.exchanges.nextId()
    const id = relatedTaskId === undefined ? number : `task-${relatedTaskId}-${number}`
    const meta = "_meta" in params ? params._meta : undefined
    const related = relatedTaskId === undefined ? undefined : { [Task.relatedTaskKey]: { taskId: relatedTaskId } }
    return JsonRpc.request(id, method, {
      ...params,
      ...(task === undefined ? undefined : { task }),
      ...(related === undefined
        ? undefined
        : { _meta: { ...(typeof meta === "object" ? meta : undefined), ...related } })
    })
  }
}
