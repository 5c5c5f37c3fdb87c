/** A server of Streamable HTTP on a real socket, protected by a resource server. */
import { ResourceServer } from "@effect-mcp/auth"
import { Content, type Profile, type Revision } from "@effect-mcp/protocol"
import { type Handlers, type Principal, RequestContext, SessionHost } from "@effect-mcp/session"
import { HttpSseServer, StatelessHttpServer, StreamableHttpServer, WebSocketServer } from "@effect-mcp/transport/node"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServer } from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import * as http from "node:http"

export const resource = "https://notes.example/mcp"

export interface ProtectedServer {
  readonly url: string
  readonly port: number
  /** The principals of the calls of tools. */
  readonly principals: Array<Principal.Principal | undefined>
  /** The revision, the capabilities and the name of the client of each of these calls. */
  readonly profiles: Array<Profile.ClientProfile>
  /** The services of HTTP that a handler has found in its context. */
  readonly found: Array<unknown>
}

export interface Settings {
  /** Runs in each call of a tool, as the body of the handler. */
  readonly onCall?: (principal: Principal.Principal | undefined) => Effect.Effect<string>
  /** The tracer of the whole server. */
  readonly tracer?: Tracer.Tracer
  /** The clock of the resource server. */
  readonly clock?: Clock.Clock
  /** The revisions of the sessions, and what the server declares in them. */
  readonly revisions?: readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>]
  readonly capabilities?: Handlers.ServerDeclarations
}

/** Serves one tool that returns the id of its principal. */
export const serve = Effect.fnUntraced(function*(
  options: ResourceServer.Options,
  settings: Settings = {}
): Effect.fn.Return<ProtectedServer, unknown, Scope.Scope> {
  const principals: Array<Principal.Principal | undefined> = []
  const profiles: Array<Profile.ClientProfile> = []
  const found: Array<unknown> = []
  const handlers: Handlers.Handlers<"client", RequestContext.RequestContext> = {
    "tools/list": () => Effect.succeed({ tools: [] }),
    "tools/call": () =>
      Effect.gen(function*() {
        const { principal, profile } = yield* RequestContext.RequestContext
        const request = yield* Effect.serviceOption(HttpServerRequest.HttpServerRequest)
        principals.push(principal)
        profiles.push(profile)
        if (Option.isSome(request)) found.push(request.value)
        const text = settings.onCall === undefined ? principal?.id ?? "anonymous" : yield* settings.onCall(principal)
        return { content: [Content.text(text)] }
      })
  }
  const info = { name: "notes", version: "1.0.0" }
  const { capabilities, revisions } = settings
  const host = SessionHost.layer(handlers, {
    info,
    ...(capabilities === undefined ? {} : { capabilities }),
    ...(revisions === undefined ? {} : { revisions })
  })
  const routes = Layer.mergeAll(
    StreamableHttpServer.layer(),
    WebSocketServer.layer({ path: "/socket" }),
    HttpSseServer.layer(),
    StatelessHttpServer.layer(handlers, { path: "/stateless", info }),
    ResourceServer.routes
  )
  const context = yield* Layer.build(
    SessionHost.layerDrain.pipe(
      Layer.provideMerge(HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true })),
      Layer.provideMerge(
        NodeHttpServer.layerServer(() => http.createServer({ maxHeaderSize: 256 * 1024 }), {
          port: 0,
          host: "127.0.0.1"
        })
      ),
      Layer.provide(host),
      Layer.provide(settings.tracer === undefined ? Layer.empty : Layer.succeed(Tracer.Tracer, settings.tracer)),
      Layer.provide(
        settings.clock === undefined
          ? ResourceServer.layer(options)
          : Layer.provide(ResourceServer.layer(options), Layer.succeed(Clock.Clock, settings.clock))
      )
    )
  )
  const { address } = Context.get(context, HttpServer)
  const port = address._tag === "UnixPathAddress" ? 0 : address.port
  return { url: `http://127.0.0.1:${port}/mcp`, port, principals, profiles, found }
})

export interface Answer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
  readonly challenge: string
}

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } }
})

/** Sends a request with these headers, names and values in turn; a POST carries `initialize`. */
export const send = (
  { port }: Pick<ProtectedServer, "port">,
  headers: ReadonlyArray<string> = [],
  { host = "127.0.0.1", method = "POST", path = "/mcp" }: {
    readonly host?: string
    readonly method?: string
    readonly path?: string
  } = {}
): Effect.Effect<Answer> =>
  Effect.promise(() =>
    new Promise((resolve, reject) => {
      const all = [
        "Host",
        `${host}:${port}`,
        "Content-Type",
        "application/json",
        "Accept",
        "application/json, text/event-stream",
        ...(method === "POST" ? ["Content-Length", String(Buffer.byteLength(initialize))] : []),
        ...headers
      ]
      const request = http.request(
        { host: "127.0.0.1", port, method, path, headers: all, agent: false },
        (response) => {
          let text = ""
          response.setEncoding("utf8")
          response.on("data", (chunk: string) => {
            text += chunk
          })
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text,
              challenge: response.headers["www-authenticate"] ?? ""
            }))
        }
      )
      request.on("error", reject)
      request.end(method === "POST" ? initialize : undefined)
    })
  )

/** Sends a request with a bearer token. */
export const sendToken = (server: Pick<ProtectedServer, "port">, token: string): Effect.Effect<Answer> =>
  send(server, ["Authorization", `Bearer ${token}`])
