import { ErrorCode, Excerpt, Revision } from "@effect-mcp/protocol"
import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import type { Principal } from "@effect-mcp/session/Principal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { Authentication } from "../../../Authentication.ts"
import * as ContentEncoding from "../../shared/ContentEncoding.ts"
import * as FrameText from "../../shared/FrameText.ts"
import * as utf8 from "../../shared/utf8.ts"
import * as Authenticating from "./Authenticating.ts"
import * as HttpConnections from "./HttpConnections.ts"
import * as HttpResponses from "./HttpResponses.ts"
import type { HttpServerSettings } from "./HttpServerSettings.ts"
import * as IncomingBodies from "./IncomingBodies.ts"
import * as MediaTypes from "./MediaTypes.ts"
import * as OriginPolicy from "./OriginPolicy.ts"
import type { StreamWatchdog } from "./StreamWatchdog.ts"

type Response = HttpServerResponse.HttpServerResponse

/** What serves a request that was let in. What it fails with is a response, too: one that says why not. */
export type Serve = (
  request: HttpServerRequest,
  principal: Principal | undefined
) => Effect.Effect<Response, Response>

/** How a method is refused that is not served, for this reason and with these headers. */
export type Unserved = (problem: string, headers: HttpResponses.Headers) => Response

/** What a POST has brought. */
export interface Brought {
  readonly frame: unknown
  readonly bytes: number
}

/** What a POST has brought, and says of it. */
export interface Posted extends Brought {
  /** The revision that it says it is in, if it says one. */
  readonly said: Revision.Revision | undefined
}

/**
 * All that is found out about a request before anybody looks at what it asks for: whether it may come here, who sends it, and whether
 * it is what HTTP and the protocol make of a request. It is the same with sessions and without.
 */
export interface Admission {
  /** Lets requests of these methods in, as far as they may come; the others are answered with 405, in the form given. */
  readonly admit: (
    methods: ReadonlyMap<string, Serve>,
    request: HttpServerRequest,
    unserved?: Unserved
  ) => Effect.Effect<Response>
  /** The one message, or batch, that a POST brings. */
  readonly brought: (request: HttpServerRequest) => Effect.Effect<Brought, Response>
  /** The same, of a POST that is answered with what is said to it. */
  readonly posted: (request: HttpServerRequest) => Effect.Effect<Posted, Response>
  /** What else a request for a stream of events says: its revision. */
  readonly listening: (request: HttpServerRequest) => Effect.Effect<Revision.Revision | undefined, Response>
  /** The revision that a request says it is in; nothing is said by one that does not know yet, or an old one (SHS-29). */
  readonly revision: (request: HttpServerRequest) => Effect.Effect<Revision.Revision | undefined, Response>
}

/** What a browser may ask for, and see of the answer. */
const corsHeaders = {
  "access-control-allow-headers":
    "accept, authorization, content-type, last-event-id, mcp-protocol-version, mcp-session-id",
  "access-control-max-age": "86400"
}

const exposed = "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after"

const unservedInJson: Unserved = (problem, headers) => HttpResponses.refusal(405, problem, { headers })

const notJson = HttpResponses.refusal(415, "Content-Type must be application/json")

/** Its answer says that no compression is accepted (RFC 9110, 12.5.3). */
const compressed = HttpResponses.refusal(415, "A body with Content-Encoding is not read; send it without", {
  headers: { "accept-encoding": "identity" }
})

const unreadable = HttpResponses.refusal(400, "Parse error", { code: ErrorCode.ParseError })

const revision: Admission["revision"] = ({ headers }) => {
  const said = headers["mcp-protocol-version"]
  if (said === undefined || Revision.isRevision(said)) return Effect.succeed(said)
  return Effect.fail(HttpResponses.refusal(
    400,
    `The protocol version ${JSON.stringify(Excerpt.of(said))} is not supported; supported: ${
      Revision.supported.join(", ")
    }`
  ))
}

const listening: Admission["listening"] = (request) =>
  MediaTypes.accepts(request.headers["accept"], "text/event-stream")
    ? revision(request)
    : Effect.fail(HttpResponses.refusal(406, "Accept must list text/event-stream"))

/** The address of an `HttpServer` in the context decides which names of hosts are accepted. */
export const make = Effect.fnUntraced(function*(
  watchdog: StreamWatchdog,
  settings: HttpServerSettings
): Effect.fn.Return<Admission, never, Authentication> {
  const identified = Authenticating.make(
    yield* Authentication,
    settings.identifyMillis,
    yield* Clock.Clock
  )
  const server = Option.getOrUndefined(yield* Effect.serviceOption(HttpServer))
  const budget = yield* MemoryBudget
  const { allowedHosts, allowedOrigins, maxBodyNodes } = settings
  const connections = HttpConnections.make(watchdog, {
    ...settings,
    budget
  })
  const bodies = IncomingBodies.make(watchdog, {
    ...settings,
    budget
  })
  const screening = OriginPolicy.make({
    allowedHosts,
    allowedOrigins,
    loopback: server !== undefined && OriginPolicy.isLoopbackAddress(server.address)
  })

  const read = (bytes: Uint8Array): Effect.Effect<Brought, Response> => {
    const frame = FrameText.parseBytes(utf8.withoutByteOrderMark(bytes), maxBodyNodes)
    if (Result.isSuccess(frame)) return Effect.succeed({ frame: frame.success, bytes: bytes.byteLength })
    return Effect.fail(
      frame.failure._tag === "TooComplex"
        ? HttpResponses.refusal(
          413,
          `The body has ${frame.failure.nodes} arrays, objects and members; the limit is ${maxBodyNodes}`
        )
        : unreadable
    )
  }

  const brought: Admission["brought"] = (request) => {
    const { "content-encoding": encoding, "content-type": type } = request.headers
    if (!MediaTypes.isJson(type)) return Effect.fail(notJson)
    return ContentEncoding.isCompressed(encoding)
      ? Effect.fail(compressed)
      : Effect.flatMap(bodies.receive(request), read)
  }

  const posted: Admission["posted"] = (request) => {
    const { accept, "content-type": contentType } = request.headers
    if (!MediaTypes.accepts(accept, "application/json") || !MediaTypes.accepts(accept, "text/event-stream")) {
      return Effect.fail(HttpResponses.refusal(406, "Accept must list application/json and text/event-stream"))
    }
    if (!MediaTypes.isJson(contentType)) return Effect.fail(notJson)
    return Effect.flatMapEager(
      revision(request),
      (said) => Effect.map(brought(request), ({ bytes, frame }) => ({ frame, bytes, said }))
    )
  }

  const admit: Admission["admit"] = (methods, request, unserved = unservedInJson) =>
    connections.serve(request, () => admitted(methods, request, unserved))

  const admitted = (
    methods: ReadonlyMap<string, Serve>,
    request: HttpServerRequest,
    unserved: Unserved
  ): Effect.Effect<Response> => {
    const { headers, method } = request
    const { host, origin } = headers
    // Web standards and HTTP/2 know it by the URL alone.
    const name = host ?? OriginPolicy.hostIn(request.originalUrl)
    const problem = screening.problem(name, origin, headers["sec-fetch-site"])
    if (problem !== undefined) return Effect.succeed(HttpResponses.refusal(403, problem))
    const allowed = () => Array.from(methods.keys()).join(", ")
    const serve: Serve = methods.get(method) ??
      (() => Effect.fail(unserved(`${Excerpt.of(method)} is not served here`, { allow: allowed() })))
    const served = () =>
      Effect.catch(
        Effect.flatMapEager(identified(request), (principal) => serve(request, principal)),
        Effect.succeed
      )
    if (origin === undefined) return served()
    // A page: its browser wants to be told that it may.
    const cors = { "access-control-allow-origin": origin, vary: "origin", "access-control-expose-headers": exposed }
    return method === "OPTIONS" && headers["access-control-request-method"] !== undefined
      ? Effect.succeed(
        HttpResponses.empty(204, { ...cors, ...corsHeaders, "access-control-allow-methods": allowed() })
      )
      : Effect.map(served(), (response) => HttpServerResponse.setHeaders(response, cors))
  }

  return { admit, brought, posted, listening, revision }
})
