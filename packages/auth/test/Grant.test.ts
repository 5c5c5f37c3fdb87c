import { Grant, type OAuth } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as jose from "jose"
import type * as http from "node:http"
import * as caller from "./support/caller.ts"
import { build, causeOf, started } from "./support/clients.ts"
import type * as identityServer from "./support/identityServer.ts"

const machine = (more: object) => ({
  client_id: "nightly",
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: [],
  ...more
})

/** Answers token requests in place of the provider. */
const answering = (
  path: string,
  answer: (count: number) => readonly [status: number, body: object]
): identityServer.IdentityServer["intercept"] => {
  let count = 0
  return (request: http.IncomingMessage, response: http.ServerResponse) => {
    if (request.url !== path) return false
    const [status, body] = answer(++count)
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    return true
  }
}

/** A client that authenticates itself by a secret. */
const bySecret = Effect.gen(function*() {
  const { identity, server } = yield* started({
    clients: [machine({ client_secret: "the secret", token_endpoint_auth_method: "client_secret_basic" })]
  })
  const oauth = yield* build({
    grant: Grant.clientCredentials,
    identity: {
      preRegistered: [{ issuer: identity.issuer, clientId: "nightly", secret: Redacted.make("the secret") }]
    }
  })
  return { identity, oauth, server }
})

describe("client credentials", () => {
  it.live("[AUT-23] [AUX-01] a secret gets tokens at the first challenge, for the resource, without registration", () =>
    Effect.gen(function*() {
      const { identity, oauth, server } = yield* bySecret
      const outcome = yield* caller.call(oauth.authorization, server.url)
      assert.deepStrictEqual(outcome, { status: 200, account: "nightly", scope: "notes:read" })
      const [request] = identity.to("/token")
      assert.strictEqual(request?.body.get("resource"), server.resource)
      assert.match(request?.headers.authorization ?? "", /^Basic /)
      assert.lengthOf(identity.to("/reg"), 0)
      const written = yield* caller.call(oauth.authorization, server.url, "write")
      assert.deepStrictEqual([written.status, written.scope], [200, "notes:read notes:write"])
    }))

  it.live("[AUX-01] a private key signs an assertion for the issuer", () =>
    Effect.gen(function*() {
      const { privateKey, publicKey } = yield* Effect.promise(() =>
        jose.generateKeyPair("ES256", { extractable: true })
      )
      const jwk = yield* Effect.promise(() => jose.exportJWK(publicKey))
      const key = yield* Effect.promise(() => jose.exportPKCS8(privateKey))
      const { identity, server } = yield* started({
        clients: [machine({
          token_endpoint_auth_method: "private_key_jwt",
          token_endpoint_auth_signing_alg: "ES256",
          jwks: { keys: [{ ...jwk, use: "sig" }] }
        })]
      })
      const oauth = yield* build({
        grant: Grant.clientCredentials,
        identity: {
          preRegistered: [{
            issuer: identity.issuer,
            clientId: "nightly",
            privateKey: { key: Redacted.make(key), algorithm: "ES256" }
          }]
        }
      })
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).account, "nightly")
      const assertion = identity.to("/token")[0]?.body.get("client_assertion") ?? ""
      const { aud, iss, sub } = jose.decodeJwt(assertion)
      assert.deepStrictEqual([iss, sub, aud], ["nightly", "nightly", identity.issuer])
    }))

  it.live("a token that has expired is requested again before the request is sent", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started({
        accessTokenSeconds: 1,
        clients: [machine({ client_secret: "the secret", token_endpoint_auth_method: "client_secret_post" })]
      })
      const oauth = yield* build({
        grant: Grant.clientCredentials,
        identity: {
          preRegistered: [{
            issuer: identity.issuer,
            clientId: "nightly",
            secret: Redacted.make("the secret"),
            method: "client_secret_post"
          }]
        }
      })
      yield* caller.call(oauth.authorization, server.url)
      yield* Effect.sleep(1_100)
      const before = server.calls.length
      const outcomes = yield* Effect.all(
        Array.from({ length: 5 }, () => caller.call(oauth.authorization, server.url)),
        { concurrency: 5 }
      )
      assert.deepStrictEqual(outcomes.map(({ status }) => status), [200, 200, 200, 200, 200])
      assert.strictEqual(server.calls.length, before + 5, "no request was rejected")
      assert.lengthOf(identity.to("/token"), 2)
    }))

  it.live("a wrong secret is final until login, and the error has no secret", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started({
        clients: [machine({ client_secret: "the secret", token_endpoint_auth_method: "client_secret_basic" })]
      })
      const oauth = yield* build({
        grant: Grant.clientCredentials,
        identity: {
          preRegistered: [{ issuer: identity.issuer, clientId: "nightly", secret: Redacted.make("a wrong one") }]
        }
      })
      for (let attempt = 0; attempt < 2; attempt++) {
        const exit = yield* Effect.exit(caller.call(oauth.authorization, server.url))
        assert.deepInclude(causeOf(exit), { _tag: "TokenRequestFailed", error: "invalid_client" })
        assert.notInclude(JSON.stringify(exit) + String(Exit.findErrorOption(exit)), "wrong one")
      }
      assert.lengthOf(identity.to("/token"), 1)
      yield* Effect.exit(oauth.login(server.url))
      assert.lengthOf(identity.to("/token"), 2)
    }))
})

it.live("a scope that the issuer does not grant is final, and the words of the issuer are escaped", () =>
  Effect.gen(function*() {
    const { identity, server } = yield* started()
    identity.intercept = answering("/token", () => [400, { error: "invalid_scope", error_description: "no\u001b[2J" }])
    const oauth = yield* build({
      grant: Grant.clientCredentials,
      scopes: ["notes:admin"],
      identity: {
        preRegistered: [{ issuer: identity.issuer, clientId: "nightly", secret: Redacted.make("the secret") }]
      }
    })
    for (let attempt = 0; attempt < 2; attempt++) {
      const exit = yield* Effect.exit(caller.call(oauth.authorization, server.url))
      assert.deepInclude(causeOf(exit), { _tag: "TokenRequestFailed", error: "invalid_scope" })
      const message = String(Exit.findErrorOption(exit))
      assert.include(message, "invalid_scope")
      assert.notInclude(message, "\u001b")
    }
    assert.lengthOf(identity.to("/token"), 1)
    assert.strictEqual(identity.to("/token")[0]?.body.get("scope"), "notes:admin notes:read")
  }))

it.live("scopes that the issuer does not add for an operation keep no other operation from its tokens", () =>
  Effect.gen(function*() {
    const { identity, oauth, server } = yield* bySecret
    yield* caller.call(oauth.authorization, server.url)
    identity.intercept = answering("/token", () => [400, { error: "invalid_scope" }])
    for (let attempt = 0; attempt < 5; attempt++) {
      const exit = yield* Effect.exit(caller.call(oauth.authorization, server.url, "write"))
      const expected = attempt < 3 ? "TokenRequestFailed" : "StepUpLimit"
      assert.strictEqual(causeOf(exit)?._tag, expected)
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
    }
    identity.intercept = undefined
    const first = server.calls.at(-1)?.authorization
    server.judge = ({ authorization }) => authorization === first ? { status: 401, challenge: "" } : undefined
    yield* caller.call(oauth.authorization, server.url)
    assert.strictEqual(
      identity.to("/token").at(-1)?.body.get("scope"),
      "notes:read",
      "without the scope that was denied"
    )
  }))

describe("workload identity", () => {
  const assertion = "assertion-of-the-platform"
  const optionsOf = ({ issuer }: identityServer.IdentityServer): OAuth.Options => ({
    grant: Grant.workloadIdentity(Effect.succeed(Redacted.make(`${assertion}\n`))),
    identity: { preRegistered: [{ issuer, clientId: "pod", method: "none" }] }
  })

  it.live("[AUX-06] the assertion is the grant", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      identity.intercept = answering(
        "/token",
        () => [200, { access_token: "t1", token_type: "bearer", expires_in: 60 }]
      )
      server.judge = ({ authorization }) => authorization === "Bearer t1" ? { status: 200 } : undefined
      const oauth = yield* build(optionsOf(identity))
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
      const [request] = identity.to("/token")
      assert.strictEqual(request?.body.get("grant_type"), "urn:ietf:params:oauth:grant-type:jwt-bearer")
      assert.strictEqual(request?.body.get("assertion"), assertion)
      assert.strictEqual(request?.body.get("client_id"), "pod")
    }))

  it.live("[AUX-06] after a rejection there is no retry and no other grant", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      identity.intercept = answering("/token", () => [400, { error: "invalid_grant", error_description: "expired" }])
      const oauth = yield* build(optionsOf(identity))
      for (let attempt = 0; attempt < 3; attempt++) {
        const exit = yield* Effect.exit(caller.call(oauth.authorization, server.url))
        assert.deepInclude(causeOf(exit), { _tag: "TokenRequestFailed", error: "invalid_grant" })
        assert.notInclude(String(Exit.findErrorOption(exit)), assertion)
      }
      assert.lengthOf(identity.to("/token"), 1)
      assert.lengthOf(identity.to("/auth"), 0)
    }))

  it.live("an issuer that is out of reach is asked again, and an assertion that dies is contained", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      identity.intercept = answering(
        "/token",
        (count) => count === 1 ? [503, {}] : [200, { access_token: "t1", token_type: "Bearer" }]
      )
      server.judge = ({ authorization }) => authorization === "Bearer t1" ? { status: 200 } : undefined
      const oauth = yield* build(optionsOf(identity))
      const exit = yield* Effect.exit(caller.call(oauth.authorization, server.url))
      assert.strictEqual(causeOf(exit)?._tag, "Unavailable")
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
      const dying = yield* build({
        ...optionsOf(identity),
        grant: Grant.workloadIdentity(Effect.die(new Error(assertion)))
      })
      const died = yield* Effect.exit(caller.call(dying.authorization, server.url))
      assert.strictEqual(causeOf(died)?._tag, "Unavailable")
      assert.notInclude(String(Exit.findErrorOption(died)), assertion)
    }))
})

describe("enterprise-managed authorization", () => {
  const optionsOf = ({ issuer }: identityServer.IdentityServer): OAuth.Options => ({
    grant: Grant.enterpriseManaged({
      provider: {
        issuer,
        tokenEndpoint: `${issuer}/exchange`,
        client: { clientId: "at the provider", secret: Redacted.make("s1") }
      },
      subject: Effect.succeed({ token: Redacted.make("the ID token") })
    }),
    identity: { preRegistered: [{ issuer, clientId: "at the server", secret: Redacted.make("s2") }] }
  })

  const basic = (id: string, secret: string) =>
    `Basic ${Buffer.from(`${id.replaceAll(" ", "+")}:${secret}`).toString("base64")}`

  it.live("[AUX-03] [AUX-04] the ID token is exchanged for an assertion, and the assertion for a token", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      const exchange = answering("/exchange", () => [200, {
        access_token: "id-jag",
        issued_token_type: "urn:ietf:params:oauth:token-type:id-jag",
        token_type: "N_A"
      }])
      const token = answering("/token", () => [200, { access_token: "t1", token_type: "Bearer" }])
      identity.intercept = (request, response) =>
        exchange?.(request, response) === true || token?.(request, response) === true
      server.judge = ({ authorization }) => authorization === "Bearer t1" ? { status: 200 } : undefined
      const oauth = yield* build(optionsOf(identity))
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
      const [exchanged] = identity.to("/exchange")
      assert.deepStrictEqual(Object.fromEntries(exchanged?.body ?? []), {
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        requested_token_type: "urn:ietf:params:oauth:token-type:id-jag",
        audience: identity.issuer,
        resource: server.resource,
        scope: "notes:read",
        subject_token: "the ID token",
        subject_token_type: "urn:ietf:params:oauth:token-type:id_token"
      })
      assert.strictEqual(exchanged?.headers.authorization, basic("at the provider", "s1"))
      const [granted] = identity.to("/token")
      assert.strictEqual(granted?.body.get("grant_type"), "urn:ietf:params:oauth:grant-type:jwt-bearer")
      assert.strictEqual(granted?.body.get("assertion"), "id-jag")
      assert.strictEqual(granted?.headers.authorization, basic("at the server", "s2"))
    }))

  it.live("[AUX-03] a token of another type is not used as the assertion", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      identity.intercept = answering("/exchange", () => [200, {
        access_token: "other",
        issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
        token_type: "N_A"
      }])
      const oauth = yield* build(optionsOf(identity))
      const exit = yield* Effect.exit(caller.call(oauth.authorization, server.url))
      assert.deepInclude(causeOf(exit), { _tag: "TokenRequestFailed", error: "invalid_response" })
      assert.lengthOf(identity.to("/token"), 0)
    }))
})
