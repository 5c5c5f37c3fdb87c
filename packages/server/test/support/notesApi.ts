/** An api of notes over HTTP, with users, for tests of `McpHttpApi`. */
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiError from "effect/http-api/HttpApiError"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as HttpApiSecurity from "effect/http-api/HttpApiSecurity"
import * as OpenApi from "effect/http-api/OpenApi"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { inspect } from "node:util"

export class NoSuchNote extends Schema.TaggedError<NoSuchNote>()("NoSuchNote", { id: Schema.Int }, {
  httpApiStatus: 404
}) {
  override get message(): string {
    return `there is no note ${this.id}`
  }
}

export const Note = Schema.Struct({ id: Schema.Int, title: Schema.String, text: Schema.String })

export class User extends Context.Service<User, { readonly id: string }>()("User") {}

/** Security of the api: a bearer token of its own, which is `backend-` and the name of the user. */
export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: User }>()("Authorization", {
  error: HttpApiError.Unauthorized,
  security: { bearer: HttpApiSecurity.bearer }
}) {}

export const AuthorizationLive = Layer.succeed(Authorization, {
  bearer: (handler, { credential }) => {
    const token = Redacted.value(credential)
    return token.startsWith("backend-")
      ? Effect.provideService(handler, User, { id: token.slice("backend-".length) })
      : Effect.fail(new HttpApiError.Unauthorized())
  }
})

export const Notes = HttpApiGroup.make("notes").add(
  HttpApiEndpoint.get("list", "/notes", {
    query: {
      limit: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.succeed(10))),
      word: Schema.optionalKey(Schema.String.annotate({ description: "A word in the title" }))
    },
    success: Schema.Array(Note)
  })
    .annotate(OpenApi.Summary, "List notes")
    .annotate(OpenApi.Description, "Lists the notes of the user"),
  HttpApiEndpoint.get("read", "/notes/:id", { params: { id: Schema.Int }, success: Note, error: NoSuchNote }),
  HttpApiEndpoint.post("create", "/notes", {
    payload: Schema.Struct({ title: Schema.NonEmptyString, text: Schema.String }),
    success: Note.pipe(HttpApiSchema.status(201))
  }),
  HttpApiEndpoint.put("replace", "/notes/:id", {
    params: { id: Schema.Int },
    query: { notify: Schema.optionalKey(Schema.Boolean) },
    headers: { "x-reason": Schema.String },
    payload: Schema.Struct({ title: Schema.String, text: Schema.String }),
    success: Schema.Struct({ note: Note, notify: Schema.Boolean, reason: Schema.String }),
    error: NoSuchNote
  }),
  HttpApiEndpoint.delete("remove", "/notes/:id", { params: { id: Schema.Int }, error: HttpApiError.NotFound })
)

export const Me = HttpApiGroup.make("me").add(
  HttpApiEndpoint.get("whoami", "/me", { success: Schema.Struct({ id: Schema.String }) })
).middleware(Authorization)

export const Odd = HttpApiGroup.make("odd", { topLevel: true }).add(
  HttpApiEndpoint.get("word", "/word", { success: Schema.String }).annotate(Tool.Readonly, false),
  HttpApiEndpoint.post("many", "/many", { payload: Schema.Array(Schema.Int), success: Schema.Finite }),
  HttpApiEndpoint.get("dies", "/dies"),
  HttpApiEndpoint.get("interrupts", "/interrupts"),
  HttpApiEndpoint.get("teapot", "/teapot", { success: Schema.String }),
  HttpApiEndpoint.get("large", "/large", { success: Schema.String }),
  HttpApiEndpoint.get("seen", "/seen", {
    headers: { authorization: Schema.optionalKey(Schema.String), "x-tenant": Schema.optionalKey(Schema.String) },
    success: Schema.Struct({
      headers: Schema.Record(Schema.String, Schema.String),
      url: Schema.String,
      context: Schema.String
    })
  }),
  HttpApiEndpoint.get("file", "/files/:name", { params: { name: Schema.String }, success: Schema.String }),
  HttpApiEndpoint.get("secret", "/files/secret", { success: Schema.String }).annotate(OpenApi.Exclude, true),
  HttpApiEndpoint.post("reindex", "/reindex").annotate(Tool.Destructive, false).annotate(Tool.Idempotent, true),
  HttpApiEndpoint.get("bytes", "/bytes", { success: HttpApiSchema.StreamUint8Array() }),
  HttpApiEndpoint.post("upload", "/upload", {
    payload: Schema.Struct({ name: Schema.String }).pipe(HttpApiSchema.asMultipart())
  })
)

export const Api = HttpApi.make("api").add(Notes, Me, Odd)

const bees = { id: 1, title: "Bees", text: "They dance." }

export const NotesLive = HttpApiBuilder.group(Api, "notes", (handlers) =>
  handlers
    .handle("list", ({ query: { limit, word } }) =>
      Effect.succeed(
        Array.from({ length: limit }, (_, id) => ({ id, title: word ?? "none", text: "" }))
      ))
    .handle("read", ({ params: { id } }) => id === 1 ? Effect.succeed(bees) : Effect.fail(new NoSuchNote({ id })))
    .handle("create", ({ payload }) => Effect.succeed({ id: 2, ...payload }))
    .handle("replace", ({ headers, params: { id }, payload, query: { notify } }) =>
      Effect.succeed({ note: { id, ...payload }, notify: notify ?? false, reason: headers["x-reason"] }))
    .handle("remove", ({ params: { id } }) =>
      id === 1 ? Effect.void : Effect.fail(new HttpApiError.NotFound())))

export const MeLive = HttpApiBuilder.group(Api, "me", (handlers) => handlers.handle("whoami", () => User)).pipe(
  Layer.provide(AuthorizationLive)
)

export const OddLive = HttpApiBuilder.group(Api, "odd", (handlers) =>
  handlers
    .handle("word", () => Effect.succeed("bee"))
    .handle("many", ({ payload }) => Effect.succeed(payload.reduce((sum, one) => sum + one, 0)))
    .handle("dies", () => Effect.die(new Error("the password is hunter2")))
    .handle("interrupts", () => Effect.interrupt)
    .handle("teapot", () => Effect.succeed(HttpServerResponse.text("the password is hunter2", { status: 418 })))
    .handle("large", () => Effect.succeed("x".repeat(2_000)))
    .handle("seen", ({ request: { headers, url } }) =>
      Effect.map(Effect.context(), ({ mapUnsafe }) => ({
        headers: { ...headers },
        url,
        context: inspect([...mapUnsafe], { depth: 8, showHidden: true, maxStringLength: 10_000 })
      })))
    .handle("file", ({ params: { name } }) => Effect.succeed(`file ${name}`))
    .handle("secret", () => Effect.succeed("secret"))
    .handle("reindex", () => Effect.void)
    .handle("bytes", () => Effect.die("unused"))
    .handle("upload", () => Effect.void))

export const ApiLive = Layer.mergeAll(NotesLive, MeLive, OddLive)
