/**
 * The client under attack: `node clientVictim.ts websocket ws://127.0.0.1:3000/mcp /path/of/socket`. It opens one
 * session after another at the hostile server, and calls an honest server on a Unix socket at the same time. Over stdio
 * it starts the hostile server, whose file is the last argument.
 */
import { AjvValidator } from "@effect-mcp/json-schema"
import { ClientSession, type Transport } from "@effect-mcp/session"
import {
  HttpSseClient,
  SocketClient,
  StdioClient,
  StreamableHttpClient,
  WebSocketClient
} from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Bystanders from "./bystander.ts"
import { Bystander, report } from "./Vitals.ts"

const [transport = "", address = "", honest = "", hostile = ""] = process.argv.slice(2)

process.on("disconnect", () => process.exit(0))

const transportLayer = (): Layer.Layer<Transport.Transport> => {
  switch (transport) {
    case "stdio":
      return StdioClient.layerNode({
        command: process.execPath,
        args: [hostile, "stdio", address]
      })
    case "unix":
      return SocketClient.layerUnix({ path: address })
    case "websocket":
      return WebSocketClient.layerNode({ url: address })
    case "http":
      return StreamableHttpClient.layerNode({ url: address })
    default:
      return HttpSseClient.layerNode({ url: address })
  }
}

const use = Effect.gen(function*() {
  const client = yield* ClientSession.ClientSession
  const round = Effect.gen(function*() {
    const tools = yield* client.listTools({}, { timeout: "2 seconds" })
    for (const { name } of tools.tools) yield* Effect.ignore(client.callTool(name, {}, { timeout: "2 seconds" }))
  })
  const all = Effect.ignore(Effect.timeoutOption(Stream.runDrain(client.tools), "5 seconds"))
  yield* Effect.raceFirst(
    Effect.forever(Effect.andThen(Effect.ignore(Effect.andThen(all, round)), Effect.sleep(20))),
    client.closed
  )
})

const sessions = Effect.forever(Effect.andThen(
  Effect.suspend(() =>
    Effect.ignore(Effect.provide(
      use,
      Layer.provide(
        Layer.fresh(
          ClientSession.layer({
            info: { name: "victim", version: "1.0.0" },
            validator: AjvValidator.make(),
            handlers: {
              "roots/list": () => Effect.succeed({ roots: [] }),
              "notifications/tools/list_changed": () => Effect.void
            }
          })
        ),
        Layer.fresh(transportLayer())
      )
    ))
  ),
  Effect.sleep(200)
))

const bystander = new Bystander()
report(bystander)
Effect.runFork(Bystanders.keepSession(bystander, SocketClient.layerUnix({ path: honest })))
Effect.runFork(sessions)
