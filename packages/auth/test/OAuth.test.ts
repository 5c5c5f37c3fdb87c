import { ClientIdentity, type OAuthError, TokenStore, UserAgent, WebUserAgent } from "@effect-mcp/auth"
import type { TransportError } from "@effect-mcp/session/TransportError"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Net from "node:net"
import * as caller from "./support/caller.ts"
import { build, causeOf, started } from "./support/clients.ts"
import * as identityServer from "./support/identityServer.ts"
import * as person from "./support/person.ts"
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

describe("windows", () => {
  it.live("an accepted request without the new token does not make the token accepted", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      const access = yield* oauth.authorization.of(server.url)
      yield* oauth.login(server.url)
      server.judge = () => ({ status: 401, challenge: "" })
      access.responded?.({ method: "POST", url: server.url, sentWith: {} }, () => undefined)
      const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
      assert.strictEqual(causeOf(exit)?._tag, "TokenRejected")
      assert.lengthOf(ada.windows, 1)
    }))

  it.live("the error of a token that was just issued has the reason of the server, unless it repeats the token", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      let reason: (authorization: string) => string = () => "its key is not known"
      server.judge = ({ authorization = "" }) => ({
        status: 401,
        challenge: `error="invalid_token", error_description="${reason(authorization)}", `
      })
      const first = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
      assert.deepInclude(causeOf(first), { _tag: "TokenRejected", description: "its key is not known" })
      assert.include(String(Exit.findErrorOption(first)), "just issued for it: \"its key is not known\"; check")
      reason = (authorization) => authorization.replace("Bearer ", "unknown: ")
      yield* oauth.login(server.url)
      const second = causeOf(yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url)))
      assert.deepStrictEqual(second, { _tag: "TokenRejected", server: server.url.href })
    }))

  it.live("a server that always answers 401 opens one window, and another only after login", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      server.judge = () => ({ status: 401, challenge: "" })
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      for (let attempt = 0; attempt < 4; attempt++) {
        const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
        assert.strictEqual(causeOf(exit)?._tag, "TokenRejected")
        assert.isTrue(isPermanent(exit))
      }
      assert.lengthOf(ada.windows, 1)
      assert.lengthOf(server.calls, 2, "later requests are not sent")
      yield* oauth.login(server.url)
      assert.lengthOf(ada.windows, 2)
      yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
      assert.lengthOf(ada.windows, 2)
    }))

  it.live("an operation whose tokens are always rejected keeps no other from them, and causes few refreshes", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      server.judge = ({ operation }) => operation === "listen" ? { status: 401, challenge: "" } : undefined
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      for (let attempt = 0; attempt < 6; attempt++) {
        const exit = yield* Effect.exit(caller.call(oauth.authorization, server.url, "listen"))
        assert.strictEqual(causeOf(exit)?._tag, "TokenRejected")
        assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
      }
      assert.lengthOf(ada.windows, 1)
      const refreshes = identity.to("/token").filter(({ body }) => body.get("grant_type") === "refresh_token")
      assert.lengthOf(refreshes, 3)
      yield* oauth.login(server.url)
      server.judge = undefined
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url, "listen")).status, 200)
    }))

  it.live("a person who cancels is asked no more, until login", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      const act = ada.act
      ada.act = (url) => person.visit(url, { cancels: true })
      const oauth = yield* build({ userAgent: ada.userAgent })
      const denied = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
      assert.deepInclude(causeOf(denied), { _tag: "Denied", error: "access_denied" })
      const next = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
      assert.strictEqual(causeOf(next)?._tag, "SignInRequired")
      assert.lengthOf(ada.windows, 1)
      ada.act = act
      yield* oauth.login(server.url)
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
      assert.lengthOf(ada.windows, 2)
    }))

  it.live("a person who confirms gets another window; one who does not, none, and no question until login", () =>
    Effect.gen(function*() {
      const { server } = yield* started({ withoutRefreshTokens: true })
      let answer = true
      let questions = 0
      const ada = scriptedPerson.make({
        confirm: () =>
          Effect.sync(() => {
            questions += 1
            return answer
          })
      })
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      const revoked: Array<string | undefined> = []
      const revoke = () => revoked.push(server.calls.at(-1)?.authorization)
      server.judge = ({ authorization }) => revoked.includes(authorization) ? { status: 401, challenge: "" } : undefined
      revoke()
      assert.strictEqual((yield* caller.callAndWait(oauth.authorization, server.url)).status, 200)
      assert.deepStrictEqual([questions, ada.windows.length], [1, 2])
      revoke()
      answer = false
      for (let attempt = 0; attempt < 3; attempt++) {
        const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
        assert.strictEqual(causeOf(exit)?._tag, "SignInRequired")
      }
      assert.deepStrictEqual([questions, ada.windows.length], [2, 2])
      yield* oauth.login(server.url)
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
      assert.deepStrictEqual([questions, ada.windows.length], [2, 3])
      revoke()
      answer = true
      assert.strictEqual((yield* caller.callAndWait(oauth.authorization, server.url)).status, 200)
      assert.deepStrictEqual([questions, ada.windows.length], [3, 4])
      yield* oauth.logout(server.url)
      const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
      assert.strictEqual(causeOf(exit)?._tag, "SignInRequired")
      assert.strictEqual(questions, 3, "a person who has signed out is not asked")
    }))

  it.live("login begins a sign-in anew, and those who wait for the first one go on", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      const act = ada.act
      ada.act = () => Promise.resolve()
      const oauth = yield* build({ userAgent: ada.userAgent })
      const waiting = yield* Effect.forkChild(caller.callAndWait(oauth.authorization, server.url))
      while (ada.windows.length === 0) yield* Effect.sleep(2)
      ada.act = act
      yield* oauth.login(server.url)
      assert.strictEqual((yield* Fiber.join(waiting)).status, 200)
      assert.lengthOf(ada.windows, 2)
    }))
})

describe("the redirect", () => {
  /** Signs in, and changes the redirect before it arrives. */
  const changed = (ada: scriptedPerson.ScriptedPerson, change: (redirect: URL) => void) => {
    ada.act = async (url) => {
      // The person's browser is stopped before the last redirect: no listener is at this port.
      const redirectUri = url.searchParams.get("redirect_uri") ?? ""
      const { url: end } = await person.visit(url, { stopAt: redirectUri })
      change(end)
      ada.ends.push(await person.visit(end))
    }
  }

  const changes: ReadonlyArray<readonly [string, (redirect: URL) => void]> = [
    ["a wrong issuer", (redirect: URL) => redirect.searchParams.set("iss", "https://evil.example")],
    [
      "an issuer with a slash",
      (redirect: URL) => redirect.searchParams.set("iss", `${redirect.searchParams.get("iss")}/`)
    ],
    ["no issuer, which the metadata promises", (redirect: URL) => redirect.searchParams.delete("iss")],
    ["an error of a wrong issuer", (redirect: URL) => {
      redirect.search = new URLSearchParams({
        state: redirect.searchParams.get("state") ?? "",
        iss: "https://evil.example",
        error: "visit_evil",
        error_description: "see https://evil.example"
      }).toString()
    }]
  ]

  it.live.each(changes)(
    "[AUT-28] [AUT-29] [AUT-30] the right state with %s ends the sign-in, and no code is sent",
    ([, change]) =>
      Effect.gen(function*() {
        const { identity, server } = yield* started()
        const ada = scriptedPerson.make()
        changed(ada, change)
        const oauth = yield* build({ userAgent: ada.userAgent })
        const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
        assert.strictEqual(causeOf(exit)?._tag, "MixedUp")
        assert.notInclude(String(Exit.findErrorOption(exit)), "evil")
        assert.lengthOf(identity.to("/token"), 0)
      })
  )

  it.live("[AUT-29] an issuer that its metadata does not promise may be absent, and is compared if it is there", () =>
    Effect.gen(function*() {
      for (const issuer of [undefined, "https://evil.example"]) {
        const { identity, server } = yield* started()
        const { issuer: own } = identity
        identity.intercept = (request, response) => {
          if (request.url?.startsWith("/.well-known/") !== true) return false
          response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({
            issuer: own,
            authorization_endpoint: `${own}/auth`,
            token_endpoint: `${own}/token`,
            registration_endpoint: `${own}/reg`,
            code_challenge_methods_supported: ["S256"]
          }))
          return true
        }
        const ada = scriptedPerson.make()
        changed(ada, ({ searchParams }) => {
          searchParams.delete("iss")
          if (issuer !== undefined) searchParams.set("iss", issuer)
        })
        const oauth = yield* build({ userAgent: ada.userAgent })
        const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
        assert.strictEqual(causeOf(exit)?._tag, issuer === undefined ? undefined : "MixedUp")
        assert.lengthOf(identity.to("/token"), issuer === undefined ? 1 : 0)
      }
    }))

  it.live("[AUT-31] URI that has neither https nor a loopback address is not registered, and no window opens", () =>
    Effect.gen(function*() {
      for (const redirectUri of ["http://app.example/callback", "app:/callback", "callback"]) {
        const { identity, server } = yield* started()
        const oauth = yield* build({ userAgent: WebUserAgent.make({ redirectUri }).of("ada") })
        const exit = yield* Effect.exit(oauth.start(server.url))
        const reason = reasonOf(exit)
        assert.include(reason?._tag === "UserAgentFailed" ? reason.problem : "", redirectUri)
        assert.lengthOf(identity.to("/reg"), 0)
      }
    }))

  it.live("[AUT-32] URI of a client that is registered by hand is the one that it has registered", () =>
    Effect.gen(function*() {
      const port = yield* Effect.callback<number>((resume) => {
        const free = Net.createServer().listen(0, "127.0.0.1", () => {
          const address = free.address()
          free.close(() => resume(Effect.succeed(typeof address === "object" ? address?.port ?? 0 : 0)))
        })
      })
      const redirectUri = `http://127.0.0.1:${port}/of/notes`
      const { server } = yield* started({
        clients: [{
          client_id: "notes",
          redirect_uris: [redirectUri],
          token_endpoint_auth_method: "none",
          application_type: "native",
          grant_types: ["authorization_code", "refresh_token"]
        }]
      })
      const ada = scriptedPerson.make()
      const oauth = yield* build({
        userAgent: ada.userAgent,
        identity: { preRegistered: [{ clientId: "notes", redirectUri }] }
      })
      const signIn = yield* oauth.start(server.url)
      assert.deepStrictEqual(ada.windows.map(({ searchParams }) => searchParams.get("redirect_uri")), [redirectUri])
      yield* signIn?.authorized ?? Effect.void
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
    }))

  it.live("[AUT-25] a redirect with another state changes nothing", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      const statuses: Array<number> = []
      ada.act = async (url) => {
        const stopAt = url.searchParams.get("redirect_uri") ?? ""
        const { url: redirect } = await person.visit(url, { stopAt })
        const forged = new URL(redirect)
        forged.searchParams.set("state", "forged")
        const repeated = new URL(redirect)
        repeated.searchParams.append("code", "other")
        for (const one of [forged, repeated, redirect]) statuses.push((await fetch(one)).status)
      }
      const oauth = yield* build({ userAgent: ada.userAgent })
      assert.strictEqual((yield* caller.callAndWait(oauth.authorization, server.url)).status, 200)
      assert.deepStrictEqual(statuses, [400, 400, 200])
    }))
})

describe("tokens", () => {
  it.live("[AUT-23] five calls whose token is rejected cause one refresh, and no window", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      for (let round = 2; round < 5; round++) {
        const rejected = server.calls.at(-1)?.authorization
        server.judge = ({ authorization }) => authorization === rejected ? { status: 401, challenge: "" } : undefined
        const outcomes = yield* Effect.all(
          Array.from({ length: 5 }, () => caller.call(oauth.authorization, server.url)),
          { concurrency: 5 }
        )
        assert.deepStrictEqual(outcomes.map(({ status }) => status), [200, 200, 200, 200, 200])
        assert.lengthOf(identity.to("/token"), round)
      }
      const refresh = identity.to("/token").at(-1)?.body
      assert.strictEqual(refresh?.get("grant_type"), "refresh_token")
      assert.strictEqual(refresh?.get("resource"), server.resource)
      assert.lengthOf(ada.windows, 1)
    }))

  it.live("an expiring token is renewed before the request", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started({ accessTokenSeconds: 2 })
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      const before = server.calls.length
      yield* Effect.sleep(1_700)
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
      assert.strictEqual(server.calls.length, before + 1, "no request was rejected")
      assert.lengthOf(identity.to("/token"), 2)
    }))

  it.live("[AUT-11] [AUT-32] another program with the store uses its tokens without a challenge, and its port", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      const store = yield* TokenStore.makeMemory()
      const ada = scriptedPerson.make()
      yield* Effect.scoped(Effect.gen(function*() {
        const oauth = yield* build({ userAgent: ada.userAgent, store })
        yield* caller.callAndWait(oauth.authorization, server.url)
      }))
      const before = server.calls.length
      const oauth = yield* build({ userAgent: ada.userAgent, store })
      assert.deepInclude(yield* oauth.status(server.url), { _tag: "SignedIn" })
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
      assert.strictEqual(server.calls.length, before + 1)
      yield* oauth.login(server.url)
      assert.lengthOf(identity.to("/reg"), 1)
      assert.strictEqual(ada.redirects[0], ada.redirects[1])
      const other = yield* build({ userAgent: UserAgent.none, store, account: "bob" })
      assert.deepStrictEqual(yield* other.status(server.url), { _tag: "SignedOut" })
    }))

  it.live("[AUT-19] a server that moves to another issuer gets another client there", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      const moved = yield* identityServer.start()
      const ada = scriptedPerson.make({ confirm: () => Effect.succeed(true) })
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      server.issuers = [moved.issuer]
      const old = server.calls.at(-1)?.authorization
      server.judge = ({ authorization }) =>
        authorization === undefined || authorization === old ? { status: 401, challenge: "" } : { status: 200 }
      yield* caller.callAndWait(oauth.authorization, server.url)
      assert.lengthOf(moved.to("/reg"), 1)
      assert.lengthOf(moved.to("/token"), 1)
      assert.notStrictEqual(
        moved.to("/token")[0]?.body.get("client_id"),
        identity.to("/token")[0]?.body.get("client_id")
      )
      assert.lengthOf(identity.to("/token"), 1, "the old issuer gets no request")
    }))

  it.live("[AUT-19] a refresh token is not sent to the other issuer to which a server moves, for the same client", () =>
    Effect.gen(function*() {
      const metadataUrl = "https://client.example/client.json"
      const document = {
        ...ClientIdentity.document({
          url: metadataUrl,
          clientName: "Tests",
          redirectUris: ["http://127.0.0.1/callback"]
        }),
        application_type: "native"
      }
      const settings = { documents: { [metadataUrl]: document }, accessTokenSeconds: 1 }
      const { identity, server } = yield* started(settings)
      const moved = yield* identityServer.start(settings)
      const store = yield* TokenStore.makeMemory()
      const ada = scriptedPerson.make()
      const program = () => build({ userAgent: ada.userAgent, store, identity: { metadataUrl } })
      yield* Effect.scoped(Effect.flatMap(program(), ({ login }) => login(server.url)))
      assert.lengthOf(identity.to("/token"), 1)
      server.issuers = [moved.issuer]
      server.judge = ({ authorization }) => ({ status: authorization === undefined ? 401 : 200, challenge: "" })
      yield* Effect.sleep(1_100)
      const oauth = yield* program()
      assert.strictEqual((yield* caller.callAndWait(oauth.authorization, server.url)).status, 200)
      assert.deepStrictEqual(moved.to("/token").map(({ body }) => body.get("grant_type")), ["authorization_code"])
      assert.lengthOf(identity.to("/token"), 1)
    }))

  it.live("logout removes and revokes the tokens, and opens no window", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      yield* oauth.logout(server.url)
      assert.deepStrictEqual(yield* oauth.status(server.url), { _tag: "SignedOut" })
      assert.lengthOf(identity.to("/token/revocation"), 2)
      const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
      assert.strictEqual(causeOf(exit)?._tag, "SignInRequired")
      assert.strictEqual(server.calls.at(-1)?.authorization, undefined)
      assert.lengthOf(ada.windows, 1)
      yield* oauth.login(server.url)
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
    }))

  it.live("logout succeeds at an issuer that revokes refresh tokens, and no access tokens", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      const unsupported = JSON.stringify({ error: "unsupported_token_type" })
      for (const supported of [0, 1]) {
        yield* oauth.login(server.url)
        let requests = 0
        identity.intercept = ({ url }, response) => {
          if (url !== "/token/revocation") return false
          if (requests++ < supported) return false
          response.writeHead(400, { "content-type": "application/json" }).end(unsupported)
          return true
        }
        const error = yield* Effect.option(Effect.flip(oauth.logout(server.url)))
        assert.deepStrictEqual(yield* oauth.status(server.url), { _tag: "SignedOut" })
        assert.strictEqual(Option.isNone(error), supported === 1)
      }
    }))

  it.live("an issuer that is out of reach opens no window, and its tokens are kept", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started({ accessTokenSeconds: 1 })
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      yield* Effect.sleep(1_100)
      identity.intercept = (_request, response) => {
        response.writeHead(500).end()
        return true
      }
      const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
      assert.strictEqual(causeOf(exit)?._tag, "Unavailable")
      assert.isFalse(isPermanent(exit))
      assert.lengthOf(ada.windows, 1)
      assert.deepInclude(yield* oauth.status(server.url), { _tag: "SignedIn", isRefreshable: true })
    }))
})

describe("an issuer whose metadata does not list S256", () => {
  for (const assumesPkce of [undefined, true]) {
    it.live(`[AUT-21] [AUT-22] is ${assumesPkce === true ? "used, with S256, if assumesPkce" : "not used"}`, () =>
      Effect.gen(function*() {
        const { identity, server } = yield* started()
        identity.intercept = (request, response) => {
          if (request.url?.startsWith("/.well-known/") !== true) return false
          const { issuer } = identity
          response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({
            issuer,
            authorization_endpoint: `${issuer}/auth`,
            token_endpoint: `${issuer}/token`,
            registration_endpoint: `${issuer}/reg`,
            response_types_supported: ["code"],
            authorization_response_iss_parameter_supported: true
          }))
          return true
        }
        const ada = scriptedPerson.make()
        const oauth = yield* build({ userAgent: ada.userAgent, assumesPkce })
        const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
        assert.strictEqual(causeOf(exit)?._tag, assumesPkce === true ? undefined : "DiscoveryFailed")
        assert.deepStrictEqual(
          ada.windows.map(({ searchParams }) => searchParams.get("code_challenge_method")),
          assumesPkce === true ? ["S256"] : []
        )
        assert.strictEqual(Exit.isSuccess(exit), assumesPkce === true)
      }))
  }
})

describe("step-up", () => {
  it.live("[AUT-38] [AUT-39] a missing scope is requested with those before, after the person has confirmed", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make({ confirm: () => Effect.succeed(true) })
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      const outcome = yield* caller.callAndWait(oauth.authorization, server.url, "write")
      assert.deepStrictEqual([outcome.status, outcome.scope], [200, "notes:read notes:write"])
      // The authorization server lists `offline_access`.
      assert.strictEqual(ada.windows[1]?.searchParams.get("scope"), "notes:read offline_access notes:write")
    }))

  it.live("without a person's act there is no window, and login asks for the scope", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url, "write"))
      assert.strictEqual(causeOf(exit)?._tag, "SignInRequired")
      const scopes = "with the scopes \"notes:read offline_access notes:write\"; call OAuth.login"
      assert.include(String(Exit.findErrorOption(exit)), scopes)
      assert.lengthOf(ada.windows, 1)
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200, "other operations go on")
      yield* oauth.login(server.url)
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url, "write")).status, 200)
    }))

  it.live("[AUT-40] an operation that is never content causes at most three", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make({ confirm: () => Effect.succeed(true) })
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      server.judge = ({ operation }) =>
        operation === "greedy"
          ? { status: 403, challenge: "error=\"insufficient_scope\", scope=\"notes:write\", " }
          : undefined
      const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url, "greedy"))
      assert.deepInclude(causeOf(exit), { _tag: "StepUpLimit", operation: "greedy", limit: 3 })
      assert.lengthOf(ada.windows, 4)
      assert.strictEqual((yield* caller.callAndWait(oauth.authorization, server.url, "write")).status, 200)
    }))

  it.live("a 403 for another reason is final", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make({ confirm: () => Effect.succeed(true) })
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      server.judge = () => ({ status: 403 })
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 403)
      assert.lengthOf(ada.windows, 1)
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
