import type { Logging } from "@effect-mcp/protocol"
import { McpGroup, McpLogger, McpResource, McpServer, SessionState } from "@effect-mcp/server"
import {
  ClientSession,
  type HandshakeError,
  MemoryTransport,
  RequestContext,
  SessionHost,
  type Transport,
  type TransportError
} from "@effect-mcp/session"
import {
  Authentication,
  StreamableHttpClient,
  StreamableHttpServer,
  WebSocketClient,
  WebSocketServer
} from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { info } from "./support/connect.ts"

const visits = SessionState.make("visits", () => 0)

const App = McpGroup.make(
  "app",
  Tool.make("visit", { success: Schema.Struct({ visits: Schema.Int }) }),
  Tool.make("change"),
  Tool.make("ada"),
  McpResource.make("one", { uri: "app://one" })
)

const AppLive = App.toLayer((handlers) =>
  handlers
    .tool("visit", () => Effect.map(Effect.orDie(visits.update((count) => count + 1)), (visits) => ({ visits })))
    .tool("change", () =>
      Effect.andThen(
        Effect.logInfo("changing"),
        Effect.flatMap(McpServer.McpServer, (server) => server.resourceUpdated("app://one"))
      ))
    .tool("ada", () => Effect.void, {
      visible: Effect.map(RequestContext.RequestContext, ({ principal }) => principal?.id === "ada")
    })
    .resource("one", Effect.succeed("one"))
).pipe(Layer.provide(McpLogger.layer))

const host = McpServer.host(AppLive, info)

/** A client, and the notifications that it has received. */
interface Client {
  readonly session: ClientSession.ClientSessionShape
  readonly updates: Ref.Ref<ReadonlyArray<string>>
  readonly logs: Ref.Ref<ReadonlyArray<unknown>>
}

type Failure = HandshakeError.HandshakeError | TransportError.TransportError

const client = Effect.fnUntraced(function*<E, R>(
  transport: Layer.Layer<Transport.Transport, E, R>
): Effect.fn.Return<Client, Failure | E, Scope.Scope | R> {
  const updates = yield* Ref.make<ReadonlyArray<string>>([])
  const logs = yield* Ref.make<ReadonlyArray<unknown>>([])
  const session = yield* Effect.map(
    Layer.build(Layer.provide(
      ClientSession.layer({
        info,
        handlers: {
          "notifications/resources/updated": ({ uri }) => Ref.update(updates, (all) => [...all, uri]),
          "notifications/message": ({ data }: Logging.LogMessageParams) => Ref.update(logs, (all) => [...all, data])
        }
      }),
      transport
    )),
    Context.get(ClientSession.ClientSession)
  )
  return { session, updates, logs }
})

/** Connects ada twice, and bob. */
const suite = <E, R>(as: (id: string) => Effect.Effect<Client, E, R>) =>
  Effect.gen(function*() {
    const [ada, other, bob] = yield* Effect.all([as("ada"), as("ada"), as("bob")])

    // State belongs to a session.
    const visit = ({ session }: Client) =>
      Effect.map(session.callTool("visit"), ({ structuredContent }) => structuredContent?.["visits"])
    assert.deepStrictEqual(
      [yield* visit(ada), yield* visit(ada), yield* visit(other), yield* visit(bob), yield* visit(ada)],
      [1, 2, 1, 1, 3]
    )

    // Visibility belongs to a principal.
    const names = ({ session }: Client) => Effect.map(session.listTools(), ({ tools }) => tools.map(({ name }) => name))
    assert.deepStrictEqual(yield* names(ada), ["ada", "change", "visit"])
    assert.deepStrictEqual(yield* names(other), ["ada", "change", "visit"])
    assert.deepStrictEqual(yield* names(bob), ["change", "visit"])

    // A log level and a subscription belong to a session.
    yield* ada.session.subscribeResource("app://one")
    yield* other.session.setLogLevel("error")
    yield* bob.session.callTool("change")
    yield* other.session.callTool("change")
    yield* ada.session.ping()
    yield* Effect.sleep("200 millis")
    const updatesOf = (one: Client) => Effect.map(Ref.get(one.updates), (all) => all.length)
    assert.deepStrictEqual([yield* updatesOf(ada), yield* updatesOf(other), yield* updatesOf(bob)], [2, 0, 0])
    assert.deepStrictEqual(yield* Ref.get(ada.logs), [])
    assert.deepStrictEqual(yield* Ref.get(other.logs), [])
    assert.deepStrictEqual(yield* Ref.get(bob.logs), ["changing"])

    // Unsubscribing stops the updates [RES-04].
    yield* ada.session.unsubscribeResource("app://one")
    yield* bob.session.callTool("change")
    yield* Effect.sleep("200 millis")
    assert.strictEqual(yield* updatesOf(ada), 2)
  })

const tokens = Authentication.layerBearer({
  verify: (token) => Effect.succeed({ id: Redacted.value(token) })
})

const port = Effect.map(HttpServer, ({ address }) => "port" in address ? address.port : 0)

const headersOf = (id: string) => ({ authorization: `Bearer ${id}` })

describe("two sessions of one principal and one of another see nothing of each other [RES-03] [RES-04]", () => {
  it.live("in memory", () =>
    Effect.gen(function*() {
      const sessions = yield* SessionHost.SessionHost
      yield* suite((id) =>
        Effect.gen(function*() {
          const pair = yield* MemoryTransport.make({ principal: { id } })
          yield* sessions.open(pair.server, { kind: "memory", principal: { id } })
          return yield* client(MemoryTransport.layer(pair.client))
        })
      )
    }).pipe(Effect.scoped, Effect.provide(host)))

  it.live("over Streamable HTTP", () =>
    Effect.gen(function*() {
      const url = `http://127.0.0.1:${yield* port}/mcp`
      yield* suite((id) => client(StreamableHttpClient.layerNode({ url, headers: headersOf(id) })))
    }).pipe(
      Effect.scoped,
      Effect.provide(
        StreamableHttpServer.layerNode({ port: 0 }).pipe(Layer.provide(host), Layer.provide(tokens))
      )
    ))

  it.live("over WebSocket", () =>
    Effect.gen(function*() {
      const url = `ws://127.0.0.1:${yield* port}/mcp`
      yield* suite((id) => client(WebSocketClient.layerNode({ url, headers: headersOf(id) })))
    }).pipe(
      Effect.scoped,
      Effect.provide(WebSocketServer.layerNode({ port: 0 }).pipe(Layer.provide(host), Layer.provide(tokens)))
    ))
})
