import { McpServer } from "@effect-mcp/server"
import { RequestStateSeal } from "@effect-mcp/session"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { HttpRouter } from "effect/http"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { layerHttpServer, quiet } from "../effectHttp.ts"
import { info } from "../tools.ts"

export { description } from "../../../applications/Application.ts"

/** The parameters and the result of every tool. */
export const parameters = Schema.Struct({ a: Schema.Finite, b: Schema.Finite })
export const success = Schema.Struct({ sum: Schema.Finite })

/** Serves groups to both eras. */
export const serve = (groups: Layer.Layer<never, never, McpServer.McpServer>): void => {
  const host = McpServer.layerHost(groups, {
    info,
    // Unlimited, because the other servers have no limit.
    sessions: { max: Number.POSITIVE_INFINITY }
  })
  const application = StreamableHttpServer.layer().pipe(
    Layer.provide(host),
    Layer.provide(Authentication.anonymous),
    Layer.provide(RequestStateSeal.layer({ secrets: [Redacted.make("a secret of at least 32 characters")] }))
  )
  NodeRuntime.runMain(Layer.launch(HttpRouter.serve(application, quiet).pipe(Layer.provide(layerHttpServer))))
}
