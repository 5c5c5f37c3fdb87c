/** The context of a server's handler: its request, and the messages that it can send to the client. */

import { type Logging, MethodTable, type Profile } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { RequestContext } from "../../RequestContext.ts"
import * as RequestError from "../../RequestError.ts"
import type { Connection, StreamOrigin } from "../../Transport.ts"
import * as Batch from "../engine/Batch.ts"
import { HandlerContext, type HandlerContextDependencies } from "../engine/HandlerContext.ts"
import type { IncomingRequest } from "../engine/IncomingRequests.ts"
import * as OnceSteps from "../engine/OnceSteps.ts"
import * as Outgoing from "../engine/Outgoing.ts"
import { OwnErrors } from "../engine/OwnErrors.ts"
import * as TaskRequests from "../engine/TaskRequests.ts"
import { trust } from "../trust.ts"
import * as Permission from "./Permission.ts"
import type { ServerSessionShape } from "./ServerSessionShape.ts"

type Service = RequestContext["Service"]

/** The session, or the frame without one, of a handler. */
export interface ServerContextDependencies extends HandlerContextDependencies {
  /** The session of the handler, if the server has sessions. */
  readonly session: ServerSessionShape | undefined
  /** Runs a step that a replay must not run again. `undefined` where no handler is run again. */
  readonly once?:
    | ((
      key: string,
      schemas: OnceSteps.StepSchemas,
      step: Effect.Effect<unknown, unknown>
    ) => Effect.Effect<unknown, unknown>)
    | undefined
  /** Whether the handler was cut at its questions, and runs again. `undefined` where no handler is run again. */
  readonly isHandedOn?: (() => boolean) | undefined
  /** Whether the transport authenticates its senders. */
  readonly authenticates: boolean
  /** Returns the `Mcp-Param-*` headers of the request. */
  readonly parameterHeaders?: () => Service["parameterHeaders"]
  /** Sends the requests of a handler that become tasks. `undefined` where none can. */
  readonly taskRequestsOf?:
    | ((incoming: Pick<IncomingRequest, "ended" | "origin">, errors: OwnErrors) => TaskRequests.TaskRequests)
    | undefined
  /** Closes the stream of an origin. Its exchange continues. */
  readonly detachStream: Connection["detachStream"]
  /** Sends a log message, unless its level is below the one that the client has set. */
  sendLog(
    message: Omit<Logging.LogMessageParams, "_meta">,
    replyTo: StreamOrigin | undefined
  ): Effect.Effect<void, RequestError.RequestError>
}

/** The context of one request of a client. */
export class ServerRequestContext extends HandlerContext<Profile.ClientProfile, ServerContextDependencies>
  implements Service
{
  #errors: OwnErrors | undefined
  #steps: OnceSteps.OnceSteps | undefined

  get principal(): Service["principal"] {
    return this.incoming.principal
  }

  get lacksScopes(): Service["lacksScopes"] {
    const { dependencies: { authenticates }, principal } = this
    return (scopes) => Permission.lacks({ principal, authenticates }, scopes)
  }

  get session(): Service["session"] {
    return this.dependencies.session
  }

  get parameterHeaders(): Service["parameterHeaders"] {
    return this.dependencies.parameterHeaders?.()
  }

  get log(): Service["log"] {
    const { dependencies, incoming } = this
    const dropped = (problem: string) =>
      Effect.sync(() =>
        dependencies.runtime.emit({ _tag: "NotificationIgnored", method: "notifications/message", problem })
      )
    return (message) =>
      Effect.suspend(() =>
        incoming.ended
          ? dropped("its request has ended")
          : Effect.catch(dependencies.sendLog(message, incoming.origin), (error) =>
            Outgoing.isMistake(error.reason)
              ? Effect.die(error)
              : dropped(error.message))
      )
  }

  get notify(): Service["notify"] {
    const { dependencies: { sender }, incoming } = this
    return (name, params) =>
      Effect.suspend(() =>
        incoming.ended
          ? Effect.fail(RequestError.make(name, { _tag: "ExchangeEnded" }))
          : sender.notify(MethodTable.notifications[name], params, incoming.origin)
      )
  }

  get releaseStream(): Service["releaseStream"] {
    const { dependencies: { detachStream }, incoming } = this
    return Effect.suspend(() => {
      const origin = Batch.unwrap(incoming.origin)
      return incoming.ended || detachStream === undefined || origin === undefined
        ? Effect.succeed(false)
        : detachStream(origin)
    })
  }

  get request(): Service["request"] {
    const { dependencies: { sender }, incoming } = this
    return (name, params, options) =>
      OnceSteps.outside(
        name,
        Effect.suspend(() =>
          // The client could not relate this request to one that has ended.
          incoming.ended
            ? Effect.fail(RequestError.make(name, { _tag: "ExchangeEnded" }))
            : this.#ownErrors.of(
              sender.request(MethodTable.requests[name], params, { ...options, replyTo: incoming.origin })
            )
        )
      )
  }

  get isOwnError(): Service["isOwnError"] {
    return (error) => this.#errors?.has(error) === true
  }

  /** Made for the first question, because most handlers ask nothing. */
  get #ownErrors(): OwnErrors {
    return this.#errors ??= new OwnErrors()
  }

  get once(): Service["once"] {
    const { dependencies } = this
    const once = (key: string, schemas: OnceSteps.StepSchemas, step: Effect.Effect<unknown, unknown>) =>
      Effect.suspend(() =>
        dependencies.once === undefined
          ? this.#onceSteps.run(key, schemas, step)
          : dependencies.once(key, schemas, step)
      )
    // The schemas decode to the types of the step.
    return trust<Service["once"]>(once)
  }

  get #onceSteps(): OnceSteps.OnceSteps {
    return this.#steps ??= new OnceSteps.OnceSteps({
      maxCharacters: this.dependencies.runtime.limits.maxRequestStateCharacters
    })
  }

  get taskRequests(): Service["taskRequests"] {
    return this.dependencies.taskRequestsOf?.(this.incoming, this.#ownErrors) ?? TaskRequests.none(this.profile)
  }

  /** A call that can become a task has another context. */
  get becomeTask(): Service["becomeTask"] {
    return Effect.succeed(false)
  }

  get isHandedOn(): Service["isHandedOn"] {
    const { dependencies: { isHandedOn } } = this
    return Effect.sync(() => isHandedOn?.() === true)
  }
}
