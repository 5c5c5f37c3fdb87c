import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { McpProtocol, McpServer, Tool, Toolkit } from "effect/ai"
import * as Effect from "effect/Effect"
import { HttpRouter } from "effect/http"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { layerHttpServer, quiet } from "./effectHttp.ts"
import { burst, info, logged } from "./tools.ts"

const tools = Toolkit.make(
  Tool.make("add", {
    parameters: Schema.Struct({ a: Schema.Finite, b: Schema.Finite }),
    success: Schema.Finite
  }),
  Tool.make("flood", { success: Schema.String })
)

const nextTurn = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

const handlers = tools.toLayer(Effect.gen(function*() {
  const { notifications } = yield* McpServer.McpServer
  const bursts = Effect.gen(function*() {
    for (let said = 0; said < burst; said++) yield* notifications["notifications/message"](logged)
    yield* nextTurn
  })
  return {
    add: ({ a, b }) => Effect.succeed(a + b),
    flood: () => Effect.as(Effect.orDie(Effect.forever(bursts)), "")
  }
}))

const application = McpServer.layerHttp({
  ...info,
  path: "/mcp",
  protocols: [McpProtocol.v2025_11_25],
  allowSessionTermination: true,
  registrations: McpServer.toolkit(tools).pipe(Layer.provide(handlers))
})

NodeRuntime.runMain(Layer.launch(HttpRouter.serve(application, quiet).pipe(Layer.provide(layerHttpServer))))
