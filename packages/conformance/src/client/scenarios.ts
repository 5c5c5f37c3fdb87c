/** The client scenarios of the conformance suite, after the handshake. */
import * as ClientSession from "@effect-mcp/session/ClientSession"
import type { RequestError } from "@effect-mcp/session/RequestError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

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

const scenarios: ReadonlyMap<string, Scenario> = new Map<string, Scenario>([
  // The server of this scenario declares no tools.
  [
    "initialize",
    Effect.flatMap(
      ClientSession.ClientSession,
      ({ listTools, profile }) => profile.capabilities.tools === undefined ? Effect.void : Effect.asVoid(listTools())
    )
  ],
  ["tools_call", listAndCall("add_numbers", { a: 5, b: 3 })],
  ["elicitation-sep1034-client-defaults", listAndCall("test_client_elicitation_defaults")],
  ["sse-retry", listAndCall("test_reconnection")],
  [
    "json-schema-2020-12-preservation",
    Effect.flatMap(
      find("json_schema_2020_12_tool"),
      ({ inputSchema }) => call("json_schema_echo", { schema: inputSchema })
    )
  ]
])

/** Returns a scenario by name. Fails if there is none. */
export const named = (name: string): Scenario =>
  scenarios.get(name) ??
    Effect.fail(
      new ScenarioFailed({
        message: `"${name}" is not one of the scenarios ${Array.from(scenarios.keys()).join(", ")}`
      })
    )
