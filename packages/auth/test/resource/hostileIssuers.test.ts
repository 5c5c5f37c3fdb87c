/** Issuers whose answers break rules, at the servers that trust their tokens. */
import { type OAuthError, TokenVerifier } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as OAuthHttp from "../../src/internal/fetch/OAuthHttp.ts"
import * as ExchangeRequest from "../../src/internal/resource/ExchangeRequest.ts"
import * as Introspection from "../../src/internal/resource/Introspection.ts"
import * as Issuer from "../support/issuer.ts"
import * as MetadataServer from "../support/metadataServer.ts"
import { resource, sendToken, serve } from "../support/resourceServer.ts"

const client = { clientId: "notes-server", secret: Redacted.make("secret") }

const remote = "https://issuer.example"

/** Returns HTTP that finds this metadata of the issuer, and sends everything else, and the servers of the requests. */
const withMetadata = Effect.fnUntraced(function*(metadata: object) {
  const real = yield* OAuthHttp.makePlatform({ allowedOrigins: [remote] })
  const servers: Array<string> = []
  const http: OAuthHttp.OAuthHttp = {
    ...real,
    send: (server, request) => {
      servers.push(server.href)
      if (!request.url.pathname.startsWith("/.well-known/")) return real.send(server, request)
      const headers = { "content-type": "application/json" }
      return Effect.succeed({ status: 200, headers, text: JSON.stringify({ issuer: remote, ...metadata }) })
    }
  }
  return { http, servers }
})

/** Returns the status of a request with a token about which the issuer answers this. */
const statusOf = Effect.fnUntraced(function*(answer: object) {
  const issuer = yield* MetadataServer.start
  issuer.routes.set("/introspect", { json: { active: true, sub: "ada", aud: resource, ...answer } })
  const verifier = TokenVerifier.introspection(issuer.origin, { client, url: `${issuer.origin}/introspect` })
  const server = yield* serve({ resource, issuers: [verifier] })
  return (yield* sendToken(server, "token")).status
}, Effect.scoped)

describe("an endpoint that the metadata of an issuer names", () => {
  it.live("[AUT-31] [AUT-54] gets no question about a token in the clear or in a private network", () =>
    Effect.gen(function*() {
      const { origin, requests, routes } = yield* MetadataServer.start
      routes.set("/introspect", { json: { active: true, sub: "eve", aud: resource } })
      const { http } = yield* withMetadata({ introspection_endpoint: `${origin}/introspect` })
      const rules = {
        issuer: remote,
        audience: undefined,
        skewMillis: 0,
        subjectOf: () => "ada",
        url: undefined,
        client,
        requiresAudience: true
      }
      const verify = Introspection.make(rules, http, yield* Clock.Clock)
      const error = yield* Effect.flip(verify(Redacted.make("token"), resource))
      assert.strictEqual(error._tag, "Unavailable")
      assert.lengthOf(requests, 0)
    }))

  it.live("[AUT-54] is requested because of the issuer, so that the address of its name is checked", () =>
    Effect.gen(function*() {
      const { http, servers } = yield* withMetadata({ token_endpoint: "https://name.invalid/token" })
      const exchanger = { issuer: remote, client, tokenEndpoint: undefined }
      const exchange = ExchangeRequest.make(exchanger, http, yield* Clock.Clock)
      const error: OAuthError.OAuthError = yield* Effect.flip(exchange(Redacted.make("token"), { audience: "api" }))
      assert.strictEqual(error.reason._tag, "Unavailable")
      assert.deepStrictEqual(Array.from(new Set(servers)), [`${remote}/`])
    }))
})

describe("the answer of an issuer about a token", () => {
  it.live("counts only with the types of RFC 7662", () =>
    Effect.gen(function*() {
      const now = Math.floor(Date.now() / 1000)
      const answers: ReadonlyArray<readonly [number, object]> = [
        [200, {}],
        [200, { exp: now + 60, nbf: now - 60 }],
        [200, { nbf: null }],
        [503, { active: "true" }],
        [503, { active: 1 }],
        [401, { active: false }],
        [401, { exp: `${now + 60}` }],
        [401, { nbf: `${now + 600}` }],
        [401, { nbf: {} }],
        [401, { aud: { resource } }],
        [401, { aud: [[resource]] }],
        [401, { iss: ["https://issuer.example"] }],
        [401, { sub: 42 }],
        [401, { sub: { id: "ada" } }],
        [401, { sub: "" }]
      ]
      for (const [status, answer] of answers) {
        assert.strictEqual(yield* statusOf({ client_id: "app", ...answer }), status, JSON.stringify(answer))
      }
    }))
})

describe("accounts of one client", () => {
  it.live("[AUT-55] do not become the client if the issuer names them by numbers", () =>
    Effect.gen(function*() {
      const issuer = yield* Issuer.start
      const server = yield* serve({ resource, issuers: [issuer.url] })
      for (const [sub, status] of [[1, 401], [2, 401], [["ada"], 401], ["", 401], ["ada", 200]] as const) {
        const token = yield* issuer.sign({ aud: resource, sub, client_id: "app" })
        assert.strictEqual((yield* sendToken(server, token)).status, status, JSON.stringify(sub))
      }
      const ofClient = yield* issuer.sign({ aud: resource, sub: undefined, client_id: "app" })
      assert.strictEqual((yield* sendToken(server, ofClient)).status, 200)
    }))
})

describe("the memory of verified tokens", () => {
  it.live("is bounded in bytes, whatever tokens a client collects", () =>
    Effect.gen(function*() {
      let verified = 0
      const verifier = TokenVerifier.custom(remote, {
        rememberFor: "1 minute",
        verify: (token) =>
          Effect.sync(() => {
            verified++
            const scopes = Redacted.value(token).startsWith("many")
              ? Array.from({ length: 100 }, (_, n) => `s${n}`)
              : []
            return { subject: "eve", scopes, expiresAt: undefined, claims: {} }
          })
      })
      const server = yield* serve({ resource, issuers: [verifier], maxRememberedTokens: 3 })
      /** Returns how often the tokens are verified if each is sent twice. */
      const verifications = Effect.fnUntraced(function*(...tokens: ReadonlyArray<string>) {
        const before = verified
        for (const token of [...tokens, ...tokens]) {
          assert.strictEqual((yield* sendToken(server, token)).status, 200)
        }
        return verified - before
      })
      assert.strictEqual(yield* verifications("a", "b", "c"), 3)
      assert.strictEqual(yield* verifications("a".repeat(4_000), "b".repeat(4_000)), 4)
      assert.strictEqual(yield* verifications("many"), 2)
    }))
})

describe("a token that an issuer gives for an API", () => {
  it.live("[AUT-43] is an access token, with the characters of a header", () =>
    Effect.gen(function*() {
      const { origin, routes } = yield* MetadataServer.start
      const http = yield* OAuthHttp.makePlatform({ allowedOrigins: [origin] })
      const exchanger = { issuer: origin, client, tokenEndpoint: `${origin}/token` }
      const exchange = ExchangeRequest.make(exchanger, http, yield* Clock.Clock)
      const granted = (answer: object) => {
        routes.set("/token", { json: { access_token: "other", token_type: "Bearer", ...answer } })
        return Effect.result(exchange(Redacted.make("token"), { audience: "api" }))
      }
      const type = (name: string) => ({ issued_token_type: `urn:ietf:params:oauth:token-type:${name}` })
      for (const answer of [{}, type("access_token"), type("jwt")]) {
        assert.strictEqual((yield* granted(answer))._tag, "Success", JSON.stringify(answer))
      }
      const rejected = [type("refresh_token"), type("id_token"), { issued_token_type: 7 }, {
        access_token: "a\r\nx: y"
      }]
      for (const answer of rejected) {
        const result = yield* granted(answer)
        const reason = result._tag === "Failure" ? result.failure.reason : undefined
        assert.deepInclude(reason, { _tag: "TokenRequestFailed", error: "invalid_response" }, JSON.stringify(answer))
      }
    }))
})
