import { Transport } from "@effect-mcp/session"
import { TransportLaws } from "@effect-mcp/testing/vitest"
import { StdioClient } from "@effect-mcp/transport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("fixtures/lawServer.ts", import.meta.url))

TransportLaws.suite("stdio, with a child process", {
  serve: Effect.map(
    Layer.build(StdioClient.layerNode({ command: process.execPath, args: [program], stderr: () => {} })),
    (context) => Context.get(context, Transport.Transport)
  ),
  runs: 10
})
