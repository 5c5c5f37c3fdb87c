import { Meta, MethodDefinition, Revision } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"

it("each side is the peer of the other", () => {
  assert.strictEqual(MethodDefinition.peerOf("client"), "server")
  assert.strictEqual(MethodDefinition.peerOf("server"), "client")
})

it("a row says what it was given", () => {
  const row = MethodDefinition.request("acme/echo", {
    from: "client",
    params: Meta.RequestParams,
    result: Meta.EmptyResult,
    capability: "tools",
    since: "2025-06-18"
  })
  assert.deepStrictEqual(row, {
    kind: "request",
    name: "acme/echo",
    from: "client",
    params: Meta.RequestParams,
    result: Meta.EmptyResult,
    capability: "tools",
    since: "2025-06-18"
  })
})

it("a row that says no more needs no capability and has been there from the first", () => {
  const row = MethodDefinition.notification("acme/said", { from: "either", params: Meta.NotificationParams })
  assert.strictEqual(row.capability, undefined)
  assert.strictEqual(row.since, Revision.supported[0])
})
