/** The agent with a model that follows a script, and with the server of the notes in a process of its own. */
import { McpClients, McpTarget } from "@effect-mcp/client/node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import { fileURLToPath } from "node:url"
import { answer } from "../src/agent.ts"
import { type Call, Consent } from "../src/Consent.ts"
import * as ScriptedModel from "../src/ScriptedModel.ts"

const info = { name: "test", version: "1.0.0" }

const notes = fileURLToPath(new URL("../src/notes.ts", import.meta.url))

const servers = McpClients.layer({ notes: McpTarget.command(process.execPath, [notes]) }, {
  info,
  names: "model",
  listWaitTimeout: "30 seconds"
})

/** A person who answers each question alike, and what the person was asked. */
const person = Effect.fnUntraced(function*(permits: boolean) {
  const asked = yield* Ref.make<ReadonlyArray<Call>>([])
  const layer = Layer.succeed(Consent, {
    ask: (call) => Effect.as(Ref.update(asked, (calls) => [...calls, call]), permits)
  })
  return { asked: Ref.get(asked), layer }
})

const note = { name: "notes__add", params: { text: "tea" } }

/** A model that adds a note, lists the notes, and answers with the last result of a tool. */
const model = ScriptedModel.layer([
  [note],
  [{ name: "notes__list", params: {} }],
  (prompt) => ScriptedModel.resultsIn(prompt).at(-1) ?? "no result"
])

describe("the agent", () => {
  it.live("runs a tool that the person permits, and does not ask for one that only reads", () =>
    Effect.gen(function*() {
      const { asked, layer } = yield* person(true)
      const text = yield* Effect.provide(answer("Remember tea"), [servers, layer, model])
      assert.strictEqual(text, "{\"notes\":[\"tea\"]}")
      assert.deepStrictEqual(yield* asked, [{ name: note.name, input: note.params }])
    }))

  it.live("does not run a tool that the person refuses", () =>
    Effect.gen(function*() {
      const { asked, layer } = yield* person(false)
      const text = yield* Effect.provide(answer("Remember tea"), [servers, layer, model])
      assert.strictEqual(text, "{\"notes\":[]}")
      assert.lengthOf(yield* asked, 1)
    }))

  it.live("runs no call whose id another call has, because the person could be shown the other one", () =>
    Effect.gen(function*() {
      const { asked, layer } = yield* person(true)
      const other = { name: "notes__add", params: { text: "coffee" } }
      const ambiguous = ScriptedModel.layer([[{ ...note, id: "1" }, { ...other, id: "1" }], "done"])
      const error = yield* Effect.flip(Effect.provide(answer("Remember tea"), [servers, layer, ambiguous]))
      assert.strictEqual(error._tag, "AmbiguousCallsError")
      assert.deepStrictEqual(yield* asked, [])
    }))

  it.live("names the server that the script of the model needs, if no server has its tool", () =>
    Effect.gen(function*() {
      const { layer } = yield* person(true)
      const others = McpClients.layer({ other: McpTarget.command(process.execPath, [notes]) }, {
        info,
        names: "model",
        listWaitTimeout: "30 seconds"
      })
      const error = yield* Effect.flip(Effect.provide(answer("Remember tea"), [others, layer, model]))
      assert.include(error.message, "the script needs the server \"notes\"; add it to servers.json, or set MODEL_URL")
    }))

  it.live("stops a model that goes on to call tools", () =>
    Effect.gen(function*() {
      const { layer } = yield* person(true)
      const endless = ScriptedModel.layer([[{ name: "notes__list", params: {} }]])
      const error = yield* Effect.flip(Effect.provide(answer("Go on"), [servers, layer, endless]))
      assert.strictEqual(error._tag, "TooManyStepsError")
    }))
})
