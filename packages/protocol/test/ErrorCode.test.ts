import { ErrorCode } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"

it("[MSG-10] the codes are distinct whole numbers", () => {
  const codes = Object.values(ErrorCode)
  for (const code of codes) assert.isTrue(Number.isSafeInteger(code))
  assert.strictEqual(new Set(codes).size, codes.length)
})

it("[MSG-10] the JSON-RPC codes have the values of JSON-RPC 2.0", () => {
  assert.deepInclude({ ...ErrorCode }, {
    ParseError: -32700,
    InvalidRequest: -32600,
    MethodNotFound: -32601,
    InvalidParams: -32602,
    InternalError: -32603
  })
})

it("Overloaded is in the range for implementations and collides with no known code", () => {
  assert.isAtLeast(ErrorCode.Overloaded, -32019)
  assert.isAtMost(ErrorCode.Overloaded, -32000)
  // Resource not found in older revisions; connection closed and request timeout in the official SDK.
  assert.notInclude([-32002, -32000, -32001], ErrorCode.Overloaded)
})

it("[ELI-14] the MCP codes have the values of the specification", () => {
  assert.strictEqual(ErrorCode.ResourceNotFound, -32002)
  assert.strictEqual(ErrorCode.UrlElicitationRequired, -32042)
})
