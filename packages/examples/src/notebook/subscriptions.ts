/**
 * The resources that each client has subscribed to. The key of a client is its profile, which is one object from the
 * handshake to the end of the session. The `WeakMap` therefore drops the subscriptions of a session that has ended.
 */
import type { ClientProfile } from "@effect-mcp/protocol/Profile"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The URIs by client. */
export class Subscriptions extends Context.Service<Subscriptions, WeakMap<ClientProfile, Set<string>>>()(
  "@effect-mcp/examples/notebook/Subscriptions"
) {}

export const layer: Layer.Layer<Subscriptions> = Layer.sync(Subscriptions, () => new WeakMap())

/** The URIs of the client that has sent the current request. */
const ofSender: Effect.Effect<Set<string>, never, RequestContext | Subscriptions> = Effect.gen(function*() {
  const { profile } = yield* RequestContext
  const subscriptions = yield* Subscriptions
  const uris = subscriptions.get(profile) ?? new Set()
  subscriptions.set(profile, uris)
  return uris
})

/** Adds a subscription of the client that has sent the current request. */
export const add = (uri: string): Effect.Effect<void, never, RequestContext | Subscriptions> =>
  Effect.map(ofSender, (uris) => void uris.add(uri))

/** Removes a subscription of the client that has sent the current request. */
export const remove = (uri: string): Effect.Effect<void, never, RequestContext | Subscriptions> =>
  Effect.map(ofSender, (uris) => void uris.delete(uri))

/** Returns whether this client has subscribed to a resource. */
export const has = (client: ClientProfile, uri: string): Effect.Effect<boolean, never, Subscriptions> =>
  Effect.map(Subscriptions, (subscriptions) => subscriptions.get(client)?.has(uri) === true)
