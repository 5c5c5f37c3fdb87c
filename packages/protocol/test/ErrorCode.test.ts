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

it("[MSG-26] a code that only this library has is outside the range that JSON-RPC reserves", () => {
  const { InsufficientScope, InvalidAnswer, OutcomeUnknown, Overloaded, ...specified } = ErrorCode
  const isReserved = (code: number) => code >= -32768 && code <= -32000
  for (const own of [InsufficientScope, InvalidAnswer, OutcomeUnknown, Overloaded]) assert.isFalse(isReserved(own))
  assert.deepStrictEqual(Object.values(specified).filter((code) => !isReserved(code)), [])
})

it("[ELI-14] the MCP codes have the values of the specification", () => {
  assert.strictEqual(ErrorCode.ResourceNotFound, -32002)
  assert.strictEqual(ErrorCode.UrlElicitationRequired, -32042)
})
