/**
 * The bus between the processes of a server: what changes at one of them reaches the clients of the others.
 *
 * @stability unstable
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as ChangeBusImplementation from "./internal/bus/ChangeBusImplementation.ts"
import * as Shape from "./internal/bus/ChangeBusShape.ts"
import * as ChannelInMemory from "./internal/bus/ChannelInMemory.ts"
import * as NumericOption from "./internal/NumericOption.ts"

/**
 * A change, which says only what has changed. Its texts are small: a process that receives it reads the rest from where
 * the data is.
 *
 * @category models
 */
export interface Change extends Shape.Change {}

/**
 * A listener for the changes of one scope by other processes. Its functions must not block.
 *
 * @category models
 */
export interface ChangeListener extends Shape.ChangeListener {}

/**
 * The members of a bus.
 *
 * @category models
 */
export interface ChangeBusShape extends Shape.ChangeBusShape {}

/**
 * The bus. It delivers the changes of other processes, each at most once. It is bounded, and reports a gap instead of
 * what it could not deliver: after its connection was broken, after an overflow, and for a change that is too large.
 * Servers, `TaskStoreSql` and `McpResponseCache` use the bus that is provided to them. Without one, they know the
 * changes of their own process only.
 *
 * @example
 * ```ts
 * import { ChangeBus } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const priceChanged = (id: string) =>
 *   Effect.flatMap(ChangeBus.ChangeBus, (bus) => bus.publish({ scope: "shop", kind: "price", key: id }))
 * ```
 *
 * @category services
 */
export const ChangeBus: typeof Shape.ChangeBus = Shape.ChangeBus

/**
 * The type of the service {@link ChangeBus}.
 *
 * @category services
 */
export type ChangeBus = Shape.ChangeBus

/**
 * The functions that a {@link ChangeConnection} calls while it receives.
 *
 * @category models
 */
export interface ChangeReceiver extends Shape.ChangeReceiver {}

/**
 * The connection of a bus to the channel that all processes share: what an adapter has to write. A bus limits the time
 * of its calls, connects again, and reports gaps.
 *
 * @category models
 */
export interface ChangeConnection extends Shape.ChangeConnection {}

/**
 * Options of a bus: the bounds of the changes that wait to be sent. Beyond them, the other processes receive a gap.
 *
 * @category models
 */
export interface Options {
  /** The number of changes. Default 1,000. */
  readonly maxChanges?: number
  /** The bytes of the changes. Default 256 KiB. */
  readonly maxBytes?: number
}

/**
 * Makes a bus of a connection. Waits until it is connected, at most 5 seconds; it then goes on trying. When the scope
 * closes, it sends what waits, for at most a second. An outage is logged once.
 *
 * @example
 * ```ts
 * import { ChangeBus } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const connected = Effect.gen(function*() {
 *   const { connection } = yield* ChangeBus.makeMemory
 *   const bus = yield* ChangeBus.make(connection)
 *   return yield* bus.isConnected
 * }).pipe(Effect.scoped) // => true
 * ```
 *
 * @category constructors
 */
export const make = (
  connection: ChangeConnection,
  options: Options = {}
): Effect.Effect<ChangeBus["Service"], never, Scope.Scope> =>
  Effect.suspend(() => {
    const { maxBytes: bytes, maxChanges: capacity } = NumericOption.resolve(options, {
      maxChanges: [NumericOption.count, 1_000],
      maxBytes: [NumericOption.count, 256 * 1024]
    })
    return ChangeBusImplementation.make(connection, { bytes, capacity })
  })

/**
 * Provides a bus of a connection; see {@link make}.
 *
 * @example
 * ```ts
 * import { ChangeBus } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * export const bus = Layer.unwrap(
 *   Effect.map(ChangeBus.makeMemory, ({ connection }) => ChangeBus.layer(connection, { maxChanges: 100 }))
 * )
 * ```
 *
 * @category layers
 */
export const layer = (connection: ChangeConnection, options: Options = {}): Layer.Layer<ChangeBus> =>
  Layer.effect(ChangeBus, make(connection, options))

/**
 * A channel in memory.
 *
 * @category models
 */
export interface MemoryChannel extends Shape.MemoryChannel {}

/**
 * Makes a channel for several buses in one program, such as those of two servers in a test.
 *
 * @example
 * ```ts
 * import { ChangeBus } from "@effect-mcp/session"
 * import * as Deferred from "effect/Deferred"
 * import * as Effect from "effect/Effect"
 *
 * export const received = Effect.gen(function*() {
 *   const { connection } = yield* ChangeBus.makeMemory
 *   const [one, other] = [yield* ChangeBus.make(connection), yield* ChangeBus.make(connection)]
 *   const key = yield* Deferred.make<string>()
 *   yield* other.subscribe({
 *     scope: "shop",
 *     onChange: (change) => Deferred.doneUnsafe(key, Effect.succeed(change.key)),
 *     onGap: () => {}
 *   })
 *   yield* one.publish({ scope: "shop", kind: "price", key: "tea" })
 *   return yield* Deferred.await(key)
 * }).pipe(Effect.scoped) // => "tea"
 * ```
 *
 * @category constructors
 */
export const makeMemory: Effect.Effect<MemoryChannel> = Effect.sync(ChannelInMemory.make)
