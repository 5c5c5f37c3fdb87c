/** The authorization at one server, whose discovery and user agent are those of the test. */
import { type OAuthError, TokenStore, UserAgent } from "@effect-mcp/auth"
import type { RejectedRequest } from "@effect-mcp/transport/ClientAuthorization"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { ServerAccess } from "../../src/internal/access/ServerAccess.ts"
import type { ServerSettings } from "../../src/internal/access/ServerSettings.ts"
import { SignInQueue } from "../../src/internal/access/SignInQueue.ts"
import type { Target } from "../../src/internal/discovery/Target.ts"
import * as OAuthHttp from "../../src/internal/fetch/OAuthHttp.ts"
import * as Registration from "../../src/internal/registration/Registration.ts"

const server = new URL("https://notes.example/mcp")
const metadataUrl = "https://client.example/metadata.json"

const targetOf = (issuer: string): Target => ({
  server,
  resource: server.href,
  sendsResource: true,
  issuer,
  metadata: {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    client_id_metadata_document_supported: true
  },
  scopes: undefined,
  isLegacy: false
})

const rejection: RejectedRequest = {
  method: "POST",
  url: server,
  sentWith: {},
  status: 401,
  challenges: [{ scheme: "Bearer", parameters: {} }],
  operation: undefined,
  repetitions: 0,
  header: () => undefined
}

/** Makes the authorization, in a scope of its own. */
const make = Effect.fnUntraced(function*(settings: Partial<ServerSettings> = {}) {
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const http = yield* OAuthHttp.makePlatform()
  const { store = yield* TokenStore.makeMemory() } = settings
  const { identity = { metadataUrl } } = settings
  const access = new ServerAccess({
    server,
    clock: yield* Clock.Clock,
    http,
    store,
    discovery: { discover: () => Effect.succeed(targetOf("https://as.example")) },
    registration: Registration.make({ http, store, identity, account: "default" }),
    identity,
    account: "default",
    userAgent: UserAgent.none,
    grant: undefined,
    scopes: undefined,
    isProven: false,
    redirectUri: undefined,
    queue: new SignInQueue(),
    ...settings
  }, scope)
  return { access, scope }
})

const tagOf = <A>(effect: Effect.Effect<A, OAuthError.OAuthError>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason._tag)

const settled = Effect.repeat(Effect.yieldNow, { times: 50 })

it.effect("the credentials of each issuer end with the next one, if a server names another in each response", () =>
  Effect.gen(function*() {
    let issuers = 0
    const { access, scope } = yield* make({
      discovery: { discover: () => Effect.sync(() => targetOf(`https://${issuers++}.example`)) }
    })
    for (let time = 0; time < 100; time++) {
      yield* Effect.exit(access.rejected(rejection))
      yield* settled
    }
    assert.strictEqual(issuers, 100)
    const { state } = scope
    assert.isBelow(state._tag === "Open" ? state.finalizers?.size ?? 1 : 0, 4)
  }))

describe("a token store whose keys", () => {
  const operations: ReadonlyArray<readonly [string, TokenStore.TokenStore["Service"]["keys"]]> = [
    ["die", Effect.die(new Error("broken"))],
    ["never arrive", Effect.uninterruptible(Effect.never)]
  ]
  for (const [name, keys] of operations) {
    it.effect(`${name} fails each act with StoreFailed`, () =>
      Effect.gen(function*() {
        const memory = yield* TokenStore.makeMemory()
        const { access } = yield* make({ store: { ...memory, keys } })
        const acts: ReadonlyArray<Effect.Effect<unknown, Error>> = [
          access.status,
          access.logout,
          access.headers({ method: "GET", url: server })
        ]
        for (const act of acts) {
          const acting = yield* Effect.forkChild(Effect.flip(act), { startImmediately: true })
          yield* TestClock.adjust("10 seconds")
          assert.include((yield* Fiber.join(acting)).message, "the store is not available")
        }
      }))
  }
})

it.effect("tokens that a failing store keeps are removed by the next logout", () =>
  Effect.gen(function*() {
    const memory = yield* TokenStore.makeMemory()
    let fails = true
    const store: TokenStore.TokenStore["Service"] = {
      ...memory,
      remove: (key, expected) => fails ? Effect.die(new Error("broken")) : memory.remove(key, expected)
    }
    const { access } = yield* make({ store })
    const tokens = { format: 1, kind: "tokens", accessToken: "t", tokenType: "Bearer", issuedAt: 0 }
    yield* memory.write(
      {
        _tag: "Tokens",
        issuer: "https://as.example",
        resource: server.href,
        client: metadataUrl,
        account: "default"
      },
      Redacted.make(JSON.stringify(tokens)),
      undefined
    )
    assert.strictEqual(yield* tagOf(access.logout), "StoreFailed")
    assert.strictEqual((yield* access.status)._tag, "SignedIn")
    assert.lengthOf(yield* memory.keys, 1)
    fails = false
    yield* access.logout
    assert.strictEqual((yield* access.status)._tag, "SignedOut")
    assert.lengthOf(yield* memory.keys, 0)
  }))

describe("a sign-in", () => {
  it.live("begins anew although its user agent cannot be interrupted, and its late end changes nothing", () =>
    Effect.gen(function*() {
      const visits: Array<Deferred.Deferred<URLSearchParams, OAuthError.OAuthError>> = []
      const userAgent: UserAgent.UserAgent = {
        _tag: "Redirect",
        open: () =>
          Effect.succeed({
            uri: "https://app.example/callback",
            applicationType: "web",
            visit: () => {
              const visit = Deferred.makeUnsafe<URLSearchParams, OAuthError.OAuthError>()
              visits.push(visit)
              return Effect.uninterruptible(Deferred.await(visit))
            }
          })
      }
      const { access } = yield* make({ userAgent })
      const first = yield* access.begin(undefined)
      const second = yield* access.begin(undefined)
      assert.strictEqual(second, first)
      assert.lengthOf(visits, 2)
      const [late] = visits
      if (late !== undefined) Deferred.doneUnsafe(late, Effect.succeed(new URLSearchParams({ error: "denied" })))
      yield* settled
      assert.deepInclude(yield* access.status, { _tag: "Authorizing", url: second?.url })
      yield* access.logout
      assert.strictEqual((yield* access.status)._tag, "SignedOut")
      assert.strictEqual(yield* tagOf(first?.authorized ?? Effect.void), "SignInRequired")
    }))

  it.effect("is shown while the host is asked for a client id, so that no request waits for the answer", () =>
    Effect.gen(function*() {
      const identity = { registration: false, ask: () => Effect.never } as const
      const opened = UserAgent.device(() => Effect.void)
      const { access } = yield* make({ identity, userAgent: opened })
      const error = yield* Effect.flip(access.rejected(rejection))
      assert.strictEqual(error.reason._tag, "AuthorizationRequired")
      assert.deepInclude(yield* access.status, { _tag: "Authorizing", url: undefined })
    }))
})
