/** The log level and the subscriptions of a client, which the store of a host keeps with its session. */

import { JsonRpc, type Logging } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type { Handlers } from "../../Handlers.ts"
import * as RequestContext from "../../RequestContext.ts"
import type { StoredSession } from "../../SessionStore.ts"
import * as LogLevel from "../engine/LogLevel.ts"
import * as SessionId from "../engine/SessionId.ts"

/** The most subscriptions of a session that are stored. */
const maxSubscriptions = 1000

/** The most characters that their URIs have together. */
const maxCharacters = 65_536

/** The outcome of a change. `Full`: the subscription is not stored, because there are too many. */
export type Change = "Changed" | "Unchanged" | "Full"

/** The facts of one session. It has them only if its client has set a level or has subscribed. */
export class SessionFacts {
  logLevel: Logging.Level | undefined
  /** Whether a warning has reported that a subscription is not stored. */
  hasWarned = false
  /** Whether the store has failed to save them. The next request saves them, also if it changes nothing. */
  isUnsaved = false
  readonly #uris: Set<string>
  #characters = 0
  readonly #turn = Semaphore.makeUnsafe(1)

  constructor({ logLevel, subscriptions = [] }: Pick<StoredSession, "logLevel" | "subscriptions"> = {}) {
    this.logLevel = logLevel
    this.#uris = new Set(subscriptions)
    for (const uri of this.#uris) this.#characters += uri.length
  }

  /** The members of the stored session. */
  get stored(): Pick<StoredSession, "logLevel" | "subscriptions"> {
    return {
      ...(this.logLevel === undefined ? undefined : { logLevel: this.logLevel }),
      ...(this.#uris.size === 0 ? undefined : { subscriptions: Array.from(this.#uris) })
    }
  }

  /** The requests that restore the facts. The client cannot have sent requests with their ids. */
  get messages(): ReadonlyArray<JsonRpc.Request> {
    const prefix = SessionId.make()
    const level = this.logLevel
    return [
      ...(level === undefined ? [] : [JsonRpc.request(`${prefix}-level`, LogLevel.method, { level })]),
      ...Array.from(this.#uris, (uri, index) => JsonRpc.request(`${prefix}-${index}`, "resources/subscribe", { uri }))
    ]
  }

  setLevel(level: Logging.Level): Change {
    if (this.logLevel === level) return "Unchanged"
    this.logLevel = level
    return "Changed"
  }

  subscribe(uri: string): Change {
    if (this.#uris.has(uri)) return "Unchanged"
    if (this.#uris.size >= maxSubscriptions || this.#characters + uri.length > maxCharacters) return "Full"
    this.#uris.add(uri)
    this.#characters += uri.length
    return "Changed"
  }

  unsubscribe(uri: string): Change {
    if (!this.#uris.delete(uri)) return "Unchanged"
    this.#characters -= uri.length
    return "Changed"
  }

  /** Saves one after the other, so that an earlier state does not replace a later one. */
  inTurn(save: Effect.Effect<void>): Effect.Effect<void> {
    return this.#turn.withPermit(save)
  }
}

/** Called after a request that may have changed the facts of the session with this id. */
type Changed = (session: string, change: (facts: SessionFacts) => Change) => Effect.Effect<void>

/**
 * Returns the handlers of a server, which report the changes of facts before a request is acknowledged.
 * `setsLevel`: whether clients can set a log level.
 */
export const observing = (
  handlers: Handlers<"client", unknown>,
  setsLevel: boolean,
  changed: Changed
): Handlers<"client", unknown> => {
  const after = <A, E, R>(
    served: Effect.Effect<A, E, R>,
    change: (facts: SessionFacts) => Change
  ): Effect.Effect<A, E, R | RequestContext.RequestContext> =>
    Effect.tap(served, () =>
      Effect.flatMap(
        RequestContext.RequestContext,
        ({ session }) => session === undefined ? Effect.void : changed(session.id, change)
      ))
  const setLevel = handlers[LogLevel.method] ?? (() => Effect.succeed({}))
  const subscribe = handlers["resources/subscribe"]
  const unsubscribe = handlers["resources/unsubscribe"]
  return {
    ...handlers,
    ...(setsLevel
      ? {
        [LogLevel.method]: (params: Logging.SetLevelParams) =>
          after(setLevel(params), (facts) => facts.setLevel(params.level))
      }
      : undefined),
    ...(subscribe === undefined ? undefined : {
      "resources/subscribe": (params: Parameters<typeof subscribe>[0]) =>
        after(subscribe(params), (facts) => facts.subscribe(params.uri))
    }),
    ...(unsubscribe === undefined ? undefined : {
      "resources/unsubscribe": (params: Parameters<typeof unsubscribe>[0]) =>
        after(unsubscribe(params), (facts) => facts.unsubscribe(params.uri))
    })
  }
}
