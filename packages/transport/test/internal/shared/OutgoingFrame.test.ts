import { JsonRpc, McpError } from "@effect-mcp/protocol"
import { PreparedResult } from "@effect-mcp/session/internal"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { type Encoded, encodeForBytes, replaceUnserializable } from "../../../src/internal/shared/OutgoingFrame.ts"

describe("a reply that JSON cannot represent", () => {
  const unserializable = JsonRpc.success(1, { count: 42n })
  const failed = JsonRpc.failure(1, McpError.internalError)

  it("is replaced by an internal error with its id", () => {
    assert.deepStrictEqual(replaceUnserializable(unserializable), failed)
  })

  it("is replaced in its batch, and the other replies stay", () => {
    const other = JsonRpc.success(2, {})
    assert.deepStrictEqual(replaceUnserializable([other, unserializable]), [other, failed])
    assert.deepStrictEqual(replaceUnserializable([unserializable]), [failed])
  })
})

describe("a frame for a stream of bytes", () => {
  const long = "é".repeat(16_384)

  const encoded = (frame: unknown): Encoded => Result.getOrThrow(encodeForBytes(frame, "\n"))

  const textOf = (frame: unknown): string => {
    const parts = encoded(frame)
    return typeof parts === "string" ? parts : Buffer.concat(parts).toString()
  }

  it.each([
    ["a short one", { jsonrpc: "2.0", id: 1, result: { short: "é" } }],
    ["a long one", { jsonrpc: "2.0", id: 1, result: { long } }],
    ["a short prepared one", { jsonrpc: "2.0", id: "\"a\"", result: PreparedResult.make({ short: "é" }) }],
    ["a long prepared one", { jsonrpc: "2.0", id: "\"a\"", result: PreparedResult.make({ long }) }],
    ["separators of lines", {
      jsonrpc: "2.0",
      id: "a\u2028",
      method: "x",
      params: { "b\u2029": "\u2028\u2029\\u2028\n\r" }
    }],
    ["separators in a long one", { jsonrpc: "2.0", id: 1, result: { long: `${long}\u2028` } }],
    ["separators in a prepared one", { jsonrpc: "2.0", id: "\u2029", result: PreparedResult.make({ text: "\u2028" }) }],
    ["separators in a long prepared one", {
      jsonrpc: "2.0",
      id: "\u2029",
      result: PreparedResult.make({ long: `\u2028${long}` })
    }]
  ])("is the line of the frame, also for a reader that ends lines at U+2028 and U+2029: %s", (_, frame) => {
    const text = textOf(frame)
    assert.strictEqual(text.search(/[\n\r\u2028\u2029]/), text.length - 1)
    assert.deepStrictEqual(JSON.parse(text), frame)
  })

  it("shares the bytes of a long prepared result, and only these", () => {
    const parts = (id: number, result: object) => encoded({ jsonrpc: "2.0", id, result })
    const prepared = PreparedResult.make({ long })
    assert.strictEqual(parts(1, prepared)[0], parts(2, prepared)[0])
    assert.notStrictEqual(parts(1, { long })[0], parts(2, { long })[0])
    assert.notDeepEqual(parts(1, prepared), parts(1, PreparedResult.make({ long: `${long}x` })))
  })

  it("that JSON cannot represent fails, also if it is prepared", () => {
    for (const result of [{ count: 1n }, PreparedResult.make({ count: 1n, long })]) {
      const failed = encodeForBytes({ jsonrpc: "2.0", id: 1, result })
      assert.isTrue(Result.isFailure(failed) && failed.failure.reason._tag === "Unserializable")
    }
  })
})
