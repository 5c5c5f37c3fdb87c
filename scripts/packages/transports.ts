/** The greeting of the README over each transport with a URL, for requests with a bearer token. */
import { McpServer } from "@effect-mcp/server"
import { Authentication, HttpSseServer, StreamableHttpServer, WebSocketServer } from "@effect-mcp/transport/node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Worker from "./programs/worker.ts"

/** The token of the requests that the servers accept. */
export const token = "adas-secret"

const servers = {
  "http://127.0.0.1:PORT/mcp": StreamableHttpServer.layerNode({ port: 0 }),
  "http://127.0.0.1:PORT/sse": HttpSseServer.layerNode({ port: 0 }),
  "ws://127.0.0.1:PORT/mcp": WebSocketServer.layerNode({ port: 0 })
}

const host = Layer.merge(
  McpServer.layerHost(Worker.greetings, { info: Worker.info }),
  Authentication.layerBearer({
    verify: (sent) => Effect.succeed(Redacted.value(sent) === token ? { id: "ada" } : undefined)
  })
)

/** Starts a server of each transport, one after the other, and passes its URL to a function. */
export const forEach = async (call: (url: string) => Promise<unknown>): Promise<void> => {
  for (const [url, server] of Object.entries(servers)) {
    await Effect.gen(function*() {
      const { address } = Context.get(yield* Layer.build(Layer.provide(server, host)), HttpServer)
      const port = "port" in address ? address.port : 0
      yield* Effect.promise(() => call(url.replace("PORT", String(port))))
    }).pipe(Effect.scoped, Effect.runPromise)
  }
}
