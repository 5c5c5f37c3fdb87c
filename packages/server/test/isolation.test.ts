import { type Logging, Tool as Protocol } from "@effect-mcp/protocol"
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
} from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { handshake, info } from "./support/connect.ts"

const visits = SessionState.make("visits", () => 0)

const App = McpGroup.make(
  "app",
  Tool.make("visit", { success: Schema.Struct({ visits: Schema.Int }) }),
  Tool.make("change"),
  Tool.make("mark"),
  Tool.make("ada"),
  McpResource.make("one", { uri: "app://one" }),
  McpResource.make("mark", { uri: "app://mark" })
)

const updated = (uri: string) => Effect.flatMap(McpServer.McpServer, (server) => server.resourceUpdated(uri))

const AppLive = App.toLayer((handlers) =>
  handlers
    .tool("visit", () => Effect.map(Effect.orDie(visits.update((count) => count + 1)), (visits) => ({ visits })))
    .tool("change", () => Effect.andThen(Effect.logInfo("changing"), updated("app://one")))
    .tool("mark", () => updated("app://mark"))
    .tool("ada", () => Effect.void, {
      visible: Effect.map(RequestContext.RequestContext, ({ principal }) => principal?.id === "ada")
    })
    .resource("one", Effect.succeed("one"))
    .resource("mark", Effect.succeed("mark"))
).pipe(Layer.provide(McpLogger.layer))

const host = McpServer.layerHost(AppLive, { info })

/** A client, and the notifications that it has received. */
interface Client {
  readonly session: ClientSession.ClientSessionShape
  readonly updates: Queue.Queue<string>
  readonly logs: Ref.Ref<ReadonlyArray<unknown>>
}

type Failure = HandshakeError.HandshakeError | TransportError.TransportError

const client = Effect.fnUntraced(function*<E, R>(
  transport: Layer.Layer<Transport.Transport, E, R>
): Effect.fn.Return<Client, Failure | E, Scope.Scope | R> {
  const updates = yield* Queue.unbounded<string>()
  const logs = yield* Ref.make<ReadonlyArray<unknown>>([])
  const session = yield* Effect.map(
    Layer.build(Layer.provide(
      ClientSession.layer({
        info,
        ...handshake,
        handlers: {
          "notifications/resources/updated": ({ uri }) => Queue.offer(updates, uri),
          "notifications/message": ({ data }: Logging.LogMessageParams) => Ref.update(logs, (all) => [...all, data])
        }
      }),
      transport
    )),
    Context.get(ClientSession.ClientSession)
  )
  return { session, updates, logs }
})

/**
 * Returns the updates that each client has received. They arrive in order, so those before the mark, which is sent
 * last, are all.
 */
const received = (clients: ReadonlyArray<Client>) =>
  Effect.gen(function*() {
    yield* clients[0]?.session.callTool("mark") ?? Effect.void
    return yield* Effect.forEach(clients, ({ updates }) =>
      Effect.gen(function*() {
        const all: Array<string> = []
        for (let uri = yield* Queue.take(updates); uri !== "app://mark"; uri = yield* Queue.take(updates)) all.push(uri)
        return all
      }))
  })

/** Connects ada twice, and bob. */
const suite = <E, R>(as: (id: string) => Effect.Effect<Client, E, R>) =>
  Effect.gen(function*() {
    const [ada, other, bob] = yield* Effect.all([as("ada"), as("ada"), as("bob")])

    const clients = [ada, other, bob]
    for (const { session } of clients) yield* session.subscribeResource("app://mark")

    // State belongs to a session.
    const visit = ({ session }: Client) =>
      Effect.map(session.callTool("visit"), (result) => Protocol.structuredMembers(result)["visits"])
    assert.deepStrictEqual(
      [yield* visit(ada), yield* visit(ada), yield* visit(other), yield* visit(bob), yield* visit(ada)],
      [1, 2, 1, 1, 3]
    )

    // Visibility belongs to a principal.
    const names = ({ session }: Client) => Effect.map(session.listTools(), ({ tools }) => tools.map(({ name }) => name))
    assert.deepStrictEqual(yield* names(ada), ["ada", "change", "mark", "visit"])
    assert.deepStrictEqual(yield* names(other), ["ada", "change", "mark", "visit"])
    assert.deepStrictEqual(yield* names(bob), ["change", "mark", "visit"])

    // A log level and a subscription belong to a session.
    yield* ada.session.subscribeResource("app://one")
    yield* other.session.setLogLevel("error")
    yield* bob.session.callTool("change")
    yield* other.session.callTool("change")
    assert.deepStrictEqual(yield* received(clients), [["app://one", "app://one"], [], []])
    assert.deepStrictEqual(yield* Ref.get(ada.logs), [])
    assert.deepStrictEqual(yield* Ref.get(other.logs), [])
    assert.deepStrictEqual(yield* Ref.get(bob.logs), ["changing"])

    // Unsubscribing stops the updates [RES-04].
    yield* ada.session.unsubscribeResource("app://one")
    yield* bob.session.callTool("change")
    assert.deepStrictEqual(yield* received(clients), [[], [], []])
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
