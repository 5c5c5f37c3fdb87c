import { McpProxy } from "@effect-mcp/gateway"
import { ErrorCode, McpError } from "@effect-mcp/protocol"
import { McpScopes } from "@effect-mcp/server"
import { ServerSession } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { connect, info } from "../../server/test/support/connect.ts"

const remote = ServerSession.layerMemory({
  "tools/list": () => Effect.succeed({ tools: [{ name: "write", inputSchema: { type: "object" } }] }),
  "tools/call": () => Effect.fail(McpError.insufficientScope(["remote:write"]))
}, { info })

it.live("scopes that a server demands of the proxy are not demanded of its client", () =>
  Effect.gen(function*() {
    const client = yield* connect(McpProxy.layer("remote", remote, { info }))
    const { reason } = yield* Effect.flip(client.callTool("write"))
    assert.strictEqual(reason._tag, "ErrorResponse")
    if (reason._tag !== "ErrorResponse") return
    assert.strictEqual(reason.error.code, ErrorCode.InternalError)
    assert.include(reason.error.message, "insufficient scope")
    assert.isUndefined(McpError.missingScopes(reason.error))
  }))

it.live("[AUT-46] a proxy has scopes of its own, by McpScopes", () =>
  Effect.gen(function*() {
    const groups = McpScopes.layer(["proxy:use"], McpProxy.layer("remote", remote, { info }))
    const client = yield* connect(groups, { principal: { id: "ada", scopes: [] } })
    const { reason } = yield* Effect.flip(client.callTool("write"))
    assert.deepStrictEqual(reason._tag === "ErrorResponse" ? McpError.missingScopes(reason.error) : undefined, [
      "proxy:use"
    ])
  }))
