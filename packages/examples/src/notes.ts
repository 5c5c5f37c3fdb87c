/**
 * Notes in an SQLite database, for several users over Streamable HTTP. A user sees only their own notes.
 *
 * ```sh
 * node packages/examples/src/notes.ts 3000 notes.sqlite
 * ```
 *
 * A client connects to `http://127.0.0.1:3000/mcp` with the header `Authorization: Bearer adas-secret`, or with the
 * token `bobs-secret`.
 *
 * The tools create, edit, delete and search notes. A note is also a resource, whose URI is completed and whose changes
 * clients can subscribe to. A prompt asks the model to review a note.
 */
import { Content, McpError, Prompt, Resource } from "@effect-mcp/protocol"
import { McpGroup, McpMiddleware, McpPrompt, McpRequest, McpResource, McpServer } from "@effect-mcp/server"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Tool from "effect/ai/Tool"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { formatAddress, HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { DatabaseSync } from "node:sqlite"

// =====================================================================================================================
// The repository
// =====================================================================================================================

const Title = Schema.NonEmptyString.check(Schema.isMaxLength(200)).annotate({ description: "The title of the note" })

const Text = Schema.String.check(Schema.isMaxLength(100_000)).annotate({ description: "The text, as Markdown" })

const Note = Schema.Struct({ title: Title, text: Text })

class NoSuchNote extends Schema.TaggedError<NoSuchNote>()("NoSuchNote", { title: Schema.String }) {
  override get message() {
    return `There is no note "${this.title}"; search_notes has the titles`
  }
}

class TitleTaken extends Schema.TaggedError<TitleTaken>()("TitleTaken", { title: Schema.String }) {
  override get message() {
    return `There is a note "${this.title}" already; change it with edit_note, or choose another title`
  }
}

/** The notes of all users. Each operation concerns the notes of one owner. A failure of the database is a defect. */
class Notes extends Context.Service<Notes, {
  readonly create: (owner: string, note: typeof Note.Type) => Effect.Effect<void, TitleTaken>
  readonly edit: (owner: string, note: typeof Note.Type) => Effect.Effect<void, NoSuchNote>
  readonly remove: (owner: string, title: string) => Effect.Effect<void, NoSuchNote>
  readonly read: (owner: string, title: string) => Effect.Effect<string, NoSuchNote>
  /** Returns the titles of at most 100 notes that contain the words. */
  readonly search: (owner: string, words: string) => Effect.Effect<ReadonlyArray<string>>
}>()("Notes") {
  static readonly layer = (file: string) =>
    Layer.effect(
      Notes,
      Effect.gen(function*() {
        const db = yield* Effect.acquireRelease(
          Effect.sync(() => new DatabaseSync(file)),
          (db) => Effect.sync(() => db.close())
        )
        db.exec("create table if not exists notes (owner text, title text, text text, primary key (owner, title))")
        const insert = db.prepare("insert into notes values (?, ?, ?) on conflict do nothing")
        const update = db.prepare("update notes set text = ? where owner = ? and title = ?")
        const remove = db.prepare("delete from notes where owner = ? and title = ?")
        const select = db.prepare("select text from notes where owner = ? and title = ?")
        const search = db.prepare(
          "select title from notes where owner = ? and instr(lower(title || ' ' || text), lower(?)) " +
            "order by title limit 100"
        )
        /** Fails unless the statement changed a row. */
        const changing = <E>(run: () => { readonly changes: number | bigint }, error: E): Effect.Effect<void, E> =>
          Effect.suspend(() => Number(run().changes) > 0 ? Effect.void : Effect.fail(error))
        return {
          create: (owner, { text, title }) => changing(() => insert.run(owner, title, text), new TitleTaken({ title })),
          edit: (owner, { text, title }) => changing(() => update.run(text, owner, title), new NoSuchNote({ title })),
          remove: (owner, title) => changing(() => remove.run(owner, title), new NoSuchNote({ title })),
          read: (owner, title) =>
            Effect.suspend(() => {
              const row = select.get(owner, title)
              return row === undefined ? Effect.fail(new NoSuchNote({ title })) : Effect.succeed(String(row["text"]))
            }),
          search: (owner, words) => Effect.sync(() => search.all(owner, words).map(({ title }) => String(title)))
        }
      })
    )
}

// =====================================================================================================================
// The group
// =====================================================================================================================

class CurrentUser extends Context.Service<CurrentUser, { readonly id: string }>()("CurrentUser") {}

class Users extends McpMiddleware.Service<Users, { provides: CurrentUser }>()("Users") {}

const ByTitle = McpResource.template("note", {
  uri: "notes://{owner}/{title}",
  description: "A note by its owner and its title",
  mimeType: "text/markdown"
})

const closed = Context.make(Tool.OpenWorld, false)

const NotesGroup = McpGroup.make(
  "notes",
  Tool.make("create_note", {
    description: "Creates a note.",
    parameters: Note,
    success: Schema.Struct({ uri: Schema.String }),
    failure: TitleTaken
  }).annotateMerge(closed).annotate(Tool.Destructive, false),
  Tool.make("edit_note", { description: "Replaces the text of a note.", parameters: Note, failure: NoSuchNote })
    .annotateMerge(closed).annotate(Tool.Idempotent, true),
  Tool.make("delete_note", {
    description: "Deletes a note.",
    parameters: Schema.Struct({ title: Title }),
    failure: NoSuchNote
  }).annotateMerge(closed),
  Tool.make("search_notes", {
    description: "Finds the notes whose title or text contains these words.",
    parameters: Schema.Struct({ words: Schema.String }),
    success: Schema.Struct({ titles: Schema.Array(Schema.String) })
  }).annotateMerge(closed).annotate(Tool.Readonly, true),
  ByTitle,
  McpPrompt.make("review", {
    description: "Asks for a review of a note, and contains the note",
    arguments: { title: Title, focus: Schema.optionalKey(Schema.Literals(["style", "facts", "gaps"])) }
  })
).middleware(Users)

const NotesLive = NotesGroup.toLayer(Effect.fnUntraced(function*(handlers) {
  const notes = yield* Notes
  const server = yield* McpServer.McpServer
  const uriOf = (owner: string, title: string) => ByTitle.uriTemplate.expand({ owner, title })
  const titles = () => Effect.flatMap(CurrentUser, ({ id }) => notes.search(id, ""))
  const changed = (owner: string, title: string) => server.resourceUpdated(uriOf(owner, title))
  return handlers
    .tool(
      "create_note",
      Effect.fnUntraced(function*(note) {
        const { id } = yield* CurrentUser
        yield* notes.create(id, note)
        return { uri: uriOf(id, note.title) }
      })
    )
    .tool(
      "edit_note",
      Effect.fnUntraced(function*(note) {
        const { id } = yield* CurrentUser
        yield* notes.edit(id, note)
        yield* changed(id, note.title)
      })
    )
    .tool(
      "delete_note",
      Effect.fnUntraced(function*({ title }) {
        const { id } = yield* CurrentUser
        yield* notes.remove(id, title)
        yield* changed(id, title)
      })
    )
    .tool(
      "search_notes",
      Effect.fnUntraced(function*({ words }) {
        const { id } = yield* CurrentUser
        return { titles: yield* notes.search(id, words) }
      })
    )
    .template(
      "note",
      Effect.fnUntraced(function*({ owner, title }, uri) {
        const { id } = yield* CurrentUser
        // The notes of others do not exist for this user.
        if (owner !== id) return yield* McpError.resourceNotFound(uri)
        return yield* Effect.mapError(notes.read(id, title), () => McpError.resourceNotFound(uri))
      }),
      {
        complete: { owner: () => Effect.map(CurrentUser, ({ id }) => [id]), title: titles },
        subscribable: ({ owner }) => Effect.map(CurrentUser, ({ id }) => owner === id)
      }
    )
    .prompt(
      "review",
      Effect.fnUntraced(function*({ focus, title }) {
        const { id } = yield* CurrentUser
        const text = yield* Effect.mapError(notes.read(id, title), ({ message }) => McpError.invalidParams(message))
        return [
          Prompt.user(`Review this note${focus === undefined ? "" : `, above all its ${focus}`}.`),
          Prompt.user(Content.resource(Resource.text(uriOf(id, title), text, "text/markdown")))
        ]
      }),
      { complete: { title: titles } }
    )
}))

const UsersLive = McpMiddleware.layer(
  Users,
  CurrentUser,
  Effect.flatMap(McpRequest.McpRequest, ({ principal }) =>
    principal === undefined
      ? Effect.fail(McpError.invalidRequest("Sign in first"))
      : Effect.succeed({ id: principal.id }))
)

// =====================================================================================================================
// The server
// =====================================================================================================================

/** The users by their tokens. A real server would look tokens up, or verify their signatures. */
const users = new Map([["adas-secret", "ada"], ["bobs-secret", "bob"]])

const tokens = Authentication.layerBearer({
  realm: "notes",
  verify: (token) => {
    const id = users.get(Redacted.value(token))
    return Effect.succeed(id === undefined ? undefined : { id })
  }
})

/** Serves the notes of a database at this port of the machine. Prints the URL. */
const layer = (port: number, file: string) =>
  StreamableHttpServer.layerNode({ port }).pipe(
    Layer.tap((context) => Console.log(`listening at ${formatAddress(Context.get(context, HttpServer).address)}/mcp`)),
    Layer.provide(McpServer.layerHost(NotesLive, { info: { name: "notes", version: "0.1.0" } })),
    Layer.provide([tokens, UsersLive, Notes.layer(file)])
  )

const [, , port = "3000", file = ":memory:"] = process.argv
NodeRuntime.runMain(Layer.launch(layer(Number(port), file)))
