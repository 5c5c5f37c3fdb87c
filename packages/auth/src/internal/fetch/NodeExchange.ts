/**
 * Requests by the HTTP modules of Node, which Bun and Deno have as well.
 *
 * A name is checked where it is resolved: when a connection is opened. A check before would be of no use, because the
 * name could lead elsewhere the next time (rebinding).
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Dns from "node:dns"
import type * as Http from "node:http"
import type * as Https from "node:https"
import type { LookupFunction } from "node:net"
import * as AddressPolicy from "./AddressPolicy.ts"
import type { Exchange, Incoming, OAuthRequest } from "./Exchange.ts"
import { ForbiddenAddress } from "./ForbiddenAddress.ts"

interface Modules {
  readonly dns: typeof Dns
  readonly http: typeof Http
  readonly https: typeof Https
}

/** Returns the modules. An import would be followed by the bundler of a page or a worker, which has none of them. */
const modulesOfPlatform = (): Modules | undefined => {
  const { getBuiltinModule } = globalThis.process ?? {}
  const dns = getBuiltinModule?.("node:dns")
  const http = getBuiltinModule?.("node:http")
  const https = getBuiltinModule?.("node:https")
  return dns === undefined || http === undefined || https === undefined ? undefined : { dns, http, https }
}

/** Resolves a name to its addresses. If one of them is not public, it fails: which one is used cannot be foreseen. */
const publicLookup = ({ lookup }: typeof Dns): LookupFunction => (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, "")
    const forbidden = addresses.find(({ address }) => !AddressPolicy.isPublic(address))
    if (forbidden !== undefined) return callback(new ForbiddenAddress({ address: forbidden.address }), "")
    if (options.all === true) return callback(null, addresses)
    const [first] = addresses
    return first === undefined ? callback(new Error("no address"), "") : callback(null, first.address, first.family)
  })
}

const headersOf = ({ headers }: Http.IncomingMessage): Incoming["headers"] =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === "string" ? value : value.join(", ")]]
    )
  )

/**
 * The time for which a connection is kept without a request. A sign-in sends several requests in a row. The next ones
 * come minutes later, when a proxy or a firewall may have forgotten the connection without closing it.
 */
const idleMillis = 4_000

/** Creates the requests by one way of resolving names. Their connections are shared, and close with the scope. */
const exchangeBy = ({ http, https }: Modules, lookup: LookupFunction): Effect.Effect<Exchange, never, Scope.Scope> =>
  Effect.gen(function*() {
    const kept = { keepAlive: true, timeout: idleMillis }
    const agents = { http: new http.Agent(kept), https: new https.Agent(kept) }
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        agents.http.destroy()
        agents.https.destroy()
      })
    )
    const begin = ({ body, headers, method, url }: OAuthRequest): Http.ClientRequest => {
      const request = url.protocol === "https:"
        ? https.request(url, { method, headers, lookup, agent: agents.https })
        : http.request(url, { method, headers, lookup, agent: agents.http })
      return request.end(body)
    }
    return Effect.fnUntraced(function*(request: OAuthRequest) {
      let sent: Http.ClientRequest | undefined
      yield* Effect.addFinalizer(() => Effect.sync(() => sent?.destroy()))
      const response = yield* Effect.callback<Http.IncomingMessage, unknown>((resume) => {
        try {
          sent = begin(request)
          // Also listens for later errors, which the stream of the body has as well.
          sent.on("error", (cause) => resume(Effect.fail(cause)))
          sent.once("response", (response) => resume(Effect.succeed(response)))
        } catch (cause) {
          resume(Effect.fail(cause))
        }
      })
      return {
        status: response.statusCode ?? 0,
        headers: headersOf(response),
        body: Stream.fromAsyncIterable<Uint8Array, unknown>(response, (cause) => cause)
      }
    })
  })

/** The requests of a program on Node. */
export interface Exchanges {
  /** The requests to places that the program allows. */
  readonly open: Exchange
  /** The requests to public addresses. */
  readonly guarded: Exchange
}

/** Creates the requests. Returns `undefined` on a platform without the modules. */
export const make: Effect.Effect<Exchanges | undefined, never, Scope.Scope> = Effect.gen(function*() {
  const modules = modulesOfPlatform()
  if (modules === undefined) return undefined
  const { dns } = modules
  const open = yield* exchangeBy(modules, (hostname, options, callback) => dns.lookup(hostname, options, callback))
  return { open, guarded: yield* exchangeBy(modules, publicLookup(dns)) }
})

/** Returns whether the modules of a platform resolve names by themselves only, as those of workers do. */
export const resolvesNothing = (error: unknown): boolean =>
  Predicate.hasProperty(error, "code") && error.code === "ERR_OPTION_NOT_IMPLEMENTED"
