/** Frames that are small on the network and large in memory or time, over real sockets: each affects only itself. */
import type { Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Http from "./support/httpClient.ts"
import { until } from "./support/process.ts"
import { serve, text, tools } from "./support/server.ts"
import * as Unix from "./support/unixServer.ts"
import { opcodes } from "./support/webSocketFrames.ts"
import * as WebSocket from "./support/webSocketPeer.ts"
import * as WebSocketServing from "./support/webSocketServer.ts"

const handlers = tools({ greet: Effect.succeed(text("hello")) })

/** One client of a server. */
interface Client {
  /** Sends a text as one frame, waits for a message, and returns all messages that have arrived since. */
  readonly send: (frame: string) => Effect.Effect<ReadonlyArray<Http.Message>>
  /** Returns the result of a tool call. */
  readonly callTool: Effect.Effect<unknown>
}

/** Opens two sessions with one server, the first with this revision. */
type Open = (revision: Revision.LegacyRevision) => Effect.Effect<readonly [Client, Client], Error, Scope.Scope>

/** Creates a client whose messages all arrive on one connection. */
const onOneConnection = (write: (frame: string) => void, messages: () => ReadonlyArray<Http.Message>): Client => {
  const send: Client["send"] = (frame) =>
    Effect.suspend(() => {
      const before = messages().length
      write(frame)
      return Effect.map(until(() => messages().length > before), () => messages().slice(before))
    })
  return {
    send,
    callTool: Effect.map(send(JSON.stringify(WebSocket.call("call", "greet"))), ([response]) => response?.result)
  }
}

const transports: Readonly<Record<string, Open>> = {
  "a Unix socket": Effect.fnUntraced(function*(protocolVersion) {
    const server = yield* Unix.serve(handlers)
    const client = yield* Unix.connect({ path: server.path })
    client.send({ ...Unix.initialize, params: { ...Unix.initialize.params, protocolVersion } }, Unix.initialized)
    yield* client.awaitResponse(Unix.initialize.id)
    const other = yield* Unix.openSession({ path: server.path })
    const over = (one: Unix.RawClient) => onOneConnection((frame) => one.socket.write(`${frame}\n`), () => one.messages)
    return [over(client), over(other)]
  }),
  "WebSocket": Effect.fnUntraced(function*(protocolVersion) {
    const server = yield* WebSocketServing.serve(handlers)
    const client = yield* WebSocket.dial(server)
    const initialize = WebSocket.initialize()
    client.send({ ...initialize, params: { ...initialize.params, protocolVersion } })
    client.send(Unix.initialized)
    yield* until(() => client.messages.length === 1)
    const other = yield* WebSocket.connect(server)
    const over = (one: WebSocket.Peer) => onOneConnection((frame) => one.frame(opcodes.text, frame), () => one.messages)
    return [over(client), over(other)]
  }),
  "Streamable HTTP": Effect.fnUntraced(function*(revision) {
    const server = yield* serve(handlers)
    const over = (one: Http.Client): Client => ({
      send: (raw) => Effect.map(one.exchange({ raw }), ({ messages }) => messages),
      callTool: Effect.flatMap(
        one.call("call", "greet"),
        (response) => Effect.map(response.awaitEnd, () => response.messages[0]?.result)
      )
    })
    return [over(yield* Http.connect(server, { revision })), over(yield* Http.connect(server))]
  })
}

describe.concurrent.each(Object.entries(transports))("over %s", (_, open) => {
  it.live("[MSG-15] a batch of two million messages is rejected with one error, and both sessions continue", () =>
    Effect.gen(function*() {
      const [client, other] = yield* open("2025-03-26")
      const batch = `[${"1,".repeat(2_000_000)}1]`
      const responses = yield* client.send(batch)
      assert.deepStrictEqual(responses.map(({ error }) => error), [{
        code: -32600,
        message: "Invalid request: the batch has 2000001 messages; the limit is 100"
      }])
      assert.deepStrictEqual([yield* client.callTool, yield* other.callTool], [text("hello"), text("hello")])
    }))

  it.live("law 12: 4 MB of small arrays are rejected before they are parsed, and both sessions continue", () =>
    Effect.gen(function*() {
      const [client, other] = yield* open("2025-11-25")
      const params = `{"name":"greet","arguments":{"x":[${"[],".repeat(1_300_000)}[]]}}`
      const [response] = yield* client.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)
      assert.include(
        response?.error?.message,
        "1300012 arrays, objects and members (8 for an integer beyond 2^53); the limit is 100000"
      )
      assert.deepStrictEqual([yield* client.callTool, yield* other.callTool], [text("hello"), text("hello")])
    }))
})

describe.concurrent("thousands of lines in one chunk that are not JSON", () => {
  it.live("law 7: affect neither the request after them nor another client", () =>
    Effect.gen(function*() {
      const server = yield* Unix.serve(handlers, { session: { limits: { maxMalformedRepliesPerSecond: 0 } } })
      const client = yield* Unix.openSession({ path: server.path })
      const other = yield* Unix.openSession({ path: server.path })
      client.socket.write("{\n".repeat(30_000))
      client.send(Unix.call(1, "greet"))
      other.send(Unix.call(1, "greet"))
      yield* client.awaitResponse(1)
      yield* other.awaitResponse(1)
      assert.lengthOf(client.messages, 2)
    }))
})
