/** WebSocket with the official SDK, version 1: its client with our server, and its server with our client. */
import { Content } from "@effect-mcp/protocol"
import { ClientSession, RequestContext, type SessionEvent, SessionHost } from "@effect-mcp/session"
import { Authentication, WebSocketClient, WebSocketServer } from "@effect-mcp/transport/node"
import { WebSocketServer as ListeningServer } from "@effect/platform-node/NodeWS"
import { assert, describe, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js"
import type { Server } from "@modelcontextprotocol/sdk/server/index.js"
import {
  CallToolRequestSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema
} from "@modelcontextprotocol/sdk/types.js"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Child from "./fixtures/child.ts"
import * as Official from "./fixtures/officialServerV1.ts"
import { WebSocketTransportV1 } from "./fixtures/webSocketTransportV1.ts"

const info = { name: "ours", version: "1.0.0" }

const textResult = (text: string) => ({ content: [Content.text(text)] })

/** Sends the client every kind of request. */
const requestAll = Effect.gen(function*() {
  const { content } = yield* RequestContext.createMessage({
    messages: [{ role: "user", content: Content.text("6 × 7?") }],
    maxTokens: 10
  })
  const { action, content: form } = yield* RequestContext.elicit({
    message: "Sure?",
    requestedSchema: { type: "object", properties: { sure: { type: "boolean" } } }
  })
  const { roots } = yield* RequestContext.listRoots()
  return textResult(JSON.stringify([content, action, form?.["sure"], roots.length]))
})

/** A server of this library, with observations. */
const startServer = Effect.gen(function*() {
  const events: Array<SessionEvent.SessionEvent> = []
  const received: Array<number> = []
  let interrupted = 0
  const host = SessionHost.layer({
    "tools/list": () => Effect.succeed({ tools: [{ name: "add", inputSchema: { type: "object" } }] }),
    "tools/call": Effect.fnUntraced(function*({ arguments: input, name }) {
      switch (name) {
        case "add":
          return textResult(String(Number(input?.["a"]) + Number(input?.["b"])))
        case "count": {
          for (let progress = 1; progress <= 5; progress++) {
            yield* RequestContext.progress({ progress, total: 5 })
            // This client loses progress that it reads together with the response.
            yield* Child.until(() => received.length === progress)
          }
          return textResult("5")
        }
        case "request-all":
          return yield* Effect.orDie(requestAll)
        default:
          return yield* Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      }
    })
  }, { info, observe: (event) => void events.push(event) })
  const context = yield* Layer.build(
    WebSocketServer.layerNode({ port: 0 }).pipe(Layer.provideMerge(host), Layer.provide(Authentication.anonymous))
  )
  const { address } = Context.get(context, HttpServer)
  return {
    url: new URL(`ws://127.0.0.1:${"port" in address ? address.port : 0}/mcp`),
    host: Context.get(context, SessionHost.SessionHost),
    events,
    /** The progress that the test has received. */
    received,
    interrupted: () => interrupted
  }
})

/** Connects the official client to the server at this URL. */
const connectOfficial = (url: URL) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ name: "official", version: "1.0.0" }, {
        capabilities: { sampling: {}, elicitation: { form: {} }, roots: {} }
      })
      client.setRequestHandler(CreateMessageRequestSchema, () => ({
        model: "abacus",
        role: "assistant" as const,
        content: { type: "text" as const, text: "42" }
      }))
      client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept" as const, content: { sure: true } }))
      client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///home" }] }))
      await client.connect(new WebSocketClientTransport(url))
      return client
    }),
    (client) => Effect.promise(() => client.close())
  )

describe("the server with the official client, version 1", () => {
  it.live("[INIT-04] [TOOL-01] [PING-01] completes the handshake, answers ping, lists tools, and runs them", () =>
    Effect.gen(function*() {
      const { host, url } = yield* startServer
      const client = yield* connectOfficial(url)
      assert.deepStrictEqual(client.getServerVersion(), info)
      yield* Effect.promise(() => client.ping())
      const { tools } = yield* Effect.promise(() => client.listTools())
      assert.deepStrictEqual(tools.map(({ name }) => name), ["add"])
      const sums = yield* Effect.promise(() =>
        Promise.all(Array.from({ length: 100 }, (_, a) => client.callTool({ name: "add", arguments: { a, b: 1 } })))
      )
      assert.deepStrictEqual(sums.map(({ content }) => content), sums.map((_, a) => [Content.text(String(a + 1))]))
      const [session] = yield* host.sessions
      assert.strictEqual(session?.kind, "websocket")
      assert.strictEqual(session?.client?.name, "official")
    }))

  it.live("[MSG-02] receives a long message with any characters", () =>
    Effect.gen(function*() {
      const client = yield* connectOfficial((yield* startServer).url)
      const text = "Grüße, 世界 🌍 ".repeat(50_000)
      const result = yield* Effect.promise(() => client.callTool({ name: "add", arguments: { a: 1, b: 2, text } }))
      assert.deepStrictEqual(result.content, [Content.text("3")])
    }))

  it.live("[PRG-03] [PRG-04] sends progress", () =>
    Effect.gen(function*() {
      const { received, url } = yield* startServer
      const client = yield* connectOfficial(url)
      yield* Effect.promise(() =>
        client.callTool({ name: "count" }, undefined, { onprogress: ({ progress }) => void received.push(progress) })
      )
      assert.deepStrictEqual(received, [1, 2, 3, 4, 5])
    }))

  it.live("[SMP-01] [ELI-01] [ROOT-01] sends requests to the client", () =>
    Effect.gen(function*() {
      const client = yield* connectOfficial((yield* startServer).url)
      const result = yield* Effect.promise(() => client.callTool({ name: "request-all" }))
      assert.deepStrictEqual(result.content, [
        Content.text(JSON.stringify([{ type: "text", text: "42" }, "accept", true, 1]))
      ])
    }))

  it.live("[CAN-04] an aborted call is interrupted, and the session continues", () =>
    Effect.gen(function*() {
      const { host, interrupted, url } = yield* startServer
      const client = yield* connectOfficial(url)
      const abort = new AbortController()
      const calling = client.callTool({ name: "wait" }, undefined, { signal: abort.signal }).then(() => "", String)
      yield* Effect.repeat(host.sessions, { until: ([session]) => session?.inFlight === 1 })
      abort.abort("enough")
      assert.include(yield* Effect.promise(() => calling), "enough")
      yield* Child.until(() => interrupted() === 1)
      yield* Effect.promise(() => client.ping())
    }))

  it.live("the session ends with PeerEnded when the client closes", () =>
    Effect.gen(function*() {
      const { events, host, url } = yield* startServer
      yield* Effect.scoped(connectOfficial(url))
      yield* Effect.repeat(host.health, { until: ({ sessions }) => sessions === 0 })
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "Closed" ? [event.reason] : []),
        [{ _tag: "PeerEnded", exit: undefined }]
      )
    }))
})

/** Starts a server of the official SDK, with one session for each connection. */
const startOfficialServer = Effect.acquireRelease(
  Effect.callback<
    { readonly url: string; readonly servers: ReadonlyArray<Server>; readonly listener: ListeningServer }
  >(
    (resume) => {
      const servers: Array<Server> = []
      const listener = new ListeningServer({ port: 0, host: "127.0.0.1", handleProtocols: () => "mcp" }, () => {
        const address = listener.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ url: `ws://127.0.0.1:${port}`, servers, listener }))
      })
      listener.on("connection", (socket) => {
        const server = Official.make()
        server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
          if (request.params.name === "request-all") {
            const { content } = await server.createMessage({
              messages: [{ role: "user", content: { type: "text", text: "6 × 7?" } }],
              maxTokens: 10
            })
            const { action } = await server.elicitInput({
              message: "Sure?",
              requestedSchema: { type: "object", properties: { sure: { type: "boolean" } } }
            })
            return { content: [{ type: "text", text: JSON.stringify([content, action]) }] }
          }
          return await Official.run(request, extra)
        })
        servers.push(server)
        void server.connect(new WebSocketTransportV1(socket))
      })
    }
  ),
  ({ listener }) =>
    Effect.sync(() => {
      listener.close()
      for (const client of listener.clients) client.terminate()
    })
)

const connect = Effect.fnUntraced(function*(url: string) {
  const events: Array<SessionEvent.SessionEvent> = []
  const layer = ClientSession.layer({
    info,
    observe: (event) => void events.push(event),
    handlers: {
      "sampling/createMessage": () =>
        Effect.succeed({ model: "abacus", role: "assistant", content: Content.text("42") }),
      "elicitation/create": () => Effect.succeed({ action: "decline" })
    }
  })
  const context = yield* Layer.build(Layer.provide(layer, WebSocketClient.layerNode({ url })))
  return { session: Context.get(context, ClientSession.ClientSession), events }
})

describe("the client with a server of the official SDK, version 1", () => {
  it.live("[INIT-04] [TOOL-01] [PING-01] completes the handshake, sends ping, lists tools, and calls them", () =>
    Effect.gen(function*() {
      const { url } = yield* startOfficialServer
      const { session } = yield* connect(url)
      assert.strictEqual(session.profile.info.name, "official-v1")
      assert.strictEqual(session.profile.instructions, "Be kind.")
      yield* session.ping()
      const { content } = yield* session.callTool("add", { a: 15, b: 27 })
      assert.deepStrictEqual(content, [Content.text("42")])
      const numbers = Array.from({ length: 100 }, (_, index) => index)
      const sums = yield* Effect.forEach(numbers, (a) => session.callTool("add", { a, b: 1 }), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(sums.map((sum) => sum.content), numbers.map((a) => [Content.text(String(a + 1))]))
    }))

  it.live("[PRG-03] [PRG-04] receives progress", () =>
    Effect.gen(function*() {
      const { session } = yield* connect((yield* startOfficialServer).url)
      const steps: Array<number> = []
      yield* session.callTool("count", { to: 5, delayMs: 1 }, {
        onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
      })
      assert.deepStrictEqual(steps, [1, 2, 3, 4, 5])
    }))

  it.live("[SMP-01] [ELI-01] answers requests of the server", () =>
    Effect.gen(function*() {
      const { session } = yield* connect((yield* startOfficialServer).url)
      const { content } = yield* session.callTool("request-all")
      assert.deepStrictEqual(content, [Content.text(JSON.stringify([{ type: "text", text: "42" }, "decline"]))])
    }))

  it.live("[CAN-01] cancels a call, and the session continues", () =>
    Effect.gen(function*() {
      const { session } = yield* connect((yield* startOfficialServer).url)
      const aborted = Effect.map(session.callTool("aborted"), ({ content }) => content)
      const before = yield* aborted
      let steps = 0
      const calling = yield* Effect.forkChild(
        session.callTool("count", { to: 10_000, delayMs: 5 }, { onProgress: () => Effect.sync(() => void steps++) })
      )
      yield* Child.until(() => steps > 0)
      yield* Fiber.interrupt(calling)
      yield* Effect.repeat(aborted, { until: (now) => JSON.stringify(now) !== JSON.stringify(before) })
    }))

  it.live("ends with PeerEnded when the server closes, and sends close code 1000 when it closes itself", () =>
    Effect.gen(function*() {
      const { listener, servers, url } = yield* startOfficialServer
      const { events } = yield* connect(url)
      yield* Effect.promise(() => servers[0]?.close() ?? Promise.resolve())
      yield* Child.until(() => events.some(({ _tag }) => _tag === "Closed"))
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "Closed" ? [event.reason] : []),
        [{ _tag: "PeerEnded", exit: undefined }]
      )
      const closeFrames: Array<[number, string]> = []
      yield* Effect.scoped(Effect.andThen(
        connect(url),
        Effect.sync(() => {
          for (const client of listener.clients) {
            client.on("close", (code, reason) => closeFrames.push([code, String(reason)]))
          }
        })
      ))
      yield* Child.until(() => closeFrames.length > 0)
      assert.deepStrictEqual(closeFrames, [[1000, "the client has closed the session"]])
    }))
})
