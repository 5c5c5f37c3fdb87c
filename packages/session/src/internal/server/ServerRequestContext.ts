/** The context of a server's handler: what it sees of its request, and its way to the client meanwhile. */

import { type Logging, MethodTable, type Profile, type Sampling } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { RequestContext } from "../../RequestContext.ts"
import * as RequestError from "../../RequestError.ts"
import type { RequestOptions } from "../../RequestOptions.ts"
import type { Connection, StreamOrigin } from "../../Transport.ts"
import * as Batch from "../engine/Batch.ts"
import { HandlerContext, type HandlerContextDependencies } from "../engine/HandlerContext.ts"
import { trust } from "../trust.ts"

type Service = RequestContext["Service"]

/** The session, or the sessionless exchange, of a handler. */
export interface ServerContextDependencies extends HandlerContextDependencies {
  /** Closes the stream of an origin, while its exchange goes on. */
  readonly detachStream: Connection["detachStream"]
  /** Sends a log message, unless its level is below the one that the client has set. */
  sendLog(
    message: Omit<Logging.LogMessageParams, "_meta">,
    replyTo: StreamOrigin | undefined
  ): Effect.Effect<void, RequestError.RequestError>
}

/** Returns whether the program, and not the connection, is the reason why a message cannot be sent. */
const isMistake = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "UndeclaredCapability" || reason._tag === "InvalidParams"

/** The context of one request of a client. */
export class ServerRequestContext extends HandlerContext<Profile.ClientProfile, ServerContextDependencies>
  implements Service
{
  get principal(): Service["principal"] {
    return this.served.principal
  }

  get log(): Service["log"] {
    const { parts, served } = this
    const dropped = (problem: string) =>
      Effect.sync(() => parts.core.emit({ _tag: "NotificationIgnored", method: "notifications/message", problem }))
    return (message) =>
      Effect.suspend(() =>
        served.ended
          ? dropped("its request has ended")
          : Effect.catch(parts.sendLog(message, served.origin), (error) =>
            isMistake(error)
              ? Effect.die(error)
              : dropped(error.message))
      )
  }

  get notify(): Service["notify"] {
    const { parts: { sender }, served } = this
    return (name, params) =>
      Effect.suspend(() =>
        served.ended
          ? Effect.fail(RequestError.make(name, { _tag: "ExchangeEnded" }))
          : sender.notify(MethodTable.notifications[name], params, served.origin)
      )
  }

  get releaseStream(): Service["releaseStream"] {
    const { parts: { detachStream }, served } = this
    return Effect.suspend(() => {
      const origin = Batch.unwrap(served.origin)
      return served.ended || detachStream === undefined || origin === undefined
        ? Effect.succeed(false)
        : detachStream(origin)
    })
  }

  get request(): Service["request"] {
    const { parts: { sender }, served } = this
    return (name, params, options) =>
      Effect.suspend(() =>
        // Nothing is asked on behalf of a request that has ended.
        served.ended
          ? Effect.fail(RequestError.make(name, { _tag: "ExchangeEnded" }))
          : sender.request(MethodTable.requests[name], params, { ...options, replyTo: served.origin })
      )
  }

  get createMessage(): Service["createMessage"] {
    const { request } = this
    const ask = (params: Sampling.CreateMessageParams, options?: RequestOptions) =>
      request("sampling/createMessage", params, options)
    // What is answered without tools has been checked for having none (`SemanticChecks`).
    return trust(ask)
  }

  get elicit(): Service["elicit"] {
    const { request } = this
    return (params, options) => request("elicitation/create", params, options)
  }

  get listRoots(): Service["listRoots"] {
    const { request } = this
    return (options) => request("roots/list", {}, options)
  }
}
