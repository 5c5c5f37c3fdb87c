/** Sign-ins of many users, with clients that issuers forget, and what is recorded of them. */
import { OAuthError, TokenStore, WebUserAgent } from "@effect-mcp/auth"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import * as caller from "./support/caller.ts"
import { build, started } from "./support/clients.ts"
import * as person from "./support/person.ts"
import * as scriptedPerson from "./support/scriptedPerson.ts"

it.live("users of a web application sign in through its pages, each with their own tokens in one store", () =>
  Effect.gen(function*() {
    const { identity, server } = yield* started()
    const redirectUri = "https://app.example/oauth/callback"
    const users = WebUserAgent.make({ redirectUri })
    const store = yield* TokenStore.makeMemory()
    const oauthOf = (user: string) => build({ userAgent: users.of(user), store, account: user })
    for (const user of ["ada", "bob"]) {
      const oauth = yield* oauthOf(user)
      const signIn = yield* oauth.start(server.url)
      const { url: redirect } = yield* Effect.promise(() =>
        person.visit(signIn?.url ?? "", { login: user, stopAt: redirectUri })
      )
      assert.isFalse(yield* users.complete("eve", redirect.searchParams), "the session of another user")
      assert.isTrue(yield* users.complete(user, redirect.searchParams))
      yield* signIn?.authorized ?? Effect.void
    }
    for (const user of ["ada", "bob"]) {
      const oauth = yield* oauthOf(user)
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).account, user)
    }
    assert.lengthOf(identity.to("/auth").filter(({ query }) => query.get("redirect_uri") !== redirectUri), 0)
  }))

it.live("[AUT-18] a client that the issuer has forgotten is registered anew, once the person acts", () =>
  Effect.gen(function*() {
    const { identity, server } = yield* started()
    const ada = scriptedPerson.make()
    const oauth = yield* build({ userAgent: ada.userAgent })
    yield* caller.callAndWait(oauth.authorization, server.url)
    const old = server.calls.at(-1)?.authorization
    server.judge = ({ authorization }) => authorization === old ? { status: 401, challenge: "" } : undefined
    identity.intercept = (request, response) => {
      if (request.url !== "/token") return false
      identity.intercept = undefined
      response.writeHead(401, { "content-type": "application/json" }).end(`{"error":"invalid_client"}`)
      return true
    }
    const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
    assert.include(String(Exit.findErrorOption(exit)), "call OAuth.login")
    yield* oauth.login(server.url)
    assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
    assert.lengthOf(identity.to("/reg"), 2)
  }))

it.live("a sign-in that is begun anew without an answer registers a remembered client anew", () =>
  Effect.gen(function*() {
    const { identity, server } = yield* started()
    const store = yield* TokenStore.makeMemory()
    const ada = scriptedPerson.make()
    yield* Effect.scoped(Effect.gen(function*() {
      const oauth = yield* build({ userAgent: ada.userAgent, store })
      yield* oauth.login(server.url)
      yield* oauth.logout(server.url)
    }))
    const act = ada.act
    ada.act = () => Promise.resolve()
    const oauth = yield* build({ userAgent: ada.userAgent, store })
    yield* oauth.start(server.url)
    assert.lengthOf(identity.to("/reg"), 1)
    ada.act = act
    yield* oauth.login(server.url)
    assert.lengthOf(identity.to("/reg"), 2)
  }))

it.live("a sign-in that is begun anew keeps the client of tokens that another program has stored", () =>
  Effect.gen(function*() {
    const { identity, server } = yield* started()
    const store = yield* TokenStore.makeMemory()
    const ada = scriptedPerson.make()
    const first = yield* build({ userAgent: ada.userAgent, store })
    yield* first.login(server.url)
    const bob = scriptedPerson.make()
    bob.act = () => Promise.resolve()
    const second = yield* build({ userAgent: bob.userAgent, store })
    yield* second.start(server.url)
    yield* second.start(server.url)
    assert.lengthOf(identity.to("/reg"), 1)
  }))

it.live("a program uses the tokens that another one has stored, also if that one is another client", () =>
  Effect.gen(function*() {
    const { identity, server } = yield* started()
    const store = yield* TokenStore.makeMemory()
    const ada = scriptedPerson.make()
    const first = yield* build({ userAgent: ada.userAgent, store })
    yield* caller.callAndWait(first.authorization, server.url)
    const old = server.calls.at(-1)?.authorization
    const key = { _tag: "Registration", issuer: identity.issuer, account: "default" } as const
    yield* store.remove(key, (yield* store.read(key))?.version ?? "")
    const second = yield* build({ userAgent: scriptedPerson.make().userAgent, store })
    yield* second.login(server.url)
    assert.lengthOf(identity.to("/reg"), 2)

    server.judge = ({ authorization }) => authorization === old ? { status: 401, challenge: "" } : undefined
    assert.strictEqual((yield* caller.call(first.authorization, server.url)).status, 200)
    assert.lengthOf(ada.windows, 1)
  }))

it.live("a program whose window is not answered uses the tokens that another one has stored meanwhile", () =>
  Effect.gen(function*() {
    const { server } = yield* started()
    const store = yield* TokenStore.makeMemory()
    const ada = scriptedPerson.make()
    ada.act = () => Promise.resolve()
    const first = yield* build({ userAgent: ada.userAgent, store })
    const exit = yield* Effect.exit(caller.call(first.authorization, server.url))
    const error = Exit.findErrorOption(exit)
    assert.strictEqual(error._tag === "Some" && error.value.reason._tag, "AuthorizationRequired")
    const second = yield* build({ userAgent: scriptedPerson.make().userAgent, store })
    yield* second.login(server.url)
    assert.strictEqual((yield* caller.call(first.authorization, server.url)).status, 200)
  }))

it.live("an outage before the window opens does not use up the window", () =>
  Effect.gen(function*() {
    const { identity, server } = yield* started()
    identity.intercept = (request, response) => {
      if (request.url !== "/reg") return false
      identity.intercept = undefined
      response.writeHead(503).end()
      return true
    }
    const ada = scriptedPerson.make()
    const oauth = yield* build({ userAgent: ada.userAgent })
    const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
    assert.include(String(Exit.findErrorOption(exit)), "cannot be used now")
    assert.strictEqual((yield* caller.callAndWait(oauth.authorization, server.url)).status, 200)
    assert.lengthOf(ada.windows, 1)
  }))

it.live("no log, span or error has a token, a code, a verifier or a secret", () =>
  Effect.gen(function*() {
    const records: Array<string> = []
    const logger = Logger.make(({ cause, message }) => void records.push(JSON.stringify([message, cause])))
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        records.push(span.name)
        const attribute = span.attribute.bind(span)
        span.attribute = (key, value) => {
          records.push(`${key}=${String(value)}`)
          attribute(key, value)
        }
        return span
      }
    })
    const { identity, server } = yield* started()
    yield* Effect.gen(function*() {
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      const old = server.calls.at(-1)?.authorization
      server.judge = ({ authorization }) => authorization === old ? { status: 401, challenge: "" } : undefined
      yield* caller.call(oauth.authorization, server.url)
      server.judge = () => ({ status: 401, challenge: "" })
      const exit = yield* Effect.exit(caller.call(oauth.authorization, server.url))
      const error = Exit.findErrorOption(exit)
      records.push(JSON.stringify(exit), String(error), OAuthError.make({ _tag: "TokenRejected", server: "x" }).message)
      yield* oauth.logout(server.url)
    }).pipe(
      Effect.withSpan("test"),
      Effect.provideService(Tracer.Tracer, tracer),
      Effect.provideService(References.MinimumLogLevel, "All"),
      Effect.provide(Logger.layer([logger])),
      Effect.scoped
    )
    const secrets = [
      ...identity.to("/token").flatMap(({ body }) =>
        ["code", "code_verifier", "refresh_token"].flatMap((name) => body.get(name) ?? [])
      ),
      ...server.calls.flatMap(({ authorization }) => authorization?.slice("Bearer ".length) ?? [])
    ]
    assert.isAbove(secrets.length, 5)
    assert.include(records, "test")
    const all = records.join("\n")
    for (const secret of secrets) assert.notInclude(all, secret)
  }))
