import { type Logging, MethodTable, type Profile, type Sampling } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { RequestContext } from "../../RequestContext.ts"
import * as RequestError from "../../RequestError.ts"
import type { RequestOptions } from "../../RequestOptions.ts"
import type { Connection, StreamOrigin } from "../../Transport.ts"
import { Batch } from "../engine/Batch.ts"
import { HandlerContext, type Parts } from "../engine/HandlerContext.ts"
import { trust } from "../trust.ts"

type Service = RequestContext["Service"]

/** What the contexts of one server have in common. */
export interface AskingParts extends Parts {
  /** Lets go of what an origin's stream is carried over. */
  readonly release: Connection["detachStream"]
  /** Sends a log message, unless the client does not want to hear of it. */
  logVia(
    message: Omit<Logging.LogMessageParams, "_meta">,
    replyTo: StreamOrigin | undefined
  ): Effect.Effect<void, RequestError.RequestError>
}

/** Whether the program has to be changed before a message can be sent, rather than the connection. */
const isMistake = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "UndeclaredCapability" || reason._tag === "InvalidParams"

/**
 * What a server's handler sees of the request it serves, and by which it can talk to the client meanwhile.
 */
export class ServerRequestContext extends HandlerContext<Profile.ClientProfile, AskingParts> implements Service {
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
          : Effect.catch(parts.logVia(message, served.origin), (error) =>
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
    const { parts: { release }, served } = this
    return Effect.suspend(() => {
      const origin = served.origin instanceof Batch ? served.origin.origin : served.origin
      return served.ended || release === undefined || origin === undefined ? Effect.succeed(false) : release(origin)
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
    // What is answered without tools has been checked for having none (`Rules.problemOf`).
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
