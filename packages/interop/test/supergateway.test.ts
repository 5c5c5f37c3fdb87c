/** A supervised client whose server is supergateway, a bridge from stdio to a server over Streamable HTTP. */
import { McpClient, McpTarget } from "@effect-mcp/client/node"
import * as Tools from "@effect-mcp/examples/src/tools.ts"
import { McpServer } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { fileURLToPath } from "node:url"
import * as Child from "./fixtures/child.ts"
import { addressOf } from "./fixtures/httpServers.ts"
import * as LocalServer from "./fixtures/localServer.ts"
import { statusesOf, timeout } from "./fixtures/supervised.ts"

const supergateway = fileURLToPath(import.meta.resolve("supergateway/dist/index.js"))

const servers: Record<string, Effect.Effect<string, never, Scope.Scope>> = {
  "this library": Effect.map(
    Effect.orDie(LocalServer.listen(McpServer.layerHost(Tools.layer, Tools.options))),
    ({ url }) => url
  ),
  "official v1": Effect.map(
    Effect.flatMap(Child.program(process.execPath, [Child.file("featureServerV1.ts"), "--http"]), addressOf),
    (address) => `${address}/stateful`
  )
}

describe.concurrent("supergateway in front of a server over Streamable HTTP", () => {
  for (const [name, listening] of Object.entries(servers)) {
    // It answers `server/discover` with an error, and then rejects `initialize`, because it has sent its own.
    it.live(`is connected again, without a probe (${name})`, () =>
      Effect.gen(function*() {
        const args = [supergateway, "--streamableHttp", yield* listening, "--logLevel", "none"]
        const client = yield* McpClient.make(McpTarget.command(process.execPath, args), {
          info: { name: "host", version: "1.0.0" },
          waitTimeout: "1 minute"
        })
        const statuses = yield* statusesOf(client)
        assert.isNotEmpty(yield* client.tools)
        assert.deepStrictEqual(statuses.map(({ _tag }) => _tag), ["Connecting", "Ready"])
        const { profile } = yield* client.session
        assert.strictEqual(profile.revision, "2025-11-25")
      }), timeout)
  }
})
