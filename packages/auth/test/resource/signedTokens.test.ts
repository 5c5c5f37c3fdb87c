/** Signed tokens at a protected server: what is accepted, what is rejected, and the keys of the issuer. */
import { ResourceServer, TokenVerifier } from "@effect-mcp/auth"
import { AuthenticationChallenge } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as jose from "jose"
import { makeKey } from "../fixtures/oidcProvider.mjs"
import * as Issuer from "../support/issuer.ts"
import { type Answer, resource, send, sendToken, serve } from "../support/resourceServer.ts"
import * as ShiftedClock from "../support/shiftedClock.ts"

const bearerOf = ({ challenge }: Answer): Readonly<Record<string, string>> =>
  AuthenticationChallenge.find(AuthenticationChallenge.parse(challenge), "Bearer")?.parameters ?? {}

const scopes = ["notes:read", "notes:write", "offline_access"]

const metadataUrl = "https://notes.example/.well-known/oauth-protected-resource/mcp"

/** An issuer, and a server that trusts it. */
const start = Effect.fnUntraced(function*(options: TokenVerifier.JwtOptions = {}) {
  const issuer = yield* Issuer.start
  const clock = yield* ShiftedClock.make
  const server = yield* serve({ resource, scopes, issuers: [TokenVerifier.jwt(issuer.url, options)] }, { clock })
  return { clock, issuer, server }
})

/** Returns a JWT with the algorithm `none`. */
const unsigned = (claims: jose.JWTPayload): string => {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
  return `${part({ alg: "none", typ: "at+jwt" })}.${part(claims)}.`
}

describe("a protected server", () => {
  it.live(
    "[AUT-02] [AUT-03] [AUT-45] [AUT-49] rejects a request without a token with a challenge that has no error",
    () =>
      Effect.gen(function*() {
        const { server } = yield* start()
        for (const headers of [[], ["Authorization", "Basic YTpi"]]) {
          const answer = yield* send(server, headers)
          assert.strictEqual(answer.status, 401)
          assert.deepStrictEqual({ ...bearerOf(answer) }, {
            resource_metadata: metadataUrl,
            scope: "notes:read notes:write"
          })
        }
      })
  )

  it.live("[AUT-41] [AUT-42] accepts a token that the issuer has issued for it", () =>
    Effect.gen(function*() {
      const { issuer, server } = yield* start()
      const token = yield* issuer.token({ resource, scope: "notes:read" })
      assert.strictEqual((yield* sendToken(server, token)).status, 200)
      // The keys are requested once.
      assert.strictEqual((yield* sendToken(server, yield* issuer.sign({ aud: resource }))).status, 200)
      assert.strictEqual(issuer.count("/jwks"), 1)
      const several = yield* issuer.sign({ aud: ["https://other.example", resource] })
      assert.strictEqual((yield* sendToken(server, several)).status, 200)
    }))

  it.live("[AUT-24] accepts its scheme and its host in upper case, in the audience and in its own URL", () =>
    Effect.gen(function*() {
      const issuer = yield* Issuer.start
      const spellings = [resource, "HTTPS://NOTES.EXAMPLE/mcp"]
      for (const own of spellings) {
        const server = yield* serve({ resource: own, issuers: [issuer.url] })
        for (const aud of spellings) {
          assert.strictEqual((yield* sendToken(server, yield* issuer.sign({ aud }))).status, 200)
        }
        for (const aud of ["HTTPS://NOTES.EXAMPLE/MCP", "HTTPS://NOTES.EXAMPLE", "HTTPS://OTHER.EXAMPLE/mcp"]) {
          assert.strictEqual((yield* sendToken(server, yield* issuer.sign({ aud }))).status, 401)
        }
        const metadata = yield* send(server, [], { method: "GET", path: "/.well-known/oauth-protected-resource/mcp" })
        assert.strictEqual(JSON.parse(metadata.text).resource, own)
      }
      // A name that the program gives is no URL of this server.
      const server = yield* serve({ resource, issuers: [TokenVerifier.jwt(issuer.url, { audience: "api://notes" })] })
      assert.strictEqual((yield* sendToken(server, yield* issuer.sign({ aud: "api://notes" }))).status, 200)
      assert.strictEqual((yield* sendToken(server, yield* issuer.sign({ aud: "API://NOTES" }))).status, 401)
    }))

  it.live("[AUT-03] [AUT-41] [AUT-42] rejects a token that breaks a rule with 401 and invalid_token", () =>
    Effect.gen(function*() {
      const { issuer, server } = yield* start()
      const other = yield* Effect.promise(() => makeKey())
      const now = Math.floor(Date.now() / 1000)
      const [key] = issuer.keys
      const claims = { iss: issuer.url, aud: resource, sub: "ada", exp: now + 600 }
      const publicText = yield* Effect.promise(async () => key === undefined ? "" : jose.exportSPKI(key.publicKey))
      const byPublicKey = yield* Effect.promise(() =>
        new jose.SignJWT(claims).setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: key?.kid ?? "" })
          .sign(new TextEncoder().encode(publicText))
      )
      const good = yield* issuer.sign({ aud: resource })
      const tokens: Readonly<Record<string, string>> = {
        "alg none": unsigned(claims),
        "HS256 with the public key": byPublicKey,
        "the key of another": yield* issuer.sign({ aud: resource }, { kid: key?.kid }, other),
        "another issuer": yield* issuer.sign({ aud: resource, iss: "https://evil.example" }),
        "an issuer with a slash": yield* issuer.sign({ aud: resource, iss: `${issuer.url}/` }),
        "no issuer": yield* issuer.sign({ aud: resource, iss: undefined }),
        "another audience": yield* issuer.sign({ aud: "https://other.example/mcp" }),
        "an audience with a slash": yield* issuer.sign({ aud: `${resource}/` }),
        "an audience in capitals": yield* issuer.sign({ aud: resource.toUpperCase() }),
        "no audience": yield* issuer.sign({}),
        "no expiry": yield* issuer.sign({ aud: resource, exp: undefined }),
        "an expiry in words": yield* issuer.sign({ aud: resource, exp: "tomorrow" }),
        "past expiry": yield* issuer.sign({ aud: resource, exp: now - 31 }),
        "a future nbf": yield* issuer.sign({ aud: resource, nbf: now + 120 }),
        "no subject": yield* issuer.sign({ aud: resource, sub: undefined, client_id: undefined }),
        "the type of an ID token": yield* issuer.sign({ aud: resource }, { typ: "JWT" }),
        "no type": yield* issuer.sign({ aud: resource }, { typ: undefined }),
        "an unknown confirmation": yield* issuer.sign({ aud: resource, cnf: { "x5t#S256": "abc" } }),
        "a changed signature": `${good.slice(0, -4)}AAAA`,
        "no token of this server": "opaque-token",
        "two parts": good.split(".").slice(0, 2).join(".")
      }
      for (const [name, token] of Object.entries(tokens)) {
        const answer = yield* sendToken(server, token)
        assert.strictEqual(answer.status, 401, name)
        const { error, resource_metadata, scope } = bearerOf(answer)["error"] === undefined
          ? AuthenticationChallenge.parse(answer.challenge)[0]?.parameters ?? {}
          : bearerOf(answer)
        assert.strictEqual(error, "invalid_token", name)
        assert.strictEqual(resource_metadata, metadataUrl, name)
        assert.strictEqual(scope, "notes:read notes:write", name)
      }
      assert.strictEqual((yield* sendToken(server, good)).status, 200)
    }))

  it.live("[AUT-44] rejects malformed credentials with 400 and invalid_request", () =>
    Effect.gen(function*() {
      const { issuer, server } = yield* start()
      const token = yield* issuer.sign({ aud: resource })
      const bearer = `Bearer ${token}`
      const requests: Readonly<Record<string, Effect.Effect<Answer>>> = {
        "two headers": send(server, ["Authorization", bearer, "authorization", bearer]),
        "two tokens": send(server, ["Authorization", `${bearer}, ${bearer}`]),
        "no token": send(server, ["Authorization", "Bearer"]),
        "a token with other characters": send(server, ["Authorization", "Bearer a\"b"]),
        "64 KB": send(server, ["Authorization", `Bearer ${"a".repeat(65_536)}`]),
        "a token in the query": send(server, [], { path: `/mcp?access_token=${token}` }),
        "a token in the query, encoded": send(server, [], { path: `/mcp?x=1&access%5Ftoken=${token}` }),
        "tokens in both places": send(server, ["Authorization", bearer], { path: `/mcp?access_token=${token}` })
      }
      for (const [name, request] of Object.entries(requests)) {
        const answer = yield* request
        assert.strictEqual(answer.status, 400, name)
        assert.strictEqual(bearerOf(answer)["error"], "invalid_request", name)
        assert.notInclude(answer.text + answer.challenge, token, name)
      }
    }))

  it.live("[AUT-51] checks the upgrade to a WebSocket in the same way", () =>
    Effect.gen(function*() {
      const { issuer, server } = yield* start()
      const upgrade = (...headers: ReadonlyArray<string>) => send(server, headers, { method: "GET", path: "/socket" })
      assert.strictEqual((yield* upgrade()).status, 401)
      assert.strictEqual((yield* upgrade("Authorization", "Bearer wrong")).status, 401)
      const token = yield* issuer.sign({ aud: resource })
      // The token is accepted, and the request is no upgrade.
      assert.strictEqual((yield* upgrade("Authorization", `Bearer ${token}`)).status, 426)
    }))

  it.live("accepts the options of an issuer: audience, types, skew and subject", () =>
    Effect.gen(function*() {
      const { issuer, server } = yield* start({
        audience: ["api://notes"],
        types: ["JWT", ""],
        clockSkew: "2 minutes",
        subject: ({ oid }) => typeof oid === "string" ? oid : undefined
      })
      const now = Math.floor(Date.now() / 1000)
      const claims = { aud: "api://notes", oid: "o-1" }
      const accepted = [
        yield* issuer.sign(claims, { typ: "JWT" }),
        yield* issuer.sign(claims, { typ: "application/jwt" }),
        yield* issuer.sign(claims, { typ: undefined }),
        yield* issuer.sign({ ...claims, exp: now - 100, nbf: now + 100 }, { typ: "JWT" })
      ]
      for (const token of accepted) assert.strictEqual((yield* sendToken(server, token)).status, 200)
      const rejected = [
        yield* issuer.sign(claims),
        yield* issuer.sign({ ...claims, aud: resource }, { typ: "JWT" }),
        yield* issuer.sign({ ...claims, oid: undefined }, { typ: "JWT" }),
        yield* issuer.sign({ ...claims, exp: now - 121 }, { typ: "JWT" })
      ]
      for (const token of rejected) assert.strictEqual((yield* sendToken(server, token)).status, 401)
    }))
})

describe("the keys of an issuer", () => {
  it.live("are requested once for many requests at the same time", () =>
    Effect.gen(function*() {
      const { issuer, server } = yield* start()
      const tokens = yield* Effect.all(Array.from({ length: 20 }, () => issuer.sign({ aud: resource })))
      const answers = yield* Effect.forEach(tokens, (token) => sendToken(server, token), { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
      assert.strictEqual(issuer.count("/jwks"), 1)
    }))

  it.live("are requested again for a new key, and once in a cool-down for unknown ones", () =>
    Effect.gen(function*() {
      const { clock, issuer, server } = yield* start()
      assert.strictEqual((yield* sendToken(server, yield* issuer.sign({ aud: resource }))).status, 200)
      yield* issuer.rotate
      assert.strictEqual((yield* sendToken(server, yield* issuer.token({ resource }))).status, 200)
      assert.strictEqual(issuer.count("/jwks"), 2)
      const flood = yield* Effect.all(
        Array.from({ length: 50 }, () => issuer.sign({ aud: resource }, { kid: crypto.randomUUID() }))
      )
      const answers = yield* Effect.forEach(flood, (token) => sendToken(server, token), { concurrency: 10 })
      assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([401]))
      assert.strictEqual(issuer.count("/jwks"), 2)
      clock.shift(30_000)
      yield* Effect.forEach(flood, (token) => sendToken(server, token), { concurrency: 10 })
      assert.strictEqual(issuer.count("/jwks"), 3)
    }))

  it.live("stay valid while the issuer is down, and requests with unknown keys are rejected with 503", () =>
    Effect.gen(function*() {
      const { clock, issuer, server } = yield* start({ keysRefreshAfter: 0, rememberFor: 0 })
      const token = yield* issuer.sign({ aud: resource })
      assert.strictEqual((yield* sendToken(server, token)).status, 200)
      issuer.state = "down"
      assert.strictEqual((yield* sendToken(server, yield* issuer.sign({ aud: resource }))).status, 200)
      const unknown = yield* issuer.sign({ aud: resource }, { kid: "new" })
      const answer = yield* sendToken(server, unknown)
      assert.strictEqual(answer.status, 503)
      assert.isDefined(answer.headers["retry-after"])
      assert.isUndefined(answer.headers["www-authenticate"])
      // What is wrong without any key is still rejected.
      assert.strictEqual((yield* sendToken(server, yield* issuer.sign({ aud: resource }, { typ: "JWT" }))).status, 401)
      issuer.state = "up"
      clock.shift(30_000)
      assert.strictEqual((yield* sendToken(server, unknown)).status, 401)
    }))

  it.live("are not used after their time, and every request is rejected with 503", () =>
    Effect.gen(function*() {
      const { clock, issuer, server } = yield* start({ rememberFor: 0 })
      const token = yield* issuer.sign({ aud: resource, exp: Math.floor(Date.now() / 1000) + 100_000 })
      assert.strictEqual((yield* sendToken(server, token)).status, 200)
      issuer.state = "down"
      clock.shift(80_000_000)
      assert.strictEqual((yield* sendToken(server, token)).status, 200)
      clock.shift(6_400_000)
      assert.strictEqual((yield* sendToken(server, token)).status, 503)
      issuer.state = "up"
      clock.shift(30_000)
      assert.strictEqual((yield* sendToken(server, token)).status, 200)
    }))

  it.live("that were never fetched cost an unreachable issuer one request in a pause", () =>
    Effect.gen(function*() {
      const { clock, issuer, server } = yield* start({})
      issuer.state = "down"
      const tokens = yield* Effect.all(Array.from({ length: 10 }, () => issuer.sign({ aud: resource })))
      const answers = yield* Effect.forEach(tokens, (token) => sendToken(server, token), { concurrency: 5 })
      assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([503]))
      assert.strictEqual(issuer.requests.length, 1)
      issuer.state = "up"
      assert.strictEqual((yield* sendToken(server, yield* issuer.sign({ aud: resource }))).status, 503)
      clock.shift(2_000)
      assert.strictEqual((yield* sendToken(server, yield* issuer.sign({ aud: resource }))).status, 200)
    }))

  it.live("can be at a place that the program names", () =>
    Effect.gen(function*() {
      const issuer = yield* Issuer.start
      const server = yield* serve({
        resource,
        issuers: [TokenVerifier.jwt("https://login.example", { jwksUri: `${issuer.url}/jwks` })]
      })
      const token = yield* issuer.sign({ aud: resource, iss: "https://login.example" })
      assert.strictEqual((yield* sendToken(server, token)).status, 200)
      assert.deepStrictEqual(issuer.requests, ["/jwks"])
    }))
})

describe("a verified token", () => {
  it.live("is remembered, and rejected after its expiry", () =>
    Effect.gen(function*() {
      const { clock, issuer, server } = yield* start({ clockSkew: 0 })
      const token = yield* issuer.sign({ aud: resource, exp: Math.floor(Date.now() / 1000) + 60 })
      assert.strictEqual((yield* sendToken(server, token)).status, 200)
      issuer.state = "down"
      assert.strictEqual((yield* sendToken(server, token)).status, 200)
      issuer.state = "up"
      clock.shift(60_000)
      const answer = yield* sendToken(server, token)
      assert.strictEqual(answer.status, 401)
      assert.strictEqual(bearerOf(answer)["error"], "invalid_token")
    }))
})

describe("the options of a resource server", () => {
  it("with mistakes are rejected when the program starts", () => {
    const issuers = ["https://login.example"] as const
    const mistakes: ReadonlyArray<() => unknown> = [
      () => ResourceServer.layer({ resource: "/mcp", issuers }),
      () => ResourceServer.layer({ resource: "https://notes.example/mcp#a", issuers }),
      () => ResourceServer.layer({ resource: "https://a:b@notes.example/mcp", issuers }),
      () => ResourceServer.layer({ resource, issuers: ["http://login.example"] }),
      () => ResourceServer.layer({ resource, issuers: ["https://login.example?x=1"] }),
      () => ResourceServer.layer({ resource, issuers, maxTokenBytes: 0 }),
      () => TokenVerifier.jwt("https://login.example", { algorithms: ["HS256"] }),
      () => TokenVerifier.jwt("https://login.example", { algorithms: ["none"] }),
      () => TokenVerifier.jwt("https://login.example", { algorithms: [] }),
      () => TokenVerifier.jwt("https://login.example", { clockSkew: "6 minutes" }),
      () => TokenVerifier.jwt("https://login.example", { jwksUri: "file:///keys" })
    ]
    for (const make of mistakes) assert.throws(make, / must be /)
  })
})
