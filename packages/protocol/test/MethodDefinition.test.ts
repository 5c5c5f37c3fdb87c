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
    since: "2025-06-18",
    until: "2025-11-25"
  })
  assert.deepStrictEqual(row, {
    kind: "request",
    name: "acme/echo",
    from: "client",
    params: Meta.RequestParams,
    result: Meta.EmptyResult,
    capability: "tools",
    since: "2025-06-18",
    until: "2025-11-25"
  })
})

it("the defaults are no capability and all revisions", () => {
  const row = MethodDefinition.notification("acme/reindexed", { from: "either", params: Meta.NotificationParams })
  assert.strictEqual(row.capability, undefined)
  for (const revision of Revision.supported) assert.isTrue(MethodDefinition.isIn(row, revision))
})

it("a method is in the revisions from its first to its last", () => {
  const row = { since: "2025-03-26", until: "2025-06-18" } as const
  assert.deepStrictEqual(Revision.supported.filter((revision) => MethodDefinition.isIn(row, revision)), [
    "2025-03-26",
    "2025-06-18"
  ])
})
