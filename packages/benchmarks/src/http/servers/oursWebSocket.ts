import { Content } from "@effect-mcp/protocol"
import { SessionHost } from "@effect-mcp/session"
import { Authentication, WebSocketServer } from "@effect-mcp/transport/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import { HttpRouter } from "effect/http"
import * as Layer from "effect/Layer"
import { sum } from "../../peers/tools.ts"
import { layerHttpServer, quiet } from "./effectHttp.ts"
import { info } from "./tools.ts"

const host = SessionHost.layer({
  "tools/call": ({ arguments: input }) => Effect.succeed({ content: [Content.text(sum(input))] })
}, { info })

const application = WebSocketServer.layer().pipe(Layer.provide(host), Layer.provide(Authentication.anonymous))

NodeRuntime.runMain(Layer.launch(HttpRouter.serve(application, quiet).pipe(Layer.provide(layerHttpServer))))
