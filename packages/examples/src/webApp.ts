/**
 * A web application with many users, each of whom has an account of their own at the protected notes.
 *
 * ```sh
 * node packages/examples/src/identityProvider.ts --port 4000
 * node packages/examples/src/protectedNotes.ts --port 3000 --issuer http://localhost:4000
 * node packages/examples/src/webApp.ts --port 8080 --notes http://127.0.0.1:3000/mcp
 * ```
 *
 * Open `http://127.0.0.1:8080/`. A page that needs an account leads the browser to the authorization server, which
 * leads it back. The first sign-in permits to read; to write a note, the user permits that as well.
 */
import { OAuth, TokenStore, WebUserAgent } from "@effect-mcp/auth"
import { type McpCall, McpClient, McpTarget } from "@effect-mcp/client/node"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as HttpBody from "effect/http/HttpBody"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as LayerMap from "effect/LayerMap"
import * as Schema from "effect/Schema"
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { parseArgs } from "node:util"

// =====================================================================================================================
// The users of the application
// =====================================================================================================================

/** The user of a request. */
class CurrentUser extends Context.Service<CurrentUser, { readonly name: string }>()("CurrentUser") {}

/** The users by the values of their cookies. A real application would have a database, and check a password. */
const sessions = new Map<string, string>()

const Login = Schema.Struct({ user: Schema.NonEmptyString.check(Schema.isMaxLength(50)) })

const login = HttpRouter.add(
  "POST",
  "/login",
  Effect.gen(function*() {
    const { user } = yield* HttpServerRequest.schemaBodyUrlParams(Login)
    const session = randomUUID()
    sessions.set(session, user)
    return HttpServerResponse.setCookieUnsafe(HttpServerResponse.redirect("/", { status: 303 }), "session", session, {
      httpOnly: true,
      path: "/",
      // The authorization server leads the browser back by a link, with which a browser sends this cookie.
      sameSite: "lax"
    })
  })
)

const form = (action: string, field: string) =>
  HttpServerResponse.text(
    `<!doctype html><title>Notes</title><form method="post" action="${action}"><input name="${field}"></form>`,
    { contentType: "text/html; charset=utf-8" }
  )

/** Provides the user of a request. Shows the login to others. */
const users = HttpRouter.middleware<{ provides: CurrentUser }>()((route) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ cookies }) => {
    const name = sessions.get(cookies["session"] ?? "")
    return name === undefined
      ? Effect.succeed(form("/login", "user"))
      : Effect.provideService(route, CurrentUser, { name })
  })
)

// =====================================================================================================================
// The accounts of the users at the notes
// =====================================================================================================================

/** Returns whether a call failed because the user has to permit it. */
const needsPermission = (error: HttpBody.HttpBodyError | McpCall.CallError): boolean =>
  error._tag === "RequestError" && error.reason._tag === "SendFailed" &&
  error.reason.error.reason._tag.startsWith("Authorization")

/** Serves the application at a port of this machine. */
export const layer = (port: number, notes: string) => {
  const agents = WebUserAgent.make({ redirectUri: `http://127.0.0.1:${port}/callback` })

  /** The client of each user: with their own tokens, and ended when it is unused for ten minutes. */
  class Accounts extends LayerMap.Service<Accounts>()("Accounts", {
    lookup: (user: string) =>
      McpClient.layer(McpTarget.url(notes), { info: { name: "web-app", version: "1.0.0" } }).pipe(
        Layer.provideMerge(
          Layer.unwrap(
            Effect.map(
              TokenStore.TokenStore,
              (store) =>
                OAuth.layer({ account: user, clientName: "Notes on the web", store, userAgent: agents.of(user) })
            )
          )
        )
      ),
    idleTimeToLive: "10 minutes"
  }) {}

  /** Returns the services of the user of a request. */
  const account = Effect.gen(function*() {
    const { name } = yield* CurrentUser
    return yield* (yield* Accounts).contextEffect(name)
  })

  /** The sign-ins that have begun, by user. */
  const signIns = new Map<string, OAuth.SignIn>()

  /** Leads the browser of the user to the authorization server, which asks for these scopes as well. */
  const connect = Effect.fnUntraced(function*(scopes: ReadonlyArray<string>) {
    const { name } = yield* CurrentUser
    const signIn = yield* Context.get(yield* account, OAuth.OAuth).start(notes, { scopes })
    if (signIn?.url === undefined) return HttpServerResponse.redirect("/", { status: 303 })
    signIns.set(name, signIn)
    return HttpServerResponse.redirect(signIn.url, { status: 303 })
  })

  /** The page to which the authorization server leads the browser back. */
  const callback = Effect.gen(function*() {
    const { name } = yield* CurrentUser
    const { url } = yield* HttpServerRequest.HttpServerRequest
    const isExpected = yield* agents.complete(name, new URL(url, "http://app").searchParams)
    const signIn = signIns.get(name)
    if (!isExpected || signIn === undefined) return HttpServerResponse.text("Begin again.", { status: 400 })
    signIns.delete(name)
    return yield* Effect.match(signIn.authorized, {
      onSuccess: () => HttpServerResponse.redirect("/", { status: 303 }),
      onFailure: ({ message }) => HttpServerResponse.text(message, { status: 403 })
    })
  })

  /** Calls a tool as the user. Leads the browser to the authorization server if the user has to permit the call. */
  const call = Effect.fnUntraced(function*(
    tool: string,
    input: { readonly [name: string]: unknown },
    scope: string
  ) {
    const services = yield* account
    const { _tag } = yield* Context.get(services, OAuth.OAuth).status(notes)
    if (_tag !== "SignedIn") return yield* connect([scope])
    return yield* Context.get(services, McpClient.McpClient).callTool(tool, input, { timeout: "10 seconds" }).pipe(
      Effect.flatMap(({ structuredContent }) => HttpServerResponse.json(structuredContent ?? {})),
      Effect.catchIf(needsPermission, () => connect([scope]))
    )
  })

  const Note = Schema.Struct({ text: Schema.NonEmptyString })

  const routes = Layer.mergeAll(
    HttpRouter.add("GET", "/", form("/notes", "text")),
    HttpRouter.add("GET", "/callback", callback),
    HttpRouter.add("GET", "/notes", call("read", {}, "notes:read")),
    HttpRouter.add(
      "POST",
      "/notes",
      Effect.flatMap(HttpServerRequest.schemaBodyUrlParams(Note), (note) => call("write", note, "notes:write"))
    ),
    HttpRouter.add(
      "POST",
      "/disconnect",
      Effect.flatMap(account, (services) => Context.get(services, OAuth.OAuth).logout(notes)).pipe(
        Effect.as(HttpServerResponse.redirect("/", { status: 303 }))
      )
    )
  ).pipe(Layer.provide(users.layer))

  return HttpRouter.serve(Layer.merge(routes, login), { disableListenLog: true, disableLogger: true }).pipe(
    Layer.provide(Accounts.layer),
    // A real application would store the tokens in its database, encrypted: `TokenStoreSql`, `EncryptedTokenStore`.
    Layer.provide(TokenStore.layerMemory),
    Layer.provideMerge(NodeHttpServer.layerServer(() => createServer(), { port, host: "127.0.0.1" }))
  )
}

if (import.meta.main) {
  const { values: { notes, port } } = parseArgs({
    options: {
      notes: { type: "string", default: "http://127.0.0.1:3000/mcp" },
      port: { type: "string", default: "8080" }
    }
  })
  const listening = Console.log(`listening at http://127.0.0.1:${port}`)
  NodeRuntime.runMain(Layer.launch(Layer.tap(layer(Number(port), notes), () => listening)))
}
