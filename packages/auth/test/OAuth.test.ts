/** The sign-in of a person, from the first challenge on. */
import { type OAuthError, UserAgent, WebUserAgent } from "@effect-mcp/auth"
import type { TransportError } from "@effect-mcp/session/TransportError"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as Scope from "effect/Scope"
import * as Net from "node:net"
import * as caller from "./support/caller.ts"
import { build, causeOf, started } from "./support/clients.ts"
import * as scriptedPerson from "./support/scriptedPerson.ts"

const isPermanent = <A>(exit: Exit.Exit<A, TransportError>): boolean => {
  const error = Exit.findErrorOption(exit)
  return error._tag === "Some" && error.value.reason._tag === "AuthorizationFailed" &&
    error.value.reason.isPermanent === true
}

const reasonOf = <A>(exit: Exit.Exit<A, OAuthError.OAuthError>): OAuthError.OAuthErrorReason | undefined => {
  const error = Exit.findErrorOption(exit)
  return error._tag === "Some" ? error.value.reason : undefined
}

describe("a person signs in", () => {
  it.live("[AUT-21] [AUT-23] [AUT-25] [AUT-33] the first challenge leads to tokens, and nothing happens before", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent, clientName: "Tests" })
      assert.deepStrictEqual(yield* oauth.status(server.url), { _tag: "SignedOut" })
      assert.deepStrictEqual([identity.requests, server.calls, server.metadataRequests], [[], [], []])

      const outcome = yield* caller.callAndWait(oauth.authorization, server.url)
      assert.deepStrictEqual(outcome, { status: 200, account: "ada", scope: "notes:read" })
      assert.lengthOf(ada.windows, 1)
      const asked = ada.windows[0]?.searchParams
      assert.strictEqual(asked?.get("resource"), server.resource)
      assert.strictEqual(asked?.get("scope"), "notes:read offline_access")
      assert.strictEqual(asked?.get("code_challenge_method"), "S256")
      assert.isAbove(asked?.get("state")?.length ?? 0, 20)
      assert.strictEqual(asked?.get("redirect_uri"), ada.redirects[0])
      const [token] = identity.to("/token")
      assert.strictEqual(token?.body.get("resource"), server.resource)
      assert.isAbove(token?.body.get("code_verifier")?.length ?? 0, 42)
      assert.strictEqual(ada.ends[0]?.status, 200)

      yield* caller.call(oauth.authorization, server.url)
      assert.deepStrictEqual(server.calls.map(({ authorization }) => authorization?.slice(0, 7)), [
        undefined,
        "Bearer ",
        "Bearer "
      ])
      const status = yield* oauth.status(server.url)
      assert.deepInclude(status, { _tag: "SignedIn", issuer: identity.issuer, isRefreshable: true })
    }))

  it.live("calls that are rejected at once share one window; they fail meanwhile, and name the URL", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      const ada = scriptedPerson.make()
      let sign = () => {}
      const signing = new Promise<void>((resolve) => {
        sign = resolve
      })
      const act = ada.act
      ada.act = (url) => signing.then(() => act(url))
      const oauth = yield* build({ userAgent: ada.userAgent })
      const exits = yield* Effect.all(
        Array.from({ length: 5 }, () => Effect.exit(caller.call(oauth.authorization, server.url))),
        { concurrency: 5 }
      )
      const reasons = exits.map(Exit.findErrorOption).flatMap((error) =>
        error._tag === "Some" && error.value.reason._tag === "AuthorizationRequired" ? [error.value.reason] : []
      )
      assert.lengthOf(reasons, 5)
      assert.deepStrictEqual(new Set(reasons.map(({ url }) => url)), new Set([ada.windows[0]?.href]))
      assert.deepInclude(yield* oauth.status(server.url), { _tag: "Authorizing", url: ada.windows[0]?.href })
      const before = server.calls.length
      yield* Effect.exit(caller.call(oauth.authorization, server.url))
      assert.strictEqual(server.calls.length, before, "a request without tokens is not sent while a person signs in")

      const waiting = yield* Effect.forkChild(
        Effect.all(reasons.map(({ authorized }) => authorized), { concurrency: 5 })
      )
      sign()
      yield* Fiber.join(waiting)
      yield* Effect.all(
        Array.from({ length: 5 }, () => caller.call(oauth.authorization, server.url)),
        { concurrency: 5 }
      )
      assert.lengthOf(ada.windows, 1)
      assert.lengthOf(identity.to("/token"), 1)
    }))

  it.live("the sign-in goes on after the caller has left", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      const leaving = yield* Effect.forkChild(caller.callAndWait(oauth.authorization, server.url))
      while (ada.windows.length === 0) yield* Effect.sleep(2)
      yield* Fiber.interrupt(leaving)
      while ((yield* oauth.status(server.url))._tag !== "SignedIn") yield* Effect.sleep(10)
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
      assert.lengthOf(ada.windows, 1)
    }))

  it.live("when the scope closes, the listener is closed, and those who wait fail", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      ada.act = () => Promise.resolve()
      const scope = yield* Scope.make()
      const oauth = yield* Scope.provide(build({ userAgent: ada.userAgent }), scope)
      const waiting = yield* Effect.forkChild(Effect.exit(caller.callAndWait(oauth.authorization, server.url)))
      while (ada.windows.length === 0) yield* Effect.sleep(2)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(causeOf(yield* Fiber.join(waiting))?._tag, "UserAgentFailed")
      const port = Number(new URL(ada.redirects[0] ?? "").port)
      const isOpen = yield* Effect.callback<boolean>((resume) => {
        const socket = Net.connect(port, "127.0.0.1")
        socket.on("connect", () => resume(Effect.succeed(true)))
        socket.on("error", () => resume(Effect.succeed(false)))
      })
      assert.isFalse(isOpen)
    }))

  it.live("[AUT-34] a token is not given to another origin", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      const access = yield* oauth.authorization.of(server.url)
      const headers = (url: string) => access.headers({ method: "POST", url: new URL(url) })
      assert.property(yield* headers(`${server.url.origin}/mcp/other`), "authorization")
      assert.deepStrictEqual(yield* headers("http://localhost:1/mcp"), {})
      assert.deepStrictEqual(yield* headers(server.url.href.replace("localhost", "127.0.0.1")), {})
    }))

  it.live("a program without a person fails at once, and nothing is registered", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      const oauth = yield* build({ userAgent: UserAgent.none })
      const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
      assert.strictEqual(causeOf(exit)?._tag, "SignInRequired")
      assert.isTrue(isPermanent(exit))
      assert.lengthOf(identity.to("/reg"), 0)
    }))
})

describe("start", () => {
  it.live("returns the URL, and the sign-in goes on", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      const signIn = yield* oauth.start(server.url, { scopes: ["notes:write"] })
      assert.strictEqual(signIn?.url, ada.windows[0]?.href)
      yield* signIn?.authorized ?? Effect.void
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url, "write")).status, 200)
    }))

  it.live("[AUT-17] registers an application of the type that fits its redirect URI", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      const agents = [
        ["native", scriptedPerson.make().userAgent],
        ["native", WebUserAgent.make({ redirectUri: "http://127.0.0.1:8080/callback" }).of("ada")],
        ["native", WebUserAgent.make({ redirectUri: "http://localhost:8080/callback" }).of("ada")],
        ["web", WebUserAgent.make({ redirectUri: "https://app.example/callback" }).of("ada")]
      ] as const
      for (const [applicationType, userAgent] of agents) {
        const signIn = yield* (yield* build({ userAgent })).start(server.url)
        const parameters = new URL(signIn?.url ?? "").searchParams
        const client = yield* Effect.promise(() => identity.provider.Client.find(parameters.get("client_id") ?? ""))
        assert.deepInclude(client, { applicationType, redirectUris: [parameters.get("redirect_uri")] })
      }
    }))

  it.live("fails with the reason if the sign-in cannot begin", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      identity.intercept = (request, response) => {
        if (request.url !== "/reg") return false
        response.writeHead(400, { "content-type": "application/json" }).end(`{"error":"invalid_redirect_uri"}`)
        return true
      }
      const oauth = yield* build({ userAgent: scriptedPerson.make().userAgent })
      const exit = yield* Effect.exit(oauth.start(server.url))
      assert.deepInclude(reasonOf(exit), { _tag: "RegistrationFailed", status: 400 })
    }))
})

describe("another HTTP client", () => {
  it.live("[AUT-54] sends the requests, and none to a private address that a server names", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      const sent: Array<string> = []
      const http = yield* Effect.provide(HttpClient.HttpClient, FetchHttpClient.layer)
      const httpClient = HttpClient.tapRequest(http, ({ url }) => Effect.sync(() => void sent.push(url)))
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent, httpClient })
      assert.strictEqual((yield* caller.callAndWait(oauth.authorization, server.url)).status, 200)
      assert.includeMembers(sent, identity.to("/token").map(() => `${identity.issuer}/token`))
      assert.lengthOf(identity.to("/token"), 1)

      sent.length = 0
      const remote = yield* oauth.authorization.of(new URL("https://notes.example/mcp"))
      const exit = yield* Effect.exit(remote.rejected({
        method: "POST",
        url: new URL("https://notes.example/mcp"),
        status: 401,
        challenges: [{ scheme: "Bearer", parameters: { resource_metadata: "https://169.254.169.254/latest" } }],
        sentWith: {},
        operation: "read",
        repetitions: 0,
        header: () => undefined
      }))
      assert.strictEqual(causeOf(exit)?._tag, "AddressForbidden")
      assert.deepStrictEqual(sent, [])
    }))
})
