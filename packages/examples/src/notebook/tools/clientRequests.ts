/**
 * Tools that send requests to the client while they run: elicitations, `roots/list` and `ping`.
 */
import type * as ElicitationSchema from "@effect-mcp/protocol/ElicitationSchema"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Tool from "../../tool.ts"
import { Notes } from "../notes.ts"
import * as Roots from "../roots.ts"
import { find, Name } from "./notes.ts"

const reasons = [
  { const: "done", title: "It is no longer needed" },
  { const: "wrong", title: "It is wrong" }
]

const eraseForm = (name: string): ElicitationSchema.ElicitationSchema => ({
  type: "object",
  properties: {
    sure: { type: "boolean", title: "Sure?", description: `Whether to erase “${name}”`, default: false },
    reason: { type: "string", title: "Reason", oneOf: reasons, default: "done" },
    farewell: { type: "string", title: "Last words", maxLength: 80 }
  },
  required: ["sure"]
})

const erase = Tool.make("erase", {
  title: "Erase",
  description: "Erases a note if the user agrees.",
  annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
  input: Schema.Struct({ name: Name }),
  run: Effect.fnUntraced(function*({ name }) {
    const { erase } = yield* Notes
    yield* find(name)
    const { action, content } = yield* RequestContext.elicit({
      message: `Erase the note “${name}”?`,
      requestedSchema: eraseForm(name)
    })
    // The user can also decline the request, or cancel it (ELI-09).
    if (action !== "accept" || content?.["sure"] !== true) return `The note “${name}” was not erased: ${action}.`
    const existed = yield* erase(name)
    return existed ? `The note “${name}” is erased: ${content["reason"]}.` : `The note “${name}” was already erased.`
  })
})

const classify = Tool.make("classify", {
  title: "Classify",
  description: "Asks the user for the subjects of a note, and adds them to the note.",
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
    if (action !== "accept" || !Array.isArray(subjects)) return `The note “${name}” was not changed: ${action}.`
    yield* write(name, `${note.text}\n\n${subjects.map((subject) => `#${subject}`).join(" ")}`)
    return `The note “${name}” is about: ${subjects.join(", ")}.`
  })
})

const roots = Tool.make("roots", {
  title: "Roots",
  description: "Returns the roots of the client.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: Schema.Struct({}),
  output: Schema.Struct({
    roots: Schema.Array(Schema.Struct({ uri: Schema.String, name: Schema.optionalKey(Schema.String) }))
  }),
  run: Effect.fnUntraced(function*() {
    const { profile } = yield* RequestContext.RequestContext
    const cached = yield* Roots.cached(profile)
    return Tool.structured({ roots: cached ?? (yield* Roots.request(profile, RequestContext.listRoots())) })
  })
})

const status = Tool.make("status", {
  title: "Status",
  description: "Describes the client, and sends it a ping.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: Schema.Struct({}),
  output: Schema.Struct({
    client: Schema.String,
    revision: Schema.String,
    capabilities: Schema.Array(Schema.String),
    isAlive: Schema.Boolean
  }),
  run: Effect.fnUntraced(function*() {
    const { profile, request } = yield* RequestContext.RequestContext
    yield* request("ping", {})
    return Tool.structured({
      client: `${profile.info?.name} ${profile.info?.version}`,
      revision: profile.revision,
      capabilities: Object.keys(profile.capabilities).toSorted(),
      isAlive: true
    })
  })
})

export const tools = [erase, classify, roots, status]
