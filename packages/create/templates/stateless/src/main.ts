/** The server as a program on Node: serves until it is told to stop, with the settings of the environment. */
import { StatelessHttpServer } from "@effect-mcp/transport/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { formatAddress, HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { authentication, handlers, options } from "./server.ts"

const settings = Config.all({
  port: Config.withDefault(Config.Int("PORT"), 3000),
  hostname: Config.withDefault(Config.String("HOST"), "127.0.0.1")
})

const server = Effect.gen(function*() {
  return StatelessHttpServer.layerNode(yield* handlers, { ...options, ...yield* settings })
})

const main = Layer.unwrap(server).pipe(
  Layer.tap((context) => Console.log(`listening at ${formatAddress(Context.get(context, HttpServer).address)}/mcp`)),
  Layer.provide(authentication)
)

NodeRuntime.runMain(Layer.launch(main))
