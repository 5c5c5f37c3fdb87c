/**
 * Middleware that keeps results of tools, resources and prompts for a time.
 *
 * @stability unstable
 */
import { ChangeBus } from "@effect-mcp/session/ChangeBus"
import { monotonicMillis, PreparedResult, Weight } from "@effect-mcp/session/internal"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { KeptResult } from "./internal/entries/KeptResult.ts"
import { CachedResults } from "./internal/middleware/CachedResults.ts"
import * as Caller from "./internal/middleware/Caller.ts"
import * as CanonicalText from "./internal/middleware/CanonicalText.ts"
import * as Outcome from "./internal/middleware/Outcome.ts"
import type * as McpMiddleware from "./McpMiddleware.ts"

/**
 * Options of {@link layer}.
 *
 * @category models
 */
export interface Options {
  /**
   * The time for which results are kept, by the name of the tool or the prompt, or by the URI of the resource. Or a
   * function that returns it for a target. Members without a time are not cached: no hint of a tool, such as
   * `Tool.Readonly`, states that its results stay the same.
   */
  readonly timeToLive:
    | { readonly [name: string]: Duration.Input }
    | ((target: McpMiddleware.Target) => Duration.Input | undefined)
  /** The number of results that are kept. Default 1,000. */
  readonly maxEntries?: number
  /**
   * The bytes of the results, their arguments and their keys together, as JSON in memory, as text and as bytes. Default
   * 16 MiB.
   */
  readonly maxBytes?: number
}

/** The results of a middleware, and the effect that invalidates those of the other processes. */
interface SharedResults {
  readonly results: CachedResults
  readonly publish: Effect.Effect<void>
}

const caches = new WeakMap<object, SharedResults>()

/** The kind of a change that says that results of a middleware are stale. */
const stale = "results"

/**
 * Removes the results whenever another process invalidates some: the function that chooses them cannot be sent. Returns
 * the effect that does the same there.
 */
const shared = (results: CachedResults, scope: string): Effect.Effect<Effect.Effect<void>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const bus = yield* Effect.serviceOption(ChangeBus)
    if (Option.isNone(bus)) return Effect.void
    const removeAll = () => results.remove(() => true)
    const onChange = ({ kind }: { readonly kind: string }) => {
      if (kind === stale) removeAll()
    }
    yield* bus.value.subscribe({ scope, onChange, onGap: removeAll })
    return bus.value.publish({ scope, kind: stale, key: "" })
  })

/** The methods with results that can be kept. */
const cachedMethods: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"])

const notKept =
  "McpResponseCache: a result is not kept, because the arguments or the claims of the principal contain " +
  "a value that is no JSON, Map, Set, Date or bigint, or are nested more than 128 levels deep (logged once)"

/** A character of a text takes up to two bytes in memory. */
const bytesOf = (text: string): number => 2 * text.length

/**
 * Returns what a result depends on: the target, the revision, and the session, or the principal with its claims and
 * scopes.
 */
const keyOf = (
  { arguments: input, group, method, mount, name }: McpMiddleware.Target,
  request: RequestContext.RequestContext["Service"]
): string | undefined =>
  CanonicalText.of([
    // Groups under two prefixes can have members of the same name, and so has one group under two prefixes.
    mount,
    group,
    method,
    name,
    input ?? null,
    request.profile.revision,
    Caller.keyOf(request),
    request.principal?.claims,
    // A handler may demand scopes by its arguments. The time at which the identity expires changes with each token.
    request.principal?.scopes?.toSorted()
  ])

/**
 * Implements a middleware that returns a kept result instead of running the handler again. A result is kept for its
 * principal, with the same claims and scopes, or for its session without a principal; no other client gets it. Only
 * results without `isError` are kept, and none for claims that contain instances of other classes than `Map`, `Set` and
 * `Date`. Concurrent requests with the same key each run the handler.
 *
 * A kept result is returned without the middleware inside of this one. If the handler has `visible`, that middleware
 * runs around `visible`, which may need its services, and only a client that sees the member gets the result. Add the
 * cache before the middleware that authorizes: `group.middleware(Cached).middleware(Authorization)`. Do not cache a
 * tool that reports progress, asks the client, or uses `SessionState`.
 *
 * @example
 * ```ts
 * import { McpGroup, McpMiddleware, McpResponseCache } from "@effect-mcp/server"
 * import * as Tool from "effect/ai/Tool"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import * as Schema from "effect/Schema"
 *
 * class Cached extends McpMiddleware.Service<Cached>()("Cached") {}
 *
 * const Rates = McpGroup.make("rates", Tool.make("euro_rate", { success: Schema.Finite })).middleware(Cached)
 *
 * export const RatesLive = Rates.toLayer((handlers) => handlers.tool("euro_rate", () => Effect.succeed(1.1))).pipe(
 *   Layer.provide(McpResponseCache.layer(Cached, { timeToLive: { euro_rate: "1 minute" } }))
 * )
 * ```
 *
 * @category layers
 */
export const layer = <Self extends McpMiddleware.AnyId>(
  middleware: Context.Key<Self, McpMiddleware.McpMiddleware<never, never>>,
  { maxBytes = 16 * 1024 * 1024, maxEntries = 1_000, timeToLive }: Options
): Layer.Layer<Self> =>
  Layer.effect(
    middleware,
    Effect.gen(function*() {
      const results = new CachedResults({ maxBytes, maxEntries })
      const publish = yield* shared(results, middleware.key)
      const times = typeof timeToLive === "function" ? undefined : new Map(Object.entries(timeToLive))
      const timeOf = (target: McpMiddleware.Target): Duration.Input | undefined =>
        typeof timeToLive === "function" ? timeToLive(target) : times?.get(target.name ?? "")
      // A client could fill the log with arguments that are nested too deeply.
      let hasWarned = false
      const cached: McpMiddleware.McpMiddleware<never, never> = (handler, target) => {
        const time = cachedMethods.has(target.method) && target.name !== undefined ? timeOf(target) : undefined
        if (time === undefined) return handler
        return Effect.gen(function*() {
          const key = keyOf(target, yield* RequestContext.RequestContext)
          if (key === undefined) {
            if (!hasWarned) yield* Effect.logWarning(notKept)
            hasWarned = true
            return yield* handler
          }
          const began = yield* Effect.map(Clock.Clock, monotonicMillis)
          const known = results.get(key, began)
          if (known !== undefined) {
            return target.isConditional ? yield* Effect.provideService(handler, KeptResult, known) : known
          }
          const { removals } = results
          const result = yield* handler
          // Without the second condition, a result that was read before an invalidation would be kept after it.
          if (Outcome.ofResult(result) === "success" && results.removals === removals) {
            const text = PreparedResult.textOf(PreparedResult.make(result))
            results.set(key, {
              result,
              target,
              until: began + Duration.toMillis(Duration.fromInputUnsafe(time)),
              // A transport that writes bytes keeps those beside the text.
              bytes: bytesOf(key) + 2 * bytesOf(text ?? "") + Weight.of(result) + Weight.of(target.arguments)
            })
          }
          return result
        })
      }
      caches.set(cached, { results, publish })
      return cached
    })
  )

/**
 * Removes kept results: all, or those of some targets. A handler that changes data calls it after the change. Results
 * of requests that run at this time are not kept. With a `ChangeBus`, the other processes remove all results of the
 * middleware of this key, because they do not receive the function.
 *
 * @example
 * ```ts
 * import { McpMiddleware, McpResponseCache } from "@effect-mcp/server"
 *
 * class Cached extends McpMiddleware.Service<Cached>()("Cached") {}
 *
 * export const changed = McpResponseCache.invalidate(Cached, ({ name }) => name === "euro_rate")
 * ```
 *
 * @category caching
 */
export const invalidate = <Self extends McpMiddleware.AnyId>(
  middleware: Context.Key<Self, McpMiddleware.McpMiddleware<never, never>>,
  which: (target: McpMiddleware.Target) => boolean = () => true
): Effect.Effect<void, never, Self> =>
  Effect.flatMap(middleware, (cached) => {
    const known = caches.get(cached)
    known?.results.remove(which)
    return known?.publish ?? Effect.void
  })
