/** The client scenarios of the conformance suite, after the handshake. */
import * as ClientSession from "@effect-mcp/session/ClientSession"
import type { RequestError } from "@effect-mcp/session/RequestError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** The failure of a scenario whose server does not behave as the suite specifies. */
export class ScenarioFailed extends Data.TaggedError("ScenarioFailed")<{ readonly message: string }> {}

/** A scenario. The suite's server records and judges it. */
export type Scenario = Effect.Effect<void, RequestError | ScenarioFailed, ClientSession.ClientSession>

/** Returns a tool by name. Fails if the server does not list it. */
const find = Effect.fnUntraced(function*(name: string) {
  const { listTools } = yield* ClientSession.ClientSession
  const { tools } = yield* listTools()
  const tool = tools.find((tool) => tool.name === name)
  return tool ?? (yield* new ScenarioFailed({ message: `the server has no tool ${name}` }))
})

const call = Effect.fnUntraced(function*(name: string, input?: { readonly [name: string]: unknown }) {
  const { callTool } = yield* ClientSession.ClientSession
  const { content, isError } = yield* callTool(name, input)
  if (isError === true) {
    return yield* new ScenarioFailed({ message: `the tool ${name} failed: ${JSON.stringify(content)}` })
  }
})

const listAndCall = (name: string, input?: { readonly [name: string]: unknown }): Scenario =>
  Effect.andThen(find(name), call(name, input))

/** Lists everything, and uses the first of each kind. */
const useEverything: Scenario = Effect.gen(function*() {
  const session = yield* ClientSession.ClientSession
  const { tools: [tool] } = yield* session.listTools()
  if (tool !== undefined) yield* call(tool.name)
  const { resources: [resource] } = yield* session.listResources()
  if (resource !== undefined) yield* session.readResource(resource.uri)
  const { prompts: [prompt] } = yield* session.listPrompts()
  if (prompt !== undefined) yield* session.getPrompt(prompt.name)
})

/** Calls each tool that the server lists and the client accepts. */
const callEach: Scenario = Effect.gen(function*() {
  const session = yield* ClientSession.ClientSession
  const { tools } = yield* session.listTools()
  yield* Effect.forEach(tools, ({ name }) => call(name, {}), { discard: true })
})

const decodeContext = Schema.decodeEffect(Schema.fromJsonString(Schema.Struct({
  toolCalls: Schema.optionalKey(Schema.Array(Schema.Struct({
    name: Schema.String,
    arguments: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
  })))
})))

/** Lists the tools, and makes the calls that the suite demands. */
const callAsDemanded = (context: string): Scenario =>
  Effect.gen(function*() {
    const { toolCalls = [] } = yield* Effect.mapError(
      decodeContext(context),
      (error) => new ScenarioFailed({ message: `MCP_CONFORMANCE_CONTEXT is invalid: ${error.message}` })
    )
    const session = yield* ClientSession.ClientSession
    yield* session.listTools()
    yield* Effect.forEach(toolCalls, (made) => call(made.name, made.arguments), { discard: true })
  })

/** Lists the tools, if the server declares that it has any. */
const listTools: Scenario = Effect.flatMap(
  ClientSession.ClientSession,
  (session) => session.profile.capabilities.tools === undefined ? Effect.void : Effect.asVoid(session.listTools())
)

/** Returns all scenarios by name. One of them depends on the context that the suite passes as JSON. */
const scenarios = (context: string): ReadonlyMap<string, Scenario> =>
  new Map<string, Scenario>([
    // The servers of these two scenarios declare no tools.
    ["initialize", listTools],
    ["request-metadata", listTools],
    ["tools_call", listAndCall("add_numbers", { a: 5, b: 3 })],
    ["elicitation-sep1034-client-defaults", listAndCall("test_client_elicitation_defaults")],
    ["sse-retry", listAndCall("test_reconnection")],
    ["json-schema-ref-no-deref", listTools],
    ["http-standard-headers", useEverything],
    ["http-custom-headers", callAsDemanded(context)],
    ["http-invalid-tool-headers", callEach],
    [
      "sep-2322-client-request-state",
      Effect.andThen(
        listTools,
        Effect.forEach(
          ["test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"],
          (name) => call(name, {}),
          { discard: true }
        )
      )
    ],
    [
      "json-schema-2020-12-preservation",
      Effect.flatMap(
        find("json_schema_2020_12_tool"),
        ({ inputSchema }) => call("json_schema_echo", { schema: inputSchema })
      )
    ]
  ])

/** Lists the tools and uses one, more than once: some servers change after the first call. */
const useProtected: Scenario = Effect.gen(function*() {
  yield* find("test-tool")
  yield* call("test-tool", {})
  yield* call("test-tool", {})
})

/** Returns a scenario by name, with the context that the suite passes as JSON. Fails if there is none. */
export const named = (name: string, context: string): Scenario => {
  const all = scenarios(context)
  if (name.startsWith("auth/")) return useProtected
  return all.get(name) ??
    Effect.fail(
      new ScenarioFailed({ message: `"${name}" is not one of the scenarios ${Array.from(all.keys()).join(", ")}` })
    )
}
