/**
 * The HTTP clients of Node, loaded on first use.
 *
 * A name is checked where it is resolved: when a connection is opened. A check before would be of no use, because the
 * name could lead elsewhere the next time (rebinding).
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"
import type * as Scope from "effect/Scope"
import * as dns from "node:dns"
import type { LookupFunction } from "node:net"
import * as AddressPolicy from "./AddressPolicy.ts"
import { ForbiddenAddress } from "./ForbiddenAddress.ts"

/** Resolves a name to its addresses. If one of them is not public, it fails: which one is used cannot be foreseen. */
const publicLookup: LookupFunction = (hostname, options, callback) => {
  dns.lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, "")
    const forbidden = addresses.find(({ address }) => !AddressPolicy.isPublic(address))
    if (forbidden !== undefined) return callback(new ForbiddenAddress({ address: forbidden.address }), "")
    if (options.all === true) return callback(null, addresses)
    const [first] = addresses
    return first === undefined ? callback(new Error("no address"), "") : callback(null, first.address, first.family)
  })
}

/** The clients, whose connections close with the scope. */
export interface Clients {
  /** The client for places that the program allows. */
  readonly open: HttpClient
  /** The client for public addresses. */
  readonly guarded: HttpClient
}

/** Creates the clients. */
export const make: Effect.Effect<Clients, never, Scope.Scope> = Effect.gen(function*() {
  const clientOf = (dispatcher: NodeHttpClient.Dispatcher["Service"]) =>
    Effect.provideService(NodeHttpClient.makeUndici, NodeHttpClient.Dispatcher, dispatcher)
  const open = yield* NodeHttpClient.makeDispatcherOptions()
  const guarded = yield* NodeHttpClient.makeDispatcherOptions({ connect: { lookup: publicLookup } })
  return { open: yield* clientOf(open), guarded: yield* clientOf(guarded) }
})
