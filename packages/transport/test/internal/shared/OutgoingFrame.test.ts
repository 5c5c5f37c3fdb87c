import { JsonRpc, McpError } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { replaceUnserializable } from "../../../src/internal/shared/OutgoingFrame.ts"

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
