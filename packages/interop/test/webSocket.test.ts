/** WebSocket with the official SDK, version 1: its client with our server, and our client with a server made with it. */
import { Content } from "@effect-mcp/protocol"
import { ClientSession, RequestContext, type SessionEvent, SessionHost } from "@effect-mcp/session"
import { Authentication, WebSocketClient, WebSocketServer } from "@effect-mcp/transport"
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

const said = (words: string) => ({ content: [Content.text(words)] })

/** Asks the client all that it can be asked. */
const think = Effect.gen(function*() {
  const { content } = yield* RequestContext.createMessage({
    messages: [{ role: "user", content: Content.text("6 × 7?") }],
    maxTokens: 10
  })
  const { action, content: form } = yield* RequestContext.elicit({
    message: "Sure?",
    requestedSchema: { type: "object", properties: { sure: { type: "boolean" } } }
  })
  const { roots } = yield* RequestContext.listRoots()
  return said(JSON.stringify([content, action, form?.["sure"], roots.length]))
})

/** Our server, and what it does that nobody is told of. */
const ours = Effect.gen(function*() {
  const events: Array<SessionEvent.SessionEvent> = []
  const heard: Array<number> = []
  let interrupted = 0
  const host = SessionHost.layer({
    "tools/list": () => Effect.succeed({ tools: [{ name: "add", inputSchema: { type: "object" } }] }),
    "tools/call": Effect.fnUntraced(function*({ arguments: input, name }) {
      switch (name) {
        case "add":
          return said(String(Number(input?.["a"]) + Number(input?.["b"])))
        case "count": {
          for (let progress = 1; progress <= 5; progress++) {
            yield* RequestContext.progress({ progress, total: 5 })
            // This client loses the steps that it reads together with the answer.
            yield* Child.until(() => heard.length === progress)
          }
          return said("5")
        }
        case "think":
          return yield* Effect.orDie(think)
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
    /** The steps that a test has heard of. */
    heard,
    interrupted: () => interrupted
  }
})

/** The official client, with a server at this address. */
const theirs = (url: URL) =>
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

describe("our server under the official client, version 1", () => {
  it.live("[INIT-04] [TOOL-01] [PING-01] shakes hands, answers pings, lists tools, and calls them", () =>
    Effect.gen(function*() {
      const { host, url } = yield* ours
      const client = yield* theirs(url)
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

  it.live("[MSG-02] carries what is long, in all characters", () =>
    Effect.gen(function*() {
      const client = yield* theirs((yield* ours).url)
      const words = "Grüße, 世界 🌍 ".repeat(50_000)
      const result = yield* Effect.promise(() => client.callTool({ name: "add", arguments: { a: 1, b: 2, words } }))
      assert.deepStrictEqual(result.content, [Content.text("3")])
    }))

  it.live("[PRG-03] [PRG-04] reports progress", () =>
    Effect.gen(function*() {
      const { heard, url } = yield* ours
      const client = yield* theirs(url)
      yield* Effect.promise(() =>
        client.callTool({ name: "count" }, undefined, { onprogress: ({ progress }) => void heard.push(progress) })
      )
      assert.deepStrictEqual(heard, [1, 2, 3, 4, 5])
    }))

  it.live("[SMP-01] [ELI-01] [ROOT-01] asks the client", () =>
    Effect.gen(function*() {
      const client = yield* theirs((yield* ours).url)
      const result = yield* Effect.promise(() => client.callTool({ name: "think" }))
      assert.deepStrictEqual(result.content, [
        Content.text(JSON.stringify([{ type: "text", text: "42" }, "accept", true, 1]))
      ])
    }))

  it.live("[CAN-04] stops when the call is aborted, and the session goes on", () =>
    Effect.gen(function*() {
      const { host, interrupted, url } = yield* ours
      const client = yield* theirs(url)
      const abort = new AbortController()
      const calling = client.callTool({ name: "wait" }, undefined, { signal: abort.signal }).then(() => "", String)
      yield* Effect.repeat(host.sessions, { until: ([session]) => session?.inFlight === 1 })
      abort.abort("enough")
      assert.include(yield* Effect.promise(() => calling), "enough")
      yield* Child.until(() => interrupted() === 1)
      yield* Effect.promise(() => client.ping())
    }))

  it.live("ends its session in good order when the client closes", () =>
    Effect.gen(function*() {
      const { events, host, url } = yield* ours
      yield* Effect.scoped(theirs(url))
      yield* Effect.repeat(host.health, { until: ({ sessions }) => sessions === 0 })
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "Closed" ? [event.reason] : []),
        [{ _tag: "PeerEnded", exit: undefined }]
      )
    }))
})

/** A server made with the official SDK, with a session for each connection. */
const official = Effect.acquireRelease(
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
          if (request.params.name === "think") {
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

describe("our client with a server of the official SDK, version 1", () => {
  it.live("[INIT-04] [TOOL-01] [PING-01] shakes hands, pings, lists tools, and calls them", () =>
    Effect.gen(function*() {
      const { url } = yield* official
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

  it.live("[PRG-03] [PRG-04] hears of progress", () =>
    Effect.gen(function*() {
      const { session } = yield* connect((yield* official).url)
      const steps: Array<number> = []
      yield* session.callTool("count", { to: 5, delayMs: 1 }, {
        onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
      })
      assert.deepStrictEqual(steps, [1, 2, 3, 4, 5])
    }))

  it.live("[SMP-01] [ELI-01] is asked", () =>
    Effect.gen(function*() {
      const { session } = yield* connect((yield* official).url)
      const { content } = yield* session.callTool("think")
      assert.deepStrictEqual(content, [Content.text(JSON.stringify([{ type: "text", text: "42" }, "decline"]))])
    }))

  it.live("[CAN-01] gives up a call, and the session goes on", () =>
    Effect.gen(function*() {
      const { session } = yield* connect((yield* official).url)
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

  it.live("ends in good order when the server closes, and says good-bye when it closes itself", () =>
    Effect.gen(function*() {
      const { listener, servers, url } = yield* official
      const { events } = yield* connect(url)
      yield* Effect.promise(() => servers[0]?.close() ?? Promise.resolve())
      yield* Child.until(() => events.some(({ _tag }) => _tag === "Closed"))
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "Closed" ? [event.reason] : []),
        [{ _tag: "PeerEnded", exit: undefined }]
      )
      const farewells: Array<[number, string]> = []
      yield* Effect.scoped(Effect.andThen(
        connect(url),
        Effect.sync(() => {
          for (const client of listener.clients) {
            client.on("close", (code, words) => farewells.push([code, String(words)]))
          }
        })
      ))
      yield* Child.until(() => farewells.length > 0)
      assert.deepStrictEqual(farewells, [[1000, "the client has closed the session"]])
    }))
})
