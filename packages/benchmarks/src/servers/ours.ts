import * as Content from "@effect-mcp/protocol/Content"
import * as ServerSession from "@effect-mcp/session/ServerSession"
import * as StdioServer from "@effect-mcp/transport/node/StdioServer"
import * as Effect from "effect/Effect"

const info = { name: "benchmark", version: "1.0.0" }

const program = ServerSession.serve({
  "tools/call": ({ arguments: input, name }) => {
    const text = name === "text"
      ? "x".repeat(Number(input?.["bytes"]))
      : String(Number(input?.["a"]) + Number(input?.["b"]))
    return Effect.succeed({ content: [Content.text(text)] })
  }
}, { info })

StdioServer.runMain(Effect.provide(program, StdioServer.layerNode()))
