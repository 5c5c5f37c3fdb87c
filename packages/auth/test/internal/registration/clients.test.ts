import { TokenStore } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import type { Target } from "../../../src/internal/discovery/Target.ts"
import * as OAuthHttp from "../../../src/internal/fetch/OAuthHttp.ts"
import * as Registration from "../../../src/internal/registration/Registration.ts"
import { reasonOf } from "../../support/discovery.ts"
import * as MetadataServer from "../../support/metadataServer.ts"

const loopback = { uri: "http://127.0.0.1:4444/callback", applicationType: "native" } as const

/** Starts an authorization server that registers clients `c1`, `c2` and so on. */
const start = Effect.fnUntraced(function*(members: object = {}) {
  const server = yield* MetadataServer.start
  const bodies: Array<unknown> = []
  server.routes.set("/register", (response, { body }) => {
    bodies.push(JSON.parse(body))
    const json = JSON.stringify({ client_id: `c${bodies.length}`, ...members })
    response.writeHead(201, { "content-type": "application/json" }).end(json)
  })
  return { server, bodies, http: yield* OAuthHttp.makePlatform(), store: yield* TokenStore.makeMemory() }
})

type Started = Effect.Success<ReturnType<typeof start>>

const targetOf = (origin: string, metadata: object = {}): Target => ({
  server: new URL("http://localhost/mcp"),
  resource: "http://localhost/mcp",
  sendsResource: true,
  issuer: origin,
  metadata: {
    issuer: origin,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    ...metadata
  },
  scopes: undefined,
  isLegacy: false
})

const withoutRegistration = { registration_endpoint: undefined }

const make = ({ http, store }: Started, identity: Registration.Identity = {}): Registration.Registration =>
  Registration.make({ http, store, identity, account: "" })

/** Lets the person answer at the issuer of a client. */
const answer = ({ bind }: Registration.RegisteredClient) => bind ?? Effect.void

const idOf = ({ client, source }: Registration.RegisteredClient): string => `${source} ${client.client_id}`

describe("[AUT-15] the order of the ways to a client id", () => {
  const documents = { client_id_metadata_document_supported: true }
  const metadataUrl = "https://client.example/client.json"

  it.live("[AUT-13] pre-registered, document if the server supports it, registration", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const { origin } = started.server
      const target = targetOf(origin, documents)
      const given = [{ issuer: origin, clientId: "given" }]
      const all = make(started, { preRegistered: given, metadataUrl })
      assert.strictEqual(idOf(yield* all.clientFor(target, loopback)), "PreRegistered given")
      const document = make(started, { metadataUrl })
      assert.strictEqual(idOf(yield* document.clientFor(target, loopback)), `MetadataDocument ${metadataUrl}`)
      assert.lengthOf(started.bodies, 0)
      // The authorization server does not support documents.
      assert.strictEqual(idOf(yield* document.clientFor(targetOf(origin), loopback)), "Dynamic c1")
    }))

  it.live("a registration, and no question", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const ask = () => Effect.die(new Error("asked"))
      const client = yield* make(started, { ask }).clientFor(targetOf(started.server.origin), loopback)
      assert.strictEqual(idOf(client), "Dynamic c1")
    }))

  it.live("a question, whose answer is stored, so that it is asked once", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const target = targetOf(started.server.origin, withoutRegistration)
      const issuers: Array<string> = []
      const ask = (issuer: string) =>
        Effect.sync(() => {
          issuers.push(issuer)
          return { clientId: "asked", secret: Redacted.make("s1") }
        })
      for (const _ of [1, 2]) {
        const registration = make(started, { ask })
        assert.strictEqual(idOf(yield* registration.clientFor(target, loopback)), "Asked asked")
        assert.strictEqual(idOf(yield* registration.clientFor(target, loopback)), "Asked asked")
      }
      assert.deepStrictEqual(issuers, [started.server.origin])
    }))

  it.live("no way is NoClient", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const target = targetOf(started.server.origin, withoutRegistration)
      const reason = yield* reasonOf(make(started).clientFor(target, loopback))
      assert.strictEqual(reason._tag, "NoClient")
      const never = make(started, { registration: false, ask: () => Effect.undefined })
      const other = yield* reasonOf(never.clientFor(targetOf(started.server.origin), loopback))
      assert.strictEqual(other._tag, "NoClient")
    }))
})

describe("[AUT-19] a client id belongs to its issuer", () => {
  it.live("[AUT-20] a client that is given for another issuer is an error, and no reason for a registration", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const registration = make(started, { preRegistered: [{ issuer: "https://other.example", clientId: "given" }] })
      const error = yield* Effect.flip(registration.clientFor(targetOf(started.server.origin), loopback))
      assert.include(error.message, "https://other.example")
      assert.lengthOf(started.bodies, 0)
    }))

  it.live("a client without an issuer belongs to the first one that has an answer, also in the next process", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const identity = { preRegistered: [{ clientId: "given", secret: Redacted.make("s1") }] }
      const [first, second] = [targetOf("https://first.example"), targetOf("https://second.example")]
      yield* make(started, identity).clientFor(second, loopback)
      yield* answer(yield* make(started, identity).clientFor(first, loopback))
      for (const registration of [make(started, identity), make(started, identity)]) {
        const error = yield* Effect.flip(registration.clientFor(second, loopback))
        assert.strictEqual(error.reason._tag, "NoClient")
        assert.include(error.message, "https://first.example")
        assert.isUndefined((yield* registration.clientFor(first, loopback)).bind)
      }
      const keys = yield* started.store.keys
      for (const key of keys) {
        const entry = yield* started.store.read(key)
        assert.notInclude(entry === undefined ? "" : Redacted.value(entry.text), "s1")
      }
    }))

  it.live("a client with a secret and without an issuer is used nowhere before a person has answered", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const target = targetOf(started.server.origin)
      const registration = make(started, { preRegistered: [{ clientId: "given", secret: Redacted.make("s1") }] })
      const client = yield* registration.clientFor(target, loopback)
      assert.isUndefined(yield* registration.known(target))
      const error = yield* Effect.flip(registration.clientFor(target))
      assert.include(error.message, "name the `issuer` of the client \"given\"")
      yield* answer(client)
      assert.strictEqual((yield* registration.known(target))?.client.client_id, "given")
      assert.strictEqual(idOf(yield* registration.clientFor(target)), "PreRegistered given")
    }))

  it.live("without a person, a client without an issuer is not used, even if it has no secret", () =>
    Effect.gen(function*() {
      const { http, store } = yield* start()
      const target = targetOf("https://evil.example")
      const identity = { preRegistered: [{ clientId: "given" }] }
      const registration = Registration.make({ http, store, identity, account: "", hasGrant: true })
      assert.strictEqual((yield* reasonOf(registration.clientFor(target)))._tag, "NoClient")
      const person = Registration.make({ http, store, identity, account: "" })
      assert.strictEqual(idOf(yield* person.clientFor(target)), "PreRegistered given")
    }))

  it.live("several clients and a registration of one issuer keep it, and each other", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const [first, second] = [targetOf(started.server.origin), targetOf("https://second.example")]
      const given = (clientId: string) => make(started, { preRegistered: [{ clientId, secret: Redacted.make("s1") }] })
      const registered = make(started)
      yield* answer(yield* given("one").clientFor(first, loopback))
      yield* registered.clientFor(first, loopback)
      yield* answer(yield* given("two").clientFor(first, loopback))
      assert.strictEqual(idOf(yield* registered.clientFor(first, loopback)), "Dynamic c1")
      yield* registered.forget(first, "c1")
      assert.strictEqual(idOf(yield* registered.clientFor(first, loopback)), "Dynamic c2")
      for (const clientId of ["one", "two"]) {
        assert.isUndefined((yield* given(clientId).clientFor(first, loopback)).bind)
        assert.strictEqual((yield* reasonOf(given(clientId).clientFor(second, loopback)))._tag, "NoClient")
      }
    }))

  it.live("a client that two issuers use at once belongs to one of them", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const registration = make(started, { preRegistered: [{ clientId: "given", secret: Redacted.make("s1") }] })
      const issuers = ["https://first.example", "https://second.example"]
      const clients = yield* Effect.forEach(issuers, (issuer) => registration.clientFor(targetOf(issuer), loopback))
      const exits = yield* Effect.forEach(clients, (client) => Effect.exit(answer(client)), { concurrency: 2 })
      assert.lengthOf(exits.filter(Exit.isSuccess), 1)
    }))

  it.live("[AUT-11] each issuer registers a client of its own", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const other = yield* start()
      const registration = make(started)
      const first = targetOf(started.server.origin)
      yield* registration.clientFor(first, loopback)
      yield* registration.clientFor(targetOf(other.server.origin), loopback)
      yield* registration.clientFor(first, loopback)
      assert.lengthOf(started.bodies, 1)
      assert.lengthOf(other.bodies, 1)
    }))
})

describe("[AUT-11] the answer to a question about a client", () => {
  it.live("is for its issuer only", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const ask = (issuer: string) => Effect.succeed({ clientId: `client of ${issuer}` })
      const registration = make(started, { ask })
      const issuers = ["https://first.example", "https://second.example", "https://first.example"]
      for (const issuer of issuers) {
        const client = yield* registration.clientFor(targetOf(issuer, withoutRegistration), loopback)
        assert.strictEqual(idOf(client), `Asked client of ${issuer}`)
      }
    }))
})

describe("[AUT-12] dynamic registration", () => {
  it.live("[AUT-17] [AUT-36] sends the redirect URI, the type of the application and the grants", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const registration = make(started, { registration: { clientName: "Notes" } })
      yield* registration.clientFor(targetOf(started.server.origin), loopback)
      assert.deepStrictEqual(started.bodies, [{
        client_name: "Notes",
        application_type: "native",
        redirect_uris: [loopback.uri],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none"
      }])
      const web = { uri: "https://app.example/callback", applicationType: "web" } as const
      const other = yield* start()
      yield* make(other).clientFor(targetOf(other.server.origin), web)
      assert.deepInclude(other.bodies[0], { application_type: "web", redirect_uris: [web.uri] })
    }))

  it.live("registers a method that the authorization server supports", () =>
    Effect.gen(function*() {
      const methods = ["client_secret_basic", "client_secret_post", "none"]
      for (const [index, method] of methods.entries()) {
        const started = yield* start()
        const supported = {
          token_endpoint_auth_methods_supported: methods.slice(0, index + 1).toReversed().slice(0, 1)
        }
        yield* make(started).clientFor(targetOf(started.server.origin, supported), loopback)
        assert.deepInclude(started.bodies[0], { token_endpoint_auth_method: method })
      }
    }))

  it.live("a registration is stored, and used in the next process", () =>
    Effect.gen(function*() {
      const started = yield* start({ client_secret: "s1", token_endpoint_auth_method: "client_secret_post" })
      const target = targetOf(started.server.origin)
      assert.isUndefined(yield* make(started).known(target))
      yield* make(started).clientFor(target, loopback)
      const next = make(started)
      assert.strictEqual(yield* next.remembered(target), loopback.uri)
      assert.strictEqual(idOf(yield* next.clientFor(target, loopback)), "Dynamic c1")
      const known = yield* next.known(target)
      const [body, headers] = [new URLSearchParams(), new Headers()]
      yield* Effect.promise(async () =>
        known?.clientAuth({ issuer: target.issuer }, { client_id: known.client.client_id }, body, headers)
      )
      assert.strictEqual(body.toString(), "client_id=c1&client_secret=s1")
    }))

  it.live("[AUT-32] another redirect URI is registered before it is used", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const target = targetOf(started.server.origin)
      const registration = make(started)
      yield* registration.clientFor(target, loopback)
      const moved = { ...loopback, uri: "http://127.0.0.1:5555/callback" }
      assert.strictEqual(idOf(yield* registration.clientFor(target, moved)), "Dynamic c2")
      assert.strictEqual(yield* registration.remembered(target), moved.uri)
    }))

  it.live("a client of the device grant has no redirect URI", () =>
    Effect.gen(function*() {
      const started = yield* start()
      yield* make(started).clientFor(targetOf(started.server.origin))
      assert.deepInclude(started.bodies[0], { redirect_uris: [], response_types: [] })
    }))

  it.live("five authorizations at once register one client", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const registration = make(started)
      const target = targetOf(started.server.origin)
      const clients = yield* Effect.all(
        Array.from({ length: 5 }, () => registration.clientFor(target, loopback)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(new Set(clients.map(idOf)), new Set(["Dynamic c1"]))
      assert.lengthOf(started.bodies, 1)
    }))

  it.live("two processes at once end with the same client", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const target = targetOf(started.server.origin)
      const clients = yield* Effect.all(
        [make(started), make(started)].map((registration) => registration.clientFor(target, loopback)),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(Array.from(new Set(clients.map(idOf))), 1)
    }))

  it.live("a secret that has expired is not used: another client is registered", () =>
    Effect.gen(function*() {
      const expiry = Math.floor(Date.now() / 1000) + 30
      const started = yield* start({ client_secret: "s1", client_secret_expires_at: expiry })
      const target = targetOf(started.server.origin)
      yield* make(started).clientFor(target, loopback)
      assert.isUndefined(yield* make(started).known(target))
      assert.strictEqual(idOf(yield* make(started).clientFor(target, loopback)), "Dynamic c2")
    }))

  it.live("[AUT-18] a rejection has the words of the server, and is no NoClient", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const error = { error: "invalid_redirect_uri", error_description: "no\u001b[31mloopback" }
      started.server.routes.set("/register", { json: error, status: 400 })
      const failure = yield* Effect.flip(make(started).clientFor(targetOf(started.server.origin), loopback))
      assert.deepInclude(failure.reason, { _tag: "RegistrationFailed", status: 400 })
      assert.include(failure.message, "invalid_redirect_uri")
      assert.notInclude(failure.message, "\u001b")
    }))

  it.live("a registration endpoint that sends a page, too much, or no client id is RegistrationFailed", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const target = targetOf(started.server.origin)
      const routes: ReadonlyArray<MetadataServer.Route> = [
        (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
        { json: { padding: "x".repeat(100_000) }, status: 201 },
        { json: { client_id: "" }, status: 201 },
        (response) => response.writeHead(307, { location: "https://other.example/register" }).end()
      ]
      for (const route of routes) {
        started.server.routes.set("/register", route)
        assert.strictEqual((yield* reasonOf(make(started).clientFor(target, loopback)))._tag, "RegistrationFailed")
      }
      started.server.routes.set("/register", (response) => response.writeHead(503).end())
      assert.strictEqual((yield* reasonOf(make(started).clientFor(target, loopback)))._tag, "Unavailable")
      assert.isUndefined(yield* make(started).known(target))
    }))
})

describe("a client that the issuer rejects", () => {
  it.live("is registered anew once", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const target = targetOf(started.server.origin)
      const registration = make(started)
      yield* registration.clientFor(target, loopback)
      assert.isTrue(yield* registration.forget(target, "c1"))
      assert.strictEqual(idOf(yield* registration.clientFor(target, loopback)), "Dynamic c2")
      assert.isFalse(yield* registration.forget(target, "c2"))
      assert.strictEqual(idOf(yield* registration.clientFor(target, loopback)), "Dynamic c2")
    }))

  it.live("stays if another program has registered another one meanwhile", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const target = targetOf(started.server.origin)
      yield* make(started).clientFor(target, loopback)
      assert.isTrue(yield* make(started).forget(target, "c0"))
      assert.strictEqual(idOf(yield* make(started).clientFor(target, loopback)), "Dynamic c1")
    }))

  it.live("is not replaced if the program has given it", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const target = targetOf(started.server.origin)
      const registration = make(started, { preRegistered: [{ issuer: target.issuer, clientId: "given" }] })
      assert.isFalse(yield* registration.forget(target, "given"))
    }))
})

describe("a token store that fails", () => {
  it.live("by an exception is StoreFailed, and nothing is registered", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const store = { ...started.store, read: () => Effect.die(new Error("broken")) }
      const effect = make({ ...started, store }).clientFor(targetOf(started.server.origin), loopback)
      assert.strictEqual((yield* reasonOf(effect))._tag, "StoreFailed")
      assert.lengthOf(started.bodies, 0)
    }))

  it.live("an entry that cannot be read is StoreFailed, nothing is registered, and the entry stays", () =>
    Effect.gen(function*() {
      const started = yield* start()
      const target = targetOf(started.server.origin)
      const key = { _tag: "Registration", issuer: target.issuer, account: "" } as const
      for (const text of ["{", "{\"format\":99,\"kind\":\"registration\"}"]) {
        const version = (yield* started.store.read(key))?.version
        yield* started.store.write(key, Redacted.make(text), version)
        assert.strictEqual((yield* reasonOf(make(started).clientFor(target, loopback)))._tag, "StoreFailed")
        const entry = yield* started.store.read(key)
        assert.strictEqual(entry === undefined ? undefined : Redacted.value(entry.text), text)
      }
      assert.lengthOf(started.bodies, 0)
    }))
})
