/**
 * What the scenarios of the conformance suite have a client do, once it is connected.
 */
import * as ClientSession from "@effect-mcp/session/ClientSession"
import type { RequestError } from "@effect-mcp/session/RequestError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/** The suite's server did not do what its scenario says, so there was nothing to try. */
export class ScenarioFailed extends Data.TaggedError("ScenarioFailed")<{ readonly message: string }> {}

/** One scenario. The suite's server watches, and judges. */
export type Scenario = Effect.Effect<void, RequestError | ScenarioFailed, ClientSession.ClientSession>

/** The tool of this name, which the server has to offer. */
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
  // Its server has no tools and says so.
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

/** The scenario of this name. Fails where there is none. */
export const named = (name: string): Scenario =>
  scenarios.get(name) ??
    Effect.fail(
      new ScenarioFailed({ message: `"${name}" is none of ${Array.from(scenarios.keys()).join(", ")}` })
    )
