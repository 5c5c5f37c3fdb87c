import { Meta, MethodDefinition, Revision } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"

it("peerOf returns the other side", () => {
  assert.strictEqual(MethodDefinition.peerOf("client"), "server")
  assert.strictEqual(MethodDefinition.peerOf("server"), "client")
})

it("request keeps all given members", () => {
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

it("the defaults are no capability and the oldest revision", () => {
  const row = MethodDefinition.notification("acme/reindexed", { from: "either", params: Meta.NotificationParams })
  assert.strictEqual(row.capability, undefined)
  assert.strictEqual(row.since, Revision.supported[0])
})
