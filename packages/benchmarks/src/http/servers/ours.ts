import { RequestContext, SessionHost } from "@effect-mcp/session"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import { HttpRouter } from "effect/http"
import * as Layer from "effect/Layer"
import { layerHttpServer, quiet } from "./effectHttp.ts"
import { burst, info, logged, mode, resultOf } from "./tools.ts"

const nextTurn = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

const flood = Effect.gen(function*() {
  for (let said = 0; said < burst; said++) yield* RequestContext.log(logged)
  yield* nextTurn
}).pipe(Effect.forever)

const host = SessionHost.layer({
  "tools/call": (params) => params.name === "flood" ? flood : Effect.succeed(resultOf(params))
}, {
  info,
  // Unlimited, because the other servers have no limit.
  sessions: { max: Number.POSITIVE_INFINITY }
})

const responseMode = mode === "json" || mode === "stream" ? mode : "adaptive"

const application = StreamableHttpServer.layer({ responseMode }).pipe(
  Layer.provide(host),
  Layer.provide(Authentication.anonymous)
)

NodeRuntime.runMain(Layer.launch(HttpRouter.serve(application, quiet).pipe(Layer.provide(layerHttpServer))))
