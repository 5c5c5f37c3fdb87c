// The same server as `ours.ts`, written on a session: the floor of a stdio server that uses schemas.
import * as Content from "@effect-mcp/protocol/Content"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as ServerSession from "@effect-mcp/session/ServerSession"
import * as StdioServer from "@effect-mcp/transport/node/StdioServer"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const description = "Adds two numbers, and returns their sum"
const parameters = Schema.Struct({ a: Schema.Finite, b: Schema.Finite })
const success = Schema.Struct({ sum: Schema.Finite })
const decode = Schema.decodeUnknownEffect(Schema.toCodecJson(parameters))
const encode = Schema.encodeEffect(success)

const program = ServerSession.serve({
  "tools/list": () =>
    Effect.succeed({
      tools: [{
        name: "add",
        description,
        inputSchema: { ...Schema.toJsonSchemaDocument(parameters).schema, type: "object" },
        outputSchema: { ...Schema.toJsonSchemaDocument(success).schema, type: "object" }
      }]
    }),
  "tools/call": ({ arguments: input }) =>
    decode(input).pipe(
      Effect.mapError(({ message }) => McpError.invalidParams(message)),
      Effect.flatMap(({ a, b }) => Effect.orDie(encode({ sum: a + b }))),
      Effect.map((structuredContent) => ({
        content: [Content.text(JSON.stringify(structuredContent))],
        structuredContent
      }))
    )
}, { info: { name: "benchmark", version: "1.0.0" } })

StdioServer.runMain(Effect.provide(program, StdioServer.layerNode()))
