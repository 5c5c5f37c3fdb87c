/**
 * Tools that send requests to the client while they run: elicitations, `roots/list` and `ping`.
 */
import type * as ElicitationSchema from "@effect-mcp/protocol/ElicitationSchema"
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as McpRequest from "@effect-mcp/server/McpRequest"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Notes } from "../notes.ts"
import * as Roots from "../roots.ts"
import * as Hints from "./hints.ts"
import { find, Name, NoSuchNote } from "./notes.ts"

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

/** The form of the subjects of a note. */
const Subjects = Schema.Struct({
  subjects: Schema.Array(Schema.Literals(["home", "letters", "sea", "work"])).check(Schema.isMinLength(1))
    .annotate({ title: "Subjects" })
})

const ClientRequestTools = McpGroup.make(
  "client-requests",
  Tool.make("erase", {
    description: "Erases a note if the user agrees.",
    parameters: Schema.Struct({ name: Name }),
    success: Schema.String,
    failure: NoSuchNote
  }).annotateMerge(Hints.changing).annotate(Tool.Destructive, true).annotate(Tool.Title, "Erase"),
  Tool.make("classify", {
    description: "Asks the user for the subjects of a note, and adds them to the note.",
    parameters: Schema.Struct({ name: Name }),
    success: Schema.String,
    failure: NoSuchNote
  }).annotateMerge(Hints.changing).annotate(Tool.Destructive, false).annotate(Tool.Title, "Classify"),
  Tool.make("roots", {
    description: "Returns the roots of the client.",
    success: Schema.Struct({
      roots: Schema.Array(Schema.Struct({ uri: Schema.String, name: Schema.optionalKey(Schema.String) }))
    })
  }).annotateMerge(Hints.reading).annotate(Tool.Title, "Roots"),
  Tool.make("status", {
    description: "Describes the client, and sends it a ping.",
    success: Schema.Struct({
      client: Schema.String,
      revision: Schema.String,
      capabilities: Schema.Array(Schema.String),
      isAlive: Schema.Boolean
    })
  }).annotateMerge(Hints.reading).annotate(Tool.Title, "Status")
)

export const layer = ClientRequestTools.toLayer((handlers) =>
  handlers
    .tool(
      "erase",
      Effect.fnUntraced(function*({ name }) {
        const { erase } = yield* Notes
        yield* find(name)
        // The title and the default of a choice need a form that is written by hand.
        const { action, content } = yield* RequestContext.elicit({
          message: `Erase the note “${name}”?`,
          requestedSchema: eraseForm(name)
        })
        // The user can also decline the request, or cancel it (ELI-09).
        if (action !== "accept" || content?.["sure"] !== true) return `The note “${name}” was not erased: ${action}.`
        const existed = yield* erase(name)
        return existed
          ? `The note “${name}” is erased: ${content["reason"]}.`
          : `The note “${name}” was already erased.`
      })
    )
    .tool(
      "classify",
      Effect.fnUntraced(function*({ name }) {
        const { write } = yield* Notes
        const note = yield* find(name)
        const { subjects } = yield* McpRequest.elicit(`What is “${name}” about?`, Subjects)
        yield* write(name, `${note.text}\n\n${subjects.map((subject) => `#${subject}`).join(" ")}`)
        return `The note “${name}” is about: ${subjects.join(", ")}.`
      }, (classified, { name }) =>
        Effect.catchTags(classified, {
          ElicitationDeclinedError: () => Effect.succeed(`The note “${name}” was not changed: decline.`),
          ElicitationCancelledError: () => Effect.succeed(`The note “${name}” was not changed: cancel.`)
        }))
    )
    .tool(
      "roots",
      () => Effect.map(Roots.ofClient, (roots) => ({ roots }))
    )
    .tool(
      "status",
      Effect.fnUntraced(function*() {
        const { profile, request } = yield* RequestContext.RequestContext
        yield* request("ping", {})
        return {
          client: `${profile.info?.name} ${profile.info?.version}`,
          revision: profile.revision,
          capabilities: Object.keys(profile.capabilities).toSorted(),
          isAlive: true
        }
      })
    )
)
