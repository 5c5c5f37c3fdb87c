import * as Content from "@effect-mcp/protocol/Content"
import * as ServerSession from "@effect-mcp/session/ServerSession"
import * as StdioServer from "@effect-mcp/transport/StdioServer"
import * as Effect from "effect/Effect"

const info = { name: "benchmark", version: "1.0.0" }

const program = ServerSession.serve({
  "tools/call": ({ arguments: input }) =>
    Effect.succeed({ content: [Content.text(String(Number(input?.["a"]) + Number(input?.["b"])))] })
}, { info })

StdioServer.runMain(Effect.provide(program, StdioServer.layerNode()))
