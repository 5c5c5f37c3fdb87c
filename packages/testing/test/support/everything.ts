/** A server and a client that answer every request at once. */
import { Content } from "@effect-mcp/protocol"
import type { ClientRequestContext, Handlers, RequestContext } from "@effect-mcp/session"
import * as Effect from "effect/Effect"

/** The name and version of both sides. */
export const info = { name: "test", version: "1.0.0" }

const nothing = Effect.succeed({})

/** The name of a tool that takes a tenth of a second. */
export const slow = "takes a tenth of a second"

/** Every tool returns its arguments. */
export const serverHandlers: Handlers.Handlers<"client", RequestContext.RequestContext> = {
  "tools/list": () => Effect.succeed({ tools: [] }),
  "tools/call": ({ arguments: structuredContent = {}, name }) =>
    Effect.as(name === slow ? Effect.sleep(100) : Effect.void, { content: [Content.text(name)], structuredContent }),
  "resources/list": () => Effect.succeed({ resources: [] }),
  "resources/templates/list": () => Effect.succeed({ resourceTemplates: [] }),
  "resources/read": ({ uri }) => Effect.succeed({ contents: [{ uri, text: uri }] }),
  "resources/subscribe": () => nothing,
  "resources/unsubscribe": () => nothing,
  "prompts/list": () => Effect.succeed({ prompts: [] }),
  "prompts/get": ({ name }) => Effect.succeed({ messages: [], description: name }),
  "completion/complete": ({ argument }) => Effect.succeed({ completion: { values: [argument.value] } }),
  "logging/setLevel": () => nothing
}

export const serverOptions = {
  info,
  capabilities: { logging: {}, resources: { subscribe: true } },
  limits: { gracefulTimeout: 0 }
}

export const clientHandlers: Handlers.Handlers<"server", ClientRequestContext.ClientRequestContext> = {
  "sampling/createMessage": () => Effect.succeed({ role: "assistant", content: Content.text("said"), model: "test" }),
  "elicitation/create": () => Effect.succeed({ action: "decline" }),
  "roots/list": () => Effect.succeed({ roots: [] })
}

export const clientOptions = {
  info,
  handlers: clientHandlers,
  capabilities: { sampling: { tools: {}, context: {} }, elicitation: { form: {}, url: {} } },
  limits: { gracefulTimeout: 0 }
}
