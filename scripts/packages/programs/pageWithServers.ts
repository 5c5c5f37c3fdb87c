/** A host for web pages: it calls a tool of one of its servers, which it supervises. */
import { McpClients, McpTarget } from "@effect-mcp/client"
import * as Effect from "effect/Effect"

const info = { name: "page", version: "1.0.0" }

/** Returns the content of the greeting. */
export const greet = (url: string, name: string): Promise<unknown> =>
  Effect.gen(function*() {
    const clients = yield* McpClients.McpClients
    const { content } = yield* clients.client("greeter").callTool("greet", { name })
    return content
  }).pipe(Effect.provide(McpClients.layer({ greeter: McpTarget.url(url) }, { info })), Effect.runPromise)
