/**
 * Which resources the client wants to be told of when they change.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HashSet from "effect/HashSet"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"

/** The URIs that were subscribed to, and not unsubscribed from since. */
export class Subscriptions extends Context.Service<Subscriptions, Ref.Ref<HashSet.HashSet<string>>>()(
  "@effect-mcp/examples/notebook/Subscriptions"
) {}

export const layer: Layer.Layer<Subscriptions> = Layer.effect(Subscriptions, Ref.make(HashSet.empty<string>()))

export const add = (uri: string): Effect.Effect<void, never, Subscriptions> =>
  Effect.flatMap(Subscriptions, Ref.update(HashSet.add(uri)))

export const remove = (uri: string): Effect.Effect<void, never, Subscriptions> =>
  Effect.flatMap(Subscriptions, Ref.update(HashSet.remove(uri)))

export const has = (uri: string): Effect.Effect<boolean, never, Subscriptions> =>
  Effect.map(Effect.flatMap(Subscriptions, Ref.get), HashSet.has(uri))
