import { JsonRpc, Revision } from "@effect-mcp/protocol"
import type { RawPeer } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as RawServer from "./support/RawServer.ts"
import {
  codeOf,
  initialized,
  names,
  performHandshake,
  settled,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

/** Returns the responses that have arrived. */
const responses = (raw: RawPeer.RawPeer) =>
  Effect.map(raw.pending, (messages) => messages.flatMap((message) => "method" in message ? [] : [message]))

const long = "i".repeat(4097)

/** Messages with an id or a progress token of more than 4,096 bytes. */
const overlong = [
  JsonRpc.request(long, "ping", undefined),
  JsonRpc.request(long, "unknown", undefined),
  JsonRpc.request("x", "tools/call", { name: "x", _meta: { progressToken: "é".repeat(2049) } }),
  JsonRpc.notification("notifications/cancelled", { requestId: long }),
  JsonRpc.notification("notifications/progress", { progressToken: long, progress: 1 })
]

describe("a server that receives unreadable frames", () => {
  for (const revision of Revision.legacy) {
    it.effect(`[MSG-09] replies with -32700 or -32600, and with the id of a failure in ${revision}`, () =>
      Effect.gen(function*() {
        const { link, raw } = yield* withRawClient()
        yield* settled
        link.deliverUnreadable({ _tag: "NotJson", text: "{" })
        const reply = yield* raw.response
        assert.isFalse("id" in reply)
        yield* performHandshake(raw, revision)
        link.deliverUnreadable({ _tag: "NotJson", text: "{" })
        link.deliverUnreadable({ _tag: "TooLarge", limitBytes: 10 })
        link.deliverUnreadable({ _tag: "TooComplex", nodes: 11, limitNodes: 10 })
        link.deliver([])
        link.deliver({ jsonrpc: "2.0", id: 1.5, method: "ping" })
        link.deliver({ jsonrpc: "1.0", id: "known", method: "ping" })
        const replies = yield* Effect.forEach([1, 2, 3, 4, 5, 6], () => raw.response)
        const id = revision === "2025-11-25" ? undefined : null
        assert.deepStrictEqual(replies.map((reply) => reply.id), [id, id, id, id, id, "known"])
        assert.deepStrictEqual(replies.map((reply) => "id" in reply), [
          id === null,
          id === null,
          id === null,
          id === null,
          id === null,
          true
        ])
        assert.deepStrictEqual(
          replies.map((reply) => JsonRpc.isFailure(reply) ? reply.error.code : undefined),
          [-32700, -32700, -32700, -32600, -32600, -32600]
        )
      }))
  }

  for (const revision of ["2025-03-26", "2025-11-25"] as const) {
    it.effect(`law 5: an id or a token of more than 4,096 bytes is rejected with -32600 and no id (${revision})`, () =>
      Effect.gen(function*() {
        const { link, raw, record } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
        yield* performHandshake(raw, revision)
        for (const frame of overlong) link.deliver(frame)
        if (revision === "2025-03-26") link.deliver([JsonRpc.request(1, "ping", undefined), ...overlong.slice(0, 1)])
        const replies = yield* responses(raw)
        const rejected = replies.filter(({ id }) => id !== 1)
        assert.deepStrictEqual(
          rejected.map((reply) => [codeOf(reply), reply.id]),
          Array.from(
            { length: revision === "2025-03-26" ? overlong.length + 1 : overlong.length },
            () => [-32600, revision === "2025-11-25" ? undefined : null]
          )
        )
        assert.isBelow(JSON.stringify(replies).length, 2000)
        assert.strictEqual(record.of("Malformed").length, rejected.length)
        yield* raw.send(JsonRpc.request("i".repeat(4096), "ping", undefined))
        assert.strictEqual((yield* raw.response).id, "i".repeat(4096))
      }))
  }

  it.effect("sends errors that contain at most an excerpt of the frame", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({ handlers: tools({}) })
      const long = "x".repeat(1_000_000)
      yield* settled
      link.deliver(JsonRpc.request(1, "initialize", { protocolVersion: { [long]: 1 }, capabilities: {} }))
      const rejected = yield* responses(raw)
      yield* performHandshake(raw)
      link.deliver(JsonRpc.request(2, long, undefined))
      link.deliver(JsonRpc.request(3, "tools/call", { name: [long] }))
      link.deliver(JsonRpc.request(4, "tools/call", { name: "x", arguments: long }))
      link.deliver(JsonRpc.request(5, "ping", { _meta: { progressToken: [long] } }))
      link.deliver(JsonRpc.request(6, "tools/call", { name: "x", _meta: { [long]: 1, progressToken: { [long]: 1 } } }))
      const errors = [...rejected, ...(yield* responses(raw))].filter(JsonRpc.isFailure)
      assert.deepStrictEqual(errors.map(({ error, id }) => [id, error.code]), [
        [1, -32602],
        [2, -32601],
        [3, -32602],
        [4, -32602],
        [5, -32602],
        [6, -32602]
      ])
      for (const { error } of errors) assert.isAtMost(error.message.length, 600, error.message)
      assert.strictEqual((yield* session.state)._tag, "Operating")
    }))

  it.effect("[MSG-12] law 7: processes the frames before and after an unreadable one", () =>
    Effect.gen(function*() {
      const { link, raw, record } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* performHandshake(raw)
      link.deliver(JsonRpc.request(1, "tools/call", { name: "x" }))
      link.deliverUnreadable({ _tag: "NotJson", text: "}" })
      link.deliver(JsonRpc.request(2, "tools/call", { name: "x" }))
      link.deliver({})
      link.deliver(initialized)
      link.deliver(JsonRpc.request(3, "tools/call", { name: "x" }))
      assert.deepStrictEqual(names(yield* raw.pending), [1, undefined, 2, 3])
      assert.deepStrictEqual(record.of("BadFrame").map(({ error }) => error), [{ _tag: "NotJson", text: "}" }])
      assert.strictEqual(record.of("Malformed").length, 1)
    }))
})

describe("a client that receives unreadable frames", () => {
  it.effect("[STD-04] sends no reply to bytes that are no message", () =>
    Effect.gen(function*() {
      const { link, raw, record, session } = yield* withRawServer({ script: RawServer.replyToPings })
      const before = raw.received.length
      link.deliverUnreadable({ _tag: "NotJson", text: "Listening on port 3000" })
      link.deliverUnreadable({ _tag: "TooLarge", limitBytes: 10 })
      link.deliver("Debugger attached.")
      link.deliver([])
      link.deliver({ jsonrpc: "2.0", id: null, method: "ping" })
      yield* settled
      assert.strictEqual(raw.received.length, before)
      assert.deepStrictEqual([record.of("BadFrame").length, record.of("Malformed").length], [2, 3])
      link.deliver({ jsonrpc: "1.0", id: 9, method: "ping" })
      yield* settled
      assert.deepStrictEqual(names(raw.received.slice(before)), [9])
      yield* session.ping()
    }))

  it.effect("law 5: rejects an id or a token of more than 4,096 bytes with -32600 and no id", () =>
    Effect.gen(function*() {
      const { link, raw, record } = yield* withRawServer()
      const before = raw.received.length
      for (const frame of overlong) link.deliver(frame)
      yield* settled
      const replies = raw.received.slice(before)
      assert.deepStrictEqual(replies.map(codeOf), overlong.map(() => -32600))
      assert.isTrue(replies.every((reply) => !("id" in reply)))
      assert.strictEqual(record.of("Malformed").length, overlong.length)
    }))
})
