/** The calls of clients that run on every platform. */
import { McpClients, McpTarget } from "@effect-mcp/client"
import { ClientSession, type Transport } from "@effect-mcp/session"
import { StreamableHttpClient, WebSocketClient } from "@effect-mcp/transport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const info = { name: "caller", version: "1.0.0" }

/** Checks the result of a call. */
const check = ({ content }: { readonly content: ReadonlyArray<unknown> }): Effect.Effect<void> =>
  JSON.stringify(content).includes("Hello, Ada!")
    ? Effect.void
    : Effect.die(new Error(`the call returned ${JSON.stringify(content)}`))

/** Calls the greeter over a transport. */
export const over = (transport: Layer.Layer<Transport.Transport>) =>
  Effect.flatMap(ClientSession.ClientSession, ({ callTool }) => callTool("greet", { name: "Ada" })).pipe(
    Effect.flatMap(check),
    Effect.provide(ClientSession.layer({ info }).pipe(Layer.provide(transport)))
  )

/** Calls the greeter at a target. */
export const at = <E>(target: McpTarget.McpTarget<E>) =>
  Effect.flatMap(McpClients.McpClients, ({ client }) => client("greeter").callTool("greet", { name: "Ada" })).pipe(
    Effect.flatMap(check),
    Effect.provide(McpClients.layer({ greeter: target }, { info }))
  )

/** The calls by name, at a server of HTTP and one of WebSocket. */
export const everywhere: Readonly<Record<string, (http: string, ws: string) => Effect.Effect<void, unknown>>> = {
  "HTTP client `layerFetch`": (http) => over(StreamableHttpClient.layerFetch({ url: http })),
  "WebSocket client `layerGlobal`": (_, ws) => over(WebSocketClient.layerGlobal({ url: ws })),
  "`McpClients` with a URL": (http) => at(McpTarget.url(http))
}
