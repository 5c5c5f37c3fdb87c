import { ErrorCode } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"

it("[MSG-10] the codes are whole numbers, and no two are the same", () => {
  const codes = Object.values(ErrorCode)
  for (const code of codes) assert.isTrue(Number.isSafeInteger(code))
  assert.strictEqual(new Set(codes).size, codes.length)
})

it("[MSG-10] the codes of JSON-RPC are those of JSON-RPC", () => {
  assert.deepInclude({ ...ErrorCode }, {
    ParseError: -32700,
    InvalidRequest: -32600,
    MethodNotFound: -32601,
    InvalidParams: -32602,
    InternalError: -32603
  })
})

it("our own code lies where implementations may choose, off the codes with a meaning", () => {
  assert.isAtLeast(ErrorCode.Overloaded, -32019)
  assert.isAtMost(ErrorCode.Overloaded, -32000)
  // Resource not found in older revisions, and what the official SDK calls a closed connection and a timeout.
  assert.notInclude([-32002, -32000, -32001], ErrorCode.Overloaded)
})

it("[ELI-14] the codes with a meaning of their own are those of the specification", () => {
  assert.strictEqual(ErrorCode.ResourceNotFound, -32002)
  assert.strictEqual(ErrorCode.UrlElicitationRequired, -32042)
})
