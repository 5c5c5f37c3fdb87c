/**
 * Tools that ask the client something before they answer: its user, or where it lets this server work.
 */
import type * as ElicitationSchema from "@effect-mcp/protocol/ElicitationSchema"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Tool from "../../tool.ts"
import { Notes } from "../notes.ts"
import * as Places from "../places.ts"
import { find, Name } from "./writing.ts"

const reasons = [
  { const: "done", title: "It is done with" },
  { const: "wrong", title: "It was never true" }
]

const eraseForm = (name: string): ElicitationSchema.ElicitationSchema => ({
  type: "object",
  properties: {
    sure: { type: "boolean", title: "Sure?", description: `Whether “${name}” may be erased`, default: false },
    reason: { type: "string", title: "Reason", oneOf: reasons, default: "done" },
    farewell: { type: "string", title: "Last words", maxLength: 80 }
  },
  required: ["sure"]
})

const erase = Tool.make("erase", {
  title: "Erase",
  description: "Erases a note, if the user says so.",
  annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
  input: Schema.Struct({ name: Name }),
  run: Effect.fnUntraced(function*({ name }) {
    const { erase } = yield* Notes
    yield* find(name)
    const { action, content } = yield* RequestContext.elicit({
      message: `Erase the note “${name}”?`,
      requestedSchema: eraseForm(name)
    })
    // The user may say no, or go away (ELI-09).
    if (action !== "accept" || content?.["sure"] !== true) return `The note “${name}” stays: ${action}.`
    const wasThere = yield* erase(name)
    return wasThere ? `The note “${name}” is erased: ${content["reason"]}.` : `The note “${name}” was gone already.`
  })
})

const classify = Tool.make("classify", {
  title: "Classify",
  description: "Asks the user what a note is about, and writes the answers below it.",
  annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  input: Schema.Struct({ name: Name }),
  run: Effect.fnUntraced(function*({ name }) {
    const { write } = yield* Notes
    const note = yield* find(name)
    const { action, content } = yield* RequestContext.elicit({
      message: `What is “${name}” about?`,
      requestedSchema: {
        type: "object",
        properties: {
          subjects: {
            type: "array",
            title: "Subjects",
            items: { type: "string", enum: ["home", "letters", "sea", "work"] },
            minItems: 1
          }
        },
        required: ["subjects"]
      }
    })
    const subjects = content?.["subjects"]
    if (action !== "accept" || !Array.isArray(subjects)) return `The note “${name}” is as it was: ${action}.`
    yield* write(name, `${note.text}\n\n${subjects.map((subject) => `#${subject}`).join(" ")}`)
    return `The note “${name}” is about: ${subjects.join(", ")}.`
  })
})

const places = Tool.make("places", {
  title: "Places",
  description: "Names the places in which the client lets this server work.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: Schema.Struct({}),
  output: Schema.Struct({
    places: Schema.Array(Schema.Struct({ uri: Schema.String, name: Schema.optionalKey(Schema.String) }))
  }),
  run: Effect.fnUntraced(function*() {
    const { profile } = yield* RequestContext.RequestContext
    const known = yield* Places.known(profile)
    return Tool.structured({ places: known ?? (yield* Places.ask(profile, RequestContext.listRoots())) })
  })
})

const status = Tool.make("status", {
  title: "Status",
  description: "Says who is at the other end, and whether it answers a ping.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: Schema.Struct({}),
  output: Schema.Struct({
    client: Schema.String,
    revision: Schema.String,
    capabilities: Schema.Array(Schema.String),
    answers: Schema.Boolean
  }),
  run: Effect.fnUntraced(function*() {
    const { profile, request } = yield* RequestContext.RequestContext
    yield* request("ping", {})
    return Tool.structured({
      client: `${profile.info?.name} ${profile.info?.version}`,
      revision: profile.revision,
      capabilities: Object.keys(profile.capabilities).toSorted(),
      answers: true
    })
  })
})

export const tools = [erase, classify, places, status]
