/** The clients that a proxied server's own requests are forwarded to. */

import type { Logging, MethodTable } from "@effect-mcp/protocol"
import type { RequestContext, RequestError, RequestOptions, ServerSession } from "@effect-mcp/session"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** The request of a client, which the proxy serves. */
export type ServedRequest = RequestContext.RequestContext["Service"]

/** The requests of a server to its client. */
export type AskedMethod = "elicitation/create" | "sampling/createMessage" | "roots/list"

/** Sends a request to a client. */
export type Ask = <Name extends AskedMethod>(
  name: Name,
  params: MethodTable.ParamsOf<Name>,
  options: RequestOptions.RequestOptions
) => Effect.Effect<MethodTable.ResultOf<Name>, RequestError.RequestError>

/** Decides which client a proxied server's request belongs to. */
export interface Asker {
  /** Notes that a request of a client is in flight at the server, until the effect ends. */
  readonly during: <A, E, R>(request: ServedRequest, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Returns the function that asks the client, or `undefined` if it is not certain which client that is. */
  readonly decide: Effect.Effect<Ask | undefined>
  /** Sends a log message of the server to the client, if all of them belong to one. */
  readonly log: ((message: Logging.LogMessageParams) => Effect.Effect<void>) | undefined
  /** Notifies the client that the user is done with a page, if all pages belong to one. */
  readonly complete: ((elicitationId: string) => Effect.Effect<void>) | undefined
}

const askRequest = (request: ServedRequest): Ask => (name, params, options) => request.request(name, params, options)

/** The session with the server belongs to no client. */
export const none: Asker = {
  during: (_, effect) => effect,
  decide: Effect.undefined,
  log: undefined,
  complete: undefined
}

/** The session with the server belongs to one session of a client: all requests of the server are for this client. */
export const one = (session: ServerSession.ServerSessionShape): Asker => {
  const inFlight = new Set<ServedRequest>()
  return {
    during: (request, effect) =>
      Effect.suspend(() => {
        inFlight.add(request)
        return Effect.ensuring(effect, Effect.sync(() => inFlight.delete(request)))
      }),
    decide: Effect.sync(() => {
      // The server's request travels on the stream of the newest request that it can belong to.
      const newest = [...inFlight].at(-1)
      return newest === undefined
        ? (name, params, options) => session.request(name, params, options)
        : askRequest(newest)
    }),
    log: ({ data, level, logger }) =>
      Effect.ignoreCause(session.log({ data, level, ...(logger === undefined ? undefined : { logger }) })),
    complete: (elicitationId) => Effect.ignoreCause(session.elicitationComplete(elicitationId))
  }
}

/**
 * The time after the end of a request, in which a request of the server may still belong to it: it was sent before, or
 * the server has not received the cancellation.
 */
const lingerMillis = 60_000

/**
 * All clients share the session with the server. A request of the server names no request of a client, so it is
 * forwarded only if one session alone has used the server for a minute, and has a request in flight.
 */
export const shared = (): Asker & { readonly remembered: number } => {
  const inFlight = new Map<ServedRequest, object>()
  /**
   * The last two sessions whose requests have ended, with the time. A request without a session stands for itself. Two
   * are enough to know that the server served more than one. Without a bound, each request of a client without a
   * session would be kept for a minute, and each end of a request would pass through all of them.
   */
  const ended = new Map<object, number>()
  const forget = (now: number) => {
    for (const [owner, at] of ended) if (now - at > lingerMillis) ended.delete(owner)
  }
  const end = (owner: object, now: number) => {
    ended.delete(owner)
    ended.set(owner, now)
    for (const oldest of ended.keys()) {
      if (ended.size <= 2) return
      ended.delete(oldest)
    }
  }
  return {
    /** The number of sessions whose requests have ended, and that are remembered. */
    get remembered() {
      return ended.size
    },
    during: (request, effect) =>
      Effect.suspend(() => {
        const owner = request.session ?? request
        inFlight.set(request, owner)
        return Effect.ensuring(
          effect,
          Effect.map(Clock.currentTimeMillis, (now) => {
            inFlight.delete(request)
            end(owner, now)
          })
        )
      }),
    decide: Effect.map(Clock.currentTimeMillis, (now) => {
      forget(now)
      const owners = new Set([...inFlight.values(), ...ended.keys()])
      const newest = [...inFlight.keys()].at(-1)
      return owners.size !== 1 || newest === undefined ? undefined : askRequest(newest)
    }),
    // The order of a log message and of the reply to its request is lost, so its client is never certain.
    log: undefined,
    complete: undefined
  }
}
