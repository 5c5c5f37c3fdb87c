/** Servers that serve both eras on one connection or URL, with the official client in each of its modes. */
import { McpServer } from "@effect-mcp/server"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as V2 from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { fileURLToPath } from "node:url"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as Asking from "./fixtures/askingGroup.ts"

const server = StreamableHttpServer.layerNode({ port: 0 }).pipe(
  Layer.provide(McpServer.layerHost(Asking.layer, { info: Asking.info })),
  Layer.provide(Authentication.anonymous)
)

const overHttp = Effect.map(Layer.build(server), (context) => {
  const { address } = Context.get(context, HttpServer)
  const port = address._tag === "UnixPathAddress" ? 0 : address.port
  return new V2.StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`))
})

const asking = await joinedProgram(fileURLToPath(new URL("fixtures/asking.ts", import.meta.url)))

const overStdio = Effect.sync(() =>
  new StdioClientTransport({
    command: process.execPath,
    args: [asking],
    stderr: "ignore"
  })
)

const transports = { "Streamable HTTP with sessions": overHttp, stdio: overStdio }

const modes = [
  { name: "auto", mode: "auto", revision: "2026-07-28" },
  { name: "pinned", mode: { pin: "2026-07-28" }, revision: "2026-07-28" },
  { name: "legacy", mode: "legacy", revision: "2025-11-25" }
] as const

describe("a server of both eras", () => {
  for (const [name, transport] of Object.entries(transports)) {
    for (const { mode, name: modeName, revision } of modes) {
      it.live(`serves official v2 (${modeName}) over ${name}, and asks it in its own way`, () =>
        Effect.gen(function*() {
          const asked: Array<string> = []
          const client = new V2.Client({ name: "official", version: "1.0.0" }, {
            capabilities: { elicitation: { form: {} } },
            versionNegotiation: { mode }
          })
          client.setRequestHandler("elicitation/create", ({ params }) => {
            asked.push(params.message)
            return {
              action: "accept",
              content: params.message.startsWith("Which") ? { meal: "beans" } : { sure: true }
            }
          })
          const connected = yield* transport
          yield* Effect.acquireRelease(
            Effect.promise(() => client.connect(connected)),
            () => Effect.promise(() => client.close())
          )
          assert.strictEqual(client.getNegotiatedProtocolVersion(), revision)
          const called = yield* Effect.promise(() => client.callTool({ name: "book", arguments: { to: "Oslo" } }))
          const [seat = ""] = /\d+/.exec(asked[0] ?? "") ?? []
          assert.deepStrictEqual(asked, [`Which meal in seat ${seat}?`, "Book Oslo with beans?"])
          assert.deepStrictEqual<unknown>(called.content, [{ type: "text", text: `Oslo, seat ${seat}, beans` }])
        }).pipe(Effect.scoped))
    }
  }
})
