/**
 * A server over stdio that is somewhere else: `node packages/examples/src/proxy.ts URL` passes what it is told on to the server at this
 * URL, over Streamable HTTP, and what that says back. So whatever starts a child process reaches a server by its URL.
 */
import { Transport } from "@effect-mcp/session"
import * as StdioServer from "@effect-mcp/transport/StdioServer"
import * as StreamableHttpClient from "@effect-mcp/transport/StreamableHttpClient"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as JoinedTransports from "./joinedTransports.ts"

/** A connection over this transport. Both are there until the scope closes. */
const connection = <E>(transport: Layer.Layer<Transport.Transport, E>) =>
  Effect.flatMap(Layer.build(transport), (context) => Context.get(context, Transport.Transport).connect)

/** Joins this process's standard streams with the server. */
const proxy = (url: string) =>
  Effect.gen(function*() {
    const back = yield* connection(StreamableHttpClient.layerNode({ url }))
    const front = yield* connection(StdioServer.layerNode)
    yield* JoinedTransports.join(front, back, (problem) => console.error(problem))
  }).pipe(Effect.scoped)

const [url] = process.argv.slice(2)
if (url === undefined || !URL.canParse(url)) {
  console.error("usage: proxy.ts URL")
  process.exitCode = 2
} else {
  StdioServer.runMain(Effect.tapError(proxy(url), (error) => Console.error(error.message)))
}
