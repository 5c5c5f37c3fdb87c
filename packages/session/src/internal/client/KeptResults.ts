/** The results that a client keeps for as long as its server allows, in a revision without a handshake. */

import { ErrorCode, JsonRpc, MethodTable } from "@effect-mcp/protocol"
import { Caching } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { Limits } from "../../Limits.ts"
import type { Account, MemoryBudget } from "../../MemoryBudget.ts"
import type * as RequestError from "../../RequestError.ts"
import * as LeastRecentlyUsed from "../collections/LeastRecentlyUsed.ts"
import type { RequestLayer } from "../engine/Layers.ts"
import * as Weight from "../engine/Weight.ts"
import { trust } from "../trust.ts"
import * as ListenFilter from "./ListenFilter.ts"

const { requests } = MethodTable

/** The rows whose results have a hint. The answer to `server/discover` is the profile of the session. */
const rows: ReadonlySet<unknown> = new Set([
  requests["tools/list"],
  requests["prompts/list"],
  requests["resources/list"],
  requests["resources/templates/list"],
  requests["resources/read"]
])

/** The number of kept results. */
const maxResults = 1_024

/** The longest time for which a result is kept, in milliseconds: one day, whatever the server allows. */
const longest = 86_400_000

/** The keys of `_meta` that change no result. Baggage can: programs send the tenant of a call with it. */
const traceKeys: ReadonlySet<string> = new Set(["traceparent", "tracestate"])

const isOnlyTrace = (meta: unknown): boolean =>
  meta === undefined || (Predicate.isObject(meta) && Object.keys(meta).every((key) => traceKeys.has(key)))

const prefixOf = (method: string): string => `${method}\n`

/** Returns the key of a request, or `undefined` if its result may depend on more than the key has (CCH-05, CCH-06). */
const keyOf = (method: string, params: object, meta: object | undefined): string | undefined => {
  const { _meta, cursor, uri, ...others }: JsonRpc.Params = { ...params }
  if (Object.keys(others).length > 0 || !isOnlyTrace(_meta) || !isOnlyTrace(meta)) return undefined
  return `${prefixOf(method)}${JSON.stringify([cursor, uri])}`
}

const isBadCursor = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "ErrorResponse" && reason.error.code === ErrorCode.InvalidParams

/** Returns the time for which a result may be kept (CCH-03). */
const millisIn = (result: unknown): number => Predicate.isObject(result) ? Caching.read(result).ttlMs : 0

interface Kept {
  readonly result: unknown
  /** The time until which the result is fresh, on the timer's clock. */
  readonly until: number
}

/** The session of the results. */
export interface KeptResultsRuntime {
  readonly limits: Pick<Limits, "maxKeptResultBytes">
  readonly budget: Pick<MemoryBudget, "open">
  readonly timer: { now(): number }
}

/** The kept results of one session. All of them belong to the user of its connection (CCH-07). */
export class KeptResults {
  readonly #timer: KeptResultsRuntime["timer"]
  readonly #kept: LeastRecentlyUsed.LeastRecentlyUsed<Kept>
  readonly #account: Account
  #charged = 0
  /** The number of changes so far. A result that was asked for before a change is not kept. */
  #changes = 0
  #isEnded = false

  constructor({ budget, limits, timer }: KeptResultsRuntime) {
    this.#timer = timer
    this.#kept = LeastRecentlyUsed.make({ size: maxResults, weight: limits.maxKeptResultBytes })
    this.#account = budget.open({ yields: () => this.#clear() })
  }

  /** Wraps the sending of requests: returns kept results while they are fresh, and keeps new ones. */
  readonly layer: RequestLayer = (send) => (row, params, options) => {
    // Compares rows and not names: a row of the program may have the same name and another result.
    if (!rows.has(row)) return send(row, params, options)
    return Effect.suspend(() => {
      const key = keyOf(row.name, params, options?.meta)
      if (key === undefined) return send(row, params, options)
      const kept = options?.reload === true ? undefined : this.#fresh(key)
      // The key has the name of the row.
      if (kept !== undefined) return Effect.succeed(trust(kept.result))
      const askedAt = this.#timer.now()
      const changes = this.#changes
      let responses = 0
      let millis = 0
      const sent = send(row, params, {
        ...options,
        onResponse: (response) => {
          options?.onResponse?.(response)
          responses++
          millis = JsonRpc.isFailure(response) ? 0 : millisIn(response.result)
        }
      })
      return sent.pipe(
        Effect.tap((result) =>
          Effect.sync(() => {
            // More than one response: the server has asked questions, and the result depends on the answers (CCH-06).
            if (responses !== 1 || changes !== this.#changes) return this.#delete(key)
            this.#keep(key, result, askedAt, millis)
          })
        ),
        Effect.tapError((error) =>
          Effect.sync(() => {
            // The pages before it belong to a list that no longer exists (CCH-09).
            if (isBadCursor(error) && "cursor" in params) this.drop(row.name)
          })
        )
      )
    })
  }

  /** Observes a notification of the server: what it makes stale is dropped (CCH-11). */
  observe({ method, params }: JsonRpc.Notification): void {
    for (const [list, change] of ListenFilter.changeOf) if (change === method) this.drop(list)
    const uri = params?.["uri"]
    // The params are not checked yet.
    if (method !== "notifications/resources/updated" || typeof uri !== "string") return
    this.#changes++
    const key = keyOf("resources/read", { uri }, undefined)
    if (key !== undefined) this.#delete(key)
  }

  /** Drops all results of a method. */
  drop(method: string): void {
    this.#changes++
    const prefix = prefixOf(method)
    for (const key of this.#kept.names()) if (key.startsWith(prefix)) this.#kept.delete(key)
    this.#settle()
  }

  /** Drops all results, and keeps none that is still on its way to the program. */
  end(): void {
    this.#isEnded = true
    this.#clear()
  }

  #clear(): void {
    this.#kept.clear()
    this.#settle()
  }

  #fresh(key: string): Kept | undefined {
    const kept = this.#kept.get(key)
    if (kept === undefined || this.#timer.now() < kept.until) return kept
    this.#delete(key)
    return undefined
  }

  #keep(key: string, result: unknown, askedAt: number, millis: number): void {
    this.#delete(key)
    // From the time of the request, because the result may have been made at once, and travelled long.
    const until = askedAt + Math.min(millis, longest)
    if (this.#isEnded || until <= this.#timer.now()) return
    // A server chooses the cursor in the key.
    const bytes = Weight.of(result) + Weight.of(key)
    if (!this.#account.take(bytes)) return
    this.#charged += bytes
    this.#kept.set(key, { result, until }, bytes)
    this.#settle()
  }

  #delete(key: string): void {
    this.#kept.delete(key)
    this.#settle()
  }

  /** Releases the memory of what is no longer kept. */
  #settle(): void {
    const released = this.#charged - this.#kept.weight()
    this.#charged -= released
    if (released > 0) this.#account.release(released)
  }
}
