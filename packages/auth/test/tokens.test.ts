/** The tokens of a client: their renewal, their issuer, and their removal. */
import { ClientIdentity, TokenStore, UserAgent } from "@effect-mcp/auth"
import type { TransportError } from "@effect-mcp/session/TransportError"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as caller from "./support/caller.ts"
import { build, causeOf, started } from "./support/clients.ts"
import * as identityServer from "./support/identityServer.ts"
import * as scriptedPerson from "./support/scriptedPerson.ts"

const isPermanent = <A>(exit: Exit.Exit<A, TransportError>): boolean => {
  const error = Exit.findErrorOption(exit)
  return error._tag === "Some" && error.value.reason._tag === "AuthorizationFailed" &&
    error.value.reason.isPermanent === true
}

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
