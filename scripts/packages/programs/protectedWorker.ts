/** A server for workers that accepts the tokens of an issuer, with the metadata by which clients find it. */
import { ResourceServer } from "@effect-mcp/auth"
import { McpServer } from "@effect-mcp/server"
import { StreamableHttpServer } from "@effect-mcp/transport"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { greetings, info } from "./worker.ts"

/** The path of the server. */
export const path = "/protected"

/** Returns the handler of requests. */
export const handlerOf = (issuer: string): (request: Request) => Promise<Response> => {
  const auth = ResourceServer.layer({
    resource: ({ host }) => host === undefined ? undefined : `http://${host}${path}`,
    issuers: [issuer],
    requiredScopes: ["greet"]
  })
  const routes = Layer.mergeAll(StreamableHttpServer.layer({ path, allowedOrigins: ["*"] }), ResourceServer.routes)
  const app = routes.pipe(
    Layer.provide(auth),
    Layer.provide(McpServer.layerHost(greetings, { info })),
    Layer.provideMerge(HttpServer.layerServices)
  )
  const { handler } = HttpRouter.toWebHandler(app, { disableLogger: true })
  return (request) => handler(request)
}
