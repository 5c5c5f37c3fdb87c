/** Servers to proxy, and clients of the proxy. */
import { Content, McpError, Prompt } from "@effect-mcp/protocol"
import { McpGroup, McpPrompt, McpRequest, McpResource, McpServer, McpTool } from "@effect-mcp/server"
import { ClientSession, type Handlers, MemoryTransport, SessionHost, Transport } from "@effect-mcp/session"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { info } from "../../../server/test/support/connect.ts"

/** The session of a client. */
export type Client = ClientSession.ClientSessionShape

/** A server with everything. */
export const Everything = McpGroup.make(
  "everything",
  Tool.make("add", {
    description: "Adds",
    parameters: Schema.Struct({ a: Schema.Finite, b: Schema.Finite }),
    success: Schema.Struct({ sum: Schema.Finite })
  }),
  Tool.make("fail", { failure: Schema.Struct({ why: Schema.String }) }),
  Tool.make("reject"),
  Tool.make("content", { success: McpTool.Content }),
  McpResource.make("one", { uri: "app://one", mimeType: "text/plain", size: 3 }),
  McpResource.make("bytes", { uri: "app://bytes" }),
  McpResource.template("item", { uri: "app://items/{id}", parameters: { id: Schema.FiniteFromString } }),
  McpPrompt.make("plan", { description: "Plans", arguments: { day: Schema.Literals(["monday", "sunday"]) } })
)

/** The implementation of {@link Everything}. */
export const EverythingLive = Everything.toLayer((handlers) =>
  handlers
    .tool("add", ({ a, b }) => Effect.succeed({ sum: a + b }))
    .tool("fail", () => Effect.fail({ why: "no reason" }))
    .tool("reject", () => Effect.fail(McpError.received({ code: -32077, message: "rejected", data: { a: [1] } })))
    .tool("content", () =>
      Effect.succeed([
        Content.text("text"),
        Content.image(new Uint8Array([1, 2]), "image/png"),
        Content.link({ uri: "app://items/7", name: "seven" })
      ]))
    .resource("one", Effect.succeed("one"))
    .resource("bytes", Effect.succeed(new Uint8Array([1, 2, 3])))
    .template("item", ({ id }) => Effect.succeed(`item ${id}`), {
      complete: { id: () => Effect.succeed(["7", "8"]) }
    })
    .prompt("plan", ({ day }) => Effect.succeed([Prompt.user(day), Prompt.assistant("ok")]))
)

/** The transport to a server with everything. */
export const everything = McpServer.layerMemory(EverythingLive, { info })

/** A tool in a list. */
export const tool = (name: string) => ({ name, inputSchema: { type: "object" as const } })

/** Opens sessions of clients with one host of the proxy, by their principals. A client without an id is anonymous. */
export const clients = Effect.fnUntraced(function*<E>(proxy: Layer.Layer<never, E, McpServer.McpServer>) {
  const host = Context.get(yield* Layer.build(McpServer.layerHost(proxy, { info })), SessionHost.SessionHost)
  return Effect.fnUntraced(function*(
    id?: string,
    options: Partial<ClientSession.Options<Handlers.Handlers<"server">>> = {}
  ) {
    const principal = id === undefined ? undefined : { id }
    const pair = yield* MemoryTransport.make({ principal })
    yield* Effect.orDie(host.open(pair.server, { kind: "memory", principal }))
    return yield* Effect.provideService(ClientSession.make({ info, ...options }), Transport.Transport, pair.client)
  })
})

/** The handlers of a client whose user and model say its name. */
export const answering = (name: string): Handlers.Handlers<"server"> => ({
  "elicitation/create": () => Effect.succeed({ action: "accept", content: { name } }),
  "sampling/createMessage": () =>
    Effect.succeed({ role: "assistant", model: "test", content: Content.text(`model of ${name}`) }),
  "roots/list": () => Effect.succeed({ roots: [{ uri: `file:///${name}` }] })
})

/** A server whose tool asks its client everything, when the test lets it. */
export const asking = (gate: Effect.Effect<unknown> = Effect.void) =>
  McpServer.layerMemory(
    McpGroup.make("asking", Tool.make("ask", { success: Schema.Array(Schema.String) })).toLayer((handlers) =>
      handlers.tool("ask", () =>
        Effect.gen(function*() {
          yield* gate
          const { name } = yield* McpRequest.elicit("Who?", Schema.Struct({ name: Schema.String }))
          const { text } = yield* McpRequest.sample("Who?", { maxTokens: 10 })
          const roots = yield* McpRequest.roots()
          return [name, text, ...roots]
        }))
    ),
    { info }
  )

/** Returns the answers of a client to the tool of `asking`, as every revision has them, or the messages of errors. */
export const answersOf = (client: Client) =>
  Effect.map(
    client.callTool("ask"),
    ({ content, isError }) =>
      isError === true ? content.map((block) => block.type === "text" ? block.text : "") : content
  )
