/**
 * The listener that receives the redirect of an authorization server on this machine (RFC 8252, section 7.3).
 *
 * Any program and any page on this machine can send it requests. Each request that is not the expected redirect is
 * answered with 400, without a text of the request, and changes nothing.
 */
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"
import type { Socket } from "node:net"
import * as OAuthError from "../../OAuthError.ts"

/** The place of the redirect: `http://127.0.0.1:PORT/callback`. */
export interface Place {
  /** The host of the redirect URI. */
  readonly hostname: "127.0.0.1" | "localhost"
  /** The port; 0 for a free one. */
  readonly port: number
  readonly path: string
}

/** A listener that is open. */
export interface LoopbackListener {
  /** The redirect URI. */
  readonly uri: string
  /** Returns the parameters of the first redirect that is expected. */
  readonly redirect: (isExpected: (parameters: URLSearchParams) => boolean) => Effect.Effect<URLSearchParams>
}

/** The addresses of each host. A browser chooses one of those of `localhost`, where another program could listen. */
const addresses = { "127.0.0.1": ["127.0.0.1"], localhost: ["127.0.0.1", "::1"] } as const

/** The codes of errors on a machine without IPv6, whose browser does not choose the second address either. */
const withoutIpv6: ReadonlySet<unknown> = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT", "EINVAL"])

/** The attempts to find a port that is free at all addresses. */
const maxFreePorts = 5

/** The most connections at a time, so that a page cannot use up the sockets of the program. */
const maxConnections = 64

/** The time that a connection has to send its request. The headers of a redirect arrive in one packet. */
const requestMillis = 5_000

/** The bound on the request line and the headers. Codes are short; proxies and browsers allow 8 KiB for a URL. */
const maxHeaderBytes = 16_384

const headers = {
  "cache-control": "no-store",
  connection: "close",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "content-type": "text/html; charset=utf-8",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff"
}

const page = (text: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign-in</title><p>${text}</p></html>\n`

// The page does not state whether the sign-in succeeded: the issuer and the code are checked after it is sent.
const received = page("The answer has arrived. Close this window, and return to the program.")

const rejected = page("This is not the answer that the program expects.")

/** The redirect for which the program waits. */
interface Expected {
  readonly isExpected: (parameters: URLSearchParams) => boolean
  readonly arrived: (parameters: URLSearchParams) => void
}

const codeOf = (cause: Error): unknown => "code" in cause ? cause.code : undefined

class Listener {
  readonly #place: Place
  /** The connections, the oldest first. */
  readonly #sockets = new Set<Socket>()
  readonly #servers: ReadonlyArray<{ readonly address: string; readonly server: Http.Server }>
  #port = 0
  #expected: Expected | undefined

  constructor(place: Place) {
    this.#place = place
    this.#servers = addresses[place.hostname].map((address) => ({ address, server: this.#create() }))
  }

  #create(): Http.Server {
    const server = Http.createServer({
      connectionsCheckingInterval: 1_000,
      headersTimeout: requestMillis,
      keepAlive: false,
      maxHeaderSize: maxHeaderBytes,
      requestTimeout: requestMillis
    }, (request, response) => this.#answer(request, response))
    return server.on("connection", (socket) => this.#admit(socket))
  }

  /** Closes the oldest connection, and not the new one: programs that hold connections would reject the redirect. */
  #admit(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once("close", () => this.#sockets.delete(socket))
    const [oldest] = this.#sockets
    if (this.#sockets.size > maxConnections) oldest?.destroy()
  }

  get uri(): string {
    return `http://${this.#place.hostname}:${this.#port}${this.#place.path}`
  }

  /** Returns the parameters of a request if it is the expected redirect. */
  #parametersOf({ headers, method, url }: Http.IncomingMessage): URLSearchParams | undefined {
    if (this.#expected === undefined || method !== "GET" || url === undefined) return undefined
    // A page of another site that has rebound its name to this machine has its own name in `Host`.
    if (headers.host?.toLowerCase() !== `${this.#place.hostname}:${this.#port}`) return undefined
    const [path, query] = url.split("?", 2)
    if (path !== this.#place.path || query === undefined) return undefined
    const parameters = new URLSearchParams(query)
    return this.#expected.isExpected(parameters) ? parameters : undefined
  }

  #answer(request: Http.IncomingMessage, response: Http.ServerResponse): void {
    const parameters = this.#parametersOf(request)
    const expected = this.#expected
    if (parameters === undefined || expected === undefined) {
      response.writeHead(400, headers).end(rejected)
      return
    }
    // A redirect counts once.
    this.#expected = undefined
    // The scope of the listener closes soon after the redirect. Without this wait, the person would see an error page.
    const arrived = () => expected.arrived(parameters)
    response.once("finish", arrived).once("close", arrived).writeHead(200, headers).end(received)
  }

  /** Listens at each address of the host, or fails and listens at none. */
  get listen(): Effect.Effect<void, Error> {
    return Effect.forEach(
      this.#servers,
      ({ address, server }) => this.#listenAt(address, server),
      { discard: true }
    ).pipe(Effect.onError(() => this.close))
  }

  #listenAt(address: string, server: Http.Server): Effect.Effect<void, Error> {
    return Effect.callback<void, Error>((resume) => {
      server.once(
        "error",
        (cause) => resume(address === "::1" && withoutIpv6.has(codeOf(cause)) ? Effect.void : Effect.fail(cause))
      )
      // The second address has the port that was free at the first.
      const port = this.#port === 0 ? this.#place.port : this.#port
      server.listen({ host: address, port, exclusive: true }, () => {
        const bound = server.address()
        if (bound !== null && typeof bound === "object") this.#port = bound.port
        // An error of one connection that is being accepted does not end the listener.
        server.on("error", () => {})
        resume(Effect.void)
      })
    })
  }

  get close(): Effect.Effect<void> {
    return Effect.forEach(this.#servers, ({ server }) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      }), { discard: true })
  }

  redirect(isExpected: (parameters: URLSearchParams) => boolean): Effect.Effect<URLSearchParams> {
    return Effect.callback<URLSearchParams>((resume) => {
      const expected: Expected = { isExpected, arrived: (parameters) => resume(Effect.succeed(parameters)) }
      this.#expected = expected
      return Effect.sync(() => {
        if (this.#expected === expected) this.#expected = undefined
      })
    })
  }
}

const failure = ({ hostname, port }: Place, cause: Error): OAuthError.OAuthError =>
  OAuthError.make({
    _tag: "UserAgentFailed",
    problem: codeOf(cause) === "EADDRINUSE"
      ? `port ${port} of ${hostname} is in use; end the program that uses it, or set another port`
      : `cannot listen on port ${port} of ${hostname}: ${cause.message}`
  })

/** Opens a listener, which closes with the scope. Fails if the port is in use. */
export const open = (place: Place): Effect.Effect<LoopbackListener, OAuthError.OAuthError, Scope.Scope> =>
  Effect.suspend(() => {
    const listener = new Listener(place)
    return Effect.acquireRelease(
      Effect.as(listener.listen, listener),
      (opened) => opened.close
    )
  }).pipe(
    Effect.mapError((cause) => failure(place, cause)),
    Effect.map((listener) => ({ uri: listener.uri, redirect: (isExpected) => listener.redirect(isExpected) }))
  )

/** Opens a listener at a redirect URI. Fails if another program uses its port, or if it is not one of this machine. */
export const openAt = (uri: string): Effect.Effect<LoopbackListener, OAuthError.OAuthError, Scope.Scope> => {
  const [, hostname, port, path] = /^http:\/\/(127\.0\.0\.1|localhost):(\d{1,5})(\/[^?#]*)$/.exec(uri) ?? []
  if (hostname === undefined || port === undefined || path === undefined || Number(port) > 65_535) {
    return Effect.fail(OAuthError.make({
      _tag: "UserAgentFailed",
      problem: `the redirect URI ${Excerpt.name(uri)} is not one such as http://127.0.0.1:8123/callback`
    }))
  }
  return open({ hostname: hostname === "localhost" ? "localhost" : "127.0.0.1", port: Number(port), path })
}

/** Returns the port of a redirect URI that {@link open} has returned for such a place. */
const portOf = (uri: string, { hostname, path }: Omit<Place, "port">): number | undefined => {
  const port = new RegExp(`^http://${hostname.replaceAll(".", "\\.")}:(\\d{1,5})(?=/)`).exec(uri)?.[1]
  return port !== undefined && uri.endsWith(`:${port}${path}`) && Number(port) < 65_536 ? Number(port) : undefined
}

/**
 * Opens a listener at a fixed port, or else at the port of the remembered URI. If another program uses that port, or
 * no URI is remembered, it opens at a free one, whose URI has to be registered.
 */
export const reopen = (
  place: Omit<Place, "port">,
  fixed: number | undefined,
  remembered: string | undefined
): Effect.Effect<LoopbackListener, OAuthError.OAuthError, Scope.Scope> => {
  if (fixed !== undefined) return open({ ...place, port: fixed })
  const port = remembered === undefined ? undefined : portOf(remembered, place)
  const free = Effect.retry(open({ ...place, port: 0 }), { times: maxFreePorts - 1 })
  return port === undefined ? free : Effect.catch(open({ ...place, port }), () => free)
}
