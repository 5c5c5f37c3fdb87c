import { PreparedResult } from "@effect-mcp/session/internal"
import { JsonLines } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

/** A result that counts how often it is encoded. */
const counting = () => {
  let encodings = 0
  const result = {
    text: "a\n\"b\" \u2028",
    counted: {
      toJSON: () => {
        encodings++
        return "counted"
      }
    }
  }
  return { result, encodings: () => encodings }
}

const line = (frame: unknown): string => Result.getOrThrow(JsonLines.encode(frame))

describe("a prepared result", () => {
  it("is encoded once, and each response has its own id", () => {
    const { encodings, result } = counting()
    const prepared = PreparedResult.make(result)
    const ids = [1, "a", "\"quoted\"\n", -1.5]
    const lines = ids.map((id) => line({ jsonrpc: "2.0", id, result: prepared }))
    assert.strictEqual(encodings(), 1)
    assert.deepStrictEqual(
      lines,
      ids.map((id) => `${JSON.stringify({ jsonrpc: "2.0", id, result }).replace("\u2028", "\\u2028")}\n`)
    )
  })

  it("has no influence on other results, errors, requests and batches", () => {
    const { encodings, result } = counting()
    const prepared = PreparedResult.make({ a: 1 })
    const frames = [
      { jsonrpc: "2.0", id: 1, result },
      { jsonrpc: "2.0", id: 1, result },
      { jsonrpc: "2.0", id: 1, error: { code: -32603, message: "Internal error" } },
      { jsonrpc: "2.0", id: 1, method: "ping", params: prepared },
      [{ jsonrpc: "2.0", id: 1, result: prepared }, { jsonrpc: "2.0", id: 2, result: { ...prepared, b: 2 } }]
    ]
    assert.deepStrictEqual(
      frames.map(line),
      frames.map((frame) => `${JSON.stringify(frame).replace("\u2028", "\\u2028")}\n`)
    )
    assert.strictEqual(encodings(), 4)
  })

  it("that JSON cannot represent fails each time", () => {
    const prepared = PreparedResult.make({ count: 1n })
    for (const id of [1, 2]) {
      const encoded = JsonLines.encode({ jsonrpc: "2.0", id, result: prepared })
      assert.isTrue(Result.isFailure(encoded) && encoded.failure.reason._tag === "Unserializable")
    }
  })
})
