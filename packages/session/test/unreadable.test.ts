import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as RawServer from "./support/RawServer.ts"
import {
  initialized,
  introduce,
  names,
  settled,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

describe("a server that is sent what it cannot read", () => {
  for (const revision of Revision.supported) {
    it.effect(`[MSG-09] what cannot be read is answered as ${revision} has it`, () =>
      Effect.gen(function*() {
        const { link, raw } = yield* withRawClient()
        yield* settled
        link.deliverBad({ _tag: "NotJson", text: "{" })
        const before = yield* raw.response
        assert.isFalse("id" in before)
        yield* introduce(raw, revision)
        link.deliverBad({ _tag: "NotJson", text: "{" })
        link.deliverBad({ _tag: "TooLarge", limitBytes: 10 })
        link.deliver([])
        link.deliver({ jsonrpc: "2.0", id: 1.5, method: "ping" })
        link.deliver({ jsonrpc: "1.0", id: "known", method: "ping" })
        const replies = yield* Effect.forEach([1, 2, 3, 4, 5], () => raw.response)
        const id = revision === "2025-11-25" ? undefined : null
        assert.deepStrictEqual(replies.map((reply) => reply.id), [id, id, id, id, "known"])
        assert.deepStrictEqual(replies.map((reply) => "id" in reply), [
          id === null,
          id === null,
          id === null,
          id === null,
          true
        ])
        assert.deepStrictEqual(
          replies.map((reply) => JsonRpc.isFailure(reply) ? reply.error.code : undefined),
          [-32700, -32700, -32600, -32600, -32600]
        )
      }))
  }

  it.effect("[MSG-12] law 7: between two good frames, a bad one costs only itself", () =>
    Effect.gen(function*() {
      const { link, raw, record } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* introduce(raw)
      link.deliver(JsonRpc.request(1, "tools/call", { name: "x" }))
      link.deliverBad({ _tag: "NotJson", text: "}" })
      link.deliver(JsonRpc.request(2, "tools/call", { name: "x" }))
      link.deliver({})
      link.deliver(initialized)
      link.deliver(JsonRpc.request(3, "tools/call", { name: "x" }))
      assert.deepStrictEqual(names(yield* raw.pending), [1, undefined, 2, 3])
      assert.deepStrictEqual(record.of("BadFrame").map(({ error }) => error), [{ _tag: "NotJson", text: "}" }])
      assert.strictEqual(record.of("Malformed").length, 1)
    }))
})

describe("a client that is sent what it cannot read", () => {
  it.effect("[STD-04] a client never answers what it cannot read", () =>
    Effect.gen(function*() {
      const { link, raw, record, session } = yield* withRawServer({ script: RawServer.pongs })
      const said = raw.received.length
      link.deliverBad({ _tag: "NotJson", text: "Listening on port 3000" })
      link.deliverBad({ _tag: "TooLarge", limitBytes: 10 })
      link.deliver("Debugger attached.")
      link.deliver([])
      link.deliver({ jsonrpc: "2.0", id: null, method: "ping" })
      yield* settled
      assert.strictEqual(raw.received.length, said)
      assert.deepStrictEqual([record.of("BadFrame").length, record.of("Malformed").length], [2, 3])
      link.deliver({ jsonrpc: "1.0", id: 9, method: "ping" })
      yield* settled
      assert.deepStrictEqual(names(raw.received.slice(said)), [9])
      yield* session.ping()
    }))
})
