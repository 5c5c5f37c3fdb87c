import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Layer from "effect/Layer"
import { answer } from "./echo.ts"
import { layerHttpServer, quiet } from "./effectHttp.ts"

const post = Effect.gen(function*() {
  const request = yield* HttpServerRequest.HttpServerRequest
  const { body, id } = answer(yield* request.text)
  if (body === undefined) return HttpServerResponse.empty({ status: 202 })
  return HttpServerResponse.text(body, {
    contentType: "application/json",
    headers: id === undefined ? {} : { "mcp-session-id": id }
  })
})

const routes = Layer.mergeAll(
  HttpRouter.add("POST", "/mcp", post),
  HttpRouter.add("DELETE", "/mcp", HttpServerResponse.empty({ status: 204 }))
)

NodeRuntime.runMain(Layer.launch(HttpRouter.serve(routes, quiet).pipe(Layer.provide(layerHttpServer))))
