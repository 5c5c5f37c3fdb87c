/** A call to a server over HTTP that is away, while its session stays open. */
import { McpClient, McpTarget } from "@effect-mcp/client/node"
import { SessionHost } from "@effect-mcp/session"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport/node"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { freePort } from "../../../scripts/freePort.ts"

const info = { name: "test", version: "1.0.0" }

it.live("a call that cannot connect for waitTimeout fails as ServerUnavailableError, and names the address", () =>
  Effect.gen(function*() {
    const port = yield* freePort
    const scope = yield* Scope.make()
    yield* Layer.buildWithScope(
      StreamableHttpServer.layerNode({ port }).pipe(
        Layer.provide(SessionHost.layer({ "tools/call": () => Effect.succeed({ content: [] }) }, { info })),
        Layer.provide(Authentication.anonymous)
      ),
      scope
    )
    const client = yield* McpClient.make(McpTarget.url(`http://127.0.0.1:${port}/mcp`), {
      info,
      healthCheck: false
    })
    yield* client.session
    yield* Scope.close(scope, Exit.void)
    const error = yield* Effect.flip(client.callTool("x", {}, { waitTimeout: "500 millis" }))
    assert.strictEqual(error._tag, "ServerUnavailableError")
    assert.include(error.message, `could not connect to http://127.0.0.1:${port}/mcp`)
    assert.include(error.message, "the call waited 500 ms")
    assert.notMatch(error.message, /attempt|is due/)
    // The session is open: the client does not connect again.
    assert.strictEqual(error._tag === "ServerUnavailableError" ? error.status._tag : undefined, "Ready")
  }))
