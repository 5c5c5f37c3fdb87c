/**
 * The resources of whose changes each client wants to be told. A session has one profile of its client, the same object
 * from the handshake to the end; so a client is known by it, and its subscriptions are gone with its session.
 */
import type { ClientProfile } from "@effect-mcp/protocol/Profile"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The URIs that each client has subscribed to. */
export class Subscriptions extends Context.Service<Subscriptions, WeakMap<ClientProfile, Set<string>>>()(
  "@effect-mcp/examples/notebook/Subscriptions"
) {}

export const layer: Layer.Layer<Subscriptions> = Layer.sync(Subscriptions, () => new WeakMap())

/** The URIs of the client that asks. */
const own: Effect.Effect<Set<string>, never, RequestContext | Subscriptions> = Effect.gen(function*() {
  const { profile } = yield* RequestContext
  const subscriptions = yield* Subscriptions
  const uris = subscriptions.get(profile) ?? new Set()
  subscriptions.set(profile, uris)
  return uris
})

/** Subscribes the client that asks. */
export const add = (uri: string): Effect.Effect<void, never, RequestContext | Subscriptions> =>
  Effect.map(own, (uris) => void uris.add(uri))

/** Unsubscribes it. */
export const remove = (uri: string): Effect.Effect<void, never, RequestContext | Subscriptions> =>
  Effect.map(own, (uris) => void uris.delete(uri))

/** Has this client subscribed? */
export const has = (client: ClientProfile, uri: string): Effect.Effect<boolean, never, Subscriptions> =>
  Effect.map(Subscriptions, (subscriptions) => subscriptions.get(client)?.has(uri) === true)
