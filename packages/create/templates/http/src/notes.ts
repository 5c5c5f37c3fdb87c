/** The tools of this server: notes, of which each user has their own. Replace them with yours. */
import { McpError, McpGroup, McpMiddleware, McpRequest } from "@effect-mcp/server"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"

/** The user whose token the request has. */
class User extends Context.Service<User, { readonly id: string }>()("app/User") {}

class SignedIn extends McpMiddleware.Service<SignedIn, { provides: User }>()("app/SignedIn") {}

const SignedInLive = McpMiddleware.layer(
  SignedIn,
  User,
  Effect.flatMap(McpRequest.McpRequest, ({ principal }) =>
    principal === undefined
      ? Effect.fail(McpError.invalidRequest("sign in first"))
      : Effect.succeed({ id: principal.id }))
)

export const Notes = McpGroup.make(
  "notes",
  Tool.make("add_note", {
    description: "Adds a note",
    parameters: Schema.Struct({ text: Schema.NonEmptyString.check(Schema.isMaxLength(10_000)) }),
    success: Schema.Struct({ count: Schema.Int })
  }).annotate(Tool.Destructive, false),
  Tool.make("list_notes", {
    description: "Lists the notes of the user",
    success: Schema.Struct({ notes: Schema.Array(Schema.String) })
  }).annotate(Tool.Readonly, true)
).middleware(SignedIn)

export const NotesLive = Notes.toLayer(Effect.fnUntraced(function*(handlers) {
  // Replace it with your database: the notes of this process are gone when it ends.
  const notes = yield* Ref.make<ReadonlyMap<string, ReadonlyArray<string>>>(new Map())
  const notesOf = (id: string) => Effect.map(Ref.get(notes), (all) => all.get(id) ?? [])
  return handlers
    .tool(
      "add_note",
      Effect.fnUntraced(function*({ text }) {
        const { id } = yield* User
        yield* Ref.update(notes, (all) => new Map([...all, [id, [...all.get(id) ?? [], text]]]))
        return { count: (yield* notesOf(id)).length }
      })
    )
    .tool("list_notes", () =>
      Effect.gen(function*() {
        return { notes: yield* notesOf((yield* User).id) }
      }))
})).pipe(Layer.provide(SignedInLive))
