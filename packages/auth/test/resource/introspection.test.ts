/** Tokens that their issuer is asked about. */
import { type ResourceServer, TokenVerifier, VerifiedToken } from "@effect-mcp/auth"
import { Principal } from "@effect-mcp/session"
import { Authentication } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { connect } from "../support/constantTokenClient.ts"
import * as Issuer from "../support/issuer.ts"
import { sendToken, serve } from "../support/resourceServer.ts"
import * as ShiftedClock from "../support/shiftedClock.ts"

const resource = "https://notes.example/opaque"

const path = "/token/introspection"

const client = { clientId: "notes-server", secret: Redacted.make(Issuer.secret) }

const start = Effect.fnUntraced(function*(
  options: Partial<TokenVerifier.IntrospectionOptions> = {},
  more: Partial<ResourceServer.Options> = {}
) {
  const issuer = yield* Issuer.start
  const verifier = TokenVerifier.introspection(issuer.url, { client, ...options })
  const clock = yield* ShiftedClock.make
  return { clock, issuer, server: yield* serve({ resource, issuers: [verifier], ...more }, { clock }) }
})

describe("an introspected token", () => {
  it.live("[AUT-41] is accepted if it is active, and remembered for a short time", () =>
    Effect.gen(function*() {
      const { clock, issuer, server } = yield* start()
      const token = yield* issuer.token({ resource, scope: "notes:read" })
      assert.notInclude(token, ".")
      const session = yield* connect(server.url, token)
      yield* session.callTool("any")
      assert.deepInclude(server.principals[0], {
        id: Principal.idOf(issuer.url, "app"),
        scopes: ["notes:read"]
      })
      assert.isNumber(server.principals[0]?.expiresAt)
      assert.strictEqual(issuer.count(path), 1)
      yield* issuer.revoke(token)
      assert.strictEqual((yield* sendToken(server, token)).status, 200)
      clock.shift(30_000)
      assert.strictEqual((yield* sendToken(server, token)).status, 401)
      assert.strictEqual(issuer.count(path), 2)
    }), 15_000)

  it.live("is asked about once by many requests at the same time, and unknown ones are remembered, too", () =>
    Effect.gen(function*() {
      const { issuer, server } = yield* start()
      const token = yield* issuer.token({ resource })
      const statuses = (sent: string) =>
        Effect.map(
          Effect.forEach(Array.from({ length: 10 }), () => sendToken(server, sent), { concurrency: "unbounded" }),
          (answers) => Array.from(new Set(answers.map(({ status }) => status)))
        )
      assert.deepStrictEqual(yield* statuses(token), [200])
      assert.strictEqual(issuer.count(path), 1)
      assert.deepStrictEqual(yield* statuses("unknown"), [401])
      assert.strictEqual(issuer.count(path), 2)
    }))

  it.live("[AUT-42] is rejected if it is meant for another resource, or for none", () =>
    Effect.gen(function*() {
      const { issuer, server } = yield* start()
      const other = yield* issuer.token({ resource: "https://other.example/opaque" })
      assert.strictEqual((yield* sendToken(server, other)).status, 401)
      const none = yield* issuer.token({})
      assert.strictEqual((yield* sendToken(server, none)).status, 401)
      const lenient = yield* serve({
        resource,
        issuers: [TokenVerifier.introspection(issuer.url, { client, acceptWithoutAudience: true })]
      })
      assert.strictEqual((yield* sendToken(lenient, none)).status, 200)
      assert.strictEqual((yield* sendToken(lenient, other)).status, 401)
    }))

  it.live("[AUT-24] is accepted if it is meant for the resource with its scheme and its host in upper case", () =>
    Effect.gen(function*() {
      const { issuer, server } = yield* start()
      const same = yield* issuer.token({ resource: "HTTPS://NOTES.EXAMPLE/opaque" })
      assert.strictEqual((yield* sendToken(server, same)).status, 200)
      const other = yield* issuer.token({ resource: "HTTPS://OTHER.EXAMPLE/opaque" })
      assert.strictEqual((yield* sendToken(server, other)).status, 401)
    }))

  it.live("is rejected with 503, never with 401, if the issuer cannot be asked", () =>
    Effect.gen(function*() {
      const { issuer, server } = yield* start()
      const token = yield* issuer.token({ resource })
      issuer.state = "down"
      const answer = yield* sendToken(server, token)
      assert.deepStrictEqual([answer.status, answer.challenge], [503, ""])
      issuer.state = "up"
      assert.strictEqual((yield* sendToken(server, token)).status, 200)
      issuer.state = "down"
      assert.strictEqual((yield* sendToken(server, token)).status, 200)

      // Wrong credentials of the server are no fault of its client.
      const wrong = { clientId: "notes-server", secret: Redacted.make("wrong") }
      issuer.state = "up"
      const misconfigured = yield* serve({
        resource,
        issuers: [TokenVerifier.introspection(issuer.url, { client: wrong, url: `${issuer.url}${path}` })]
      })
      assert.strictEqual((yield* sendToken(misconfigured, token)).status, 503)
    }))

  it.live("is rejected with 503 after the deadline of the question", () =>
    Effect.gen(function*() {
      const { issuer, server } = yield* start()
      issuer.state = "silent"
      const answer = yield* sendToken(server, "any")
      assert.strictEqual(answer.status, 503)
      assert.isDefined(answer.headers["retry-after"])
    }), 15_000)

  it.live("[AUX-01] is asked about with a secret in the body, and with a private key", () =>
    Effect.gen(function*() {
      const issuer = yield* Issuer.start
      const token = yield* issuer.token({ resource })
      const clients = [
        { clientId: "posting-server", secret: Redacted.make(Issuer.secret), method: "client_secret_post" },
        {
          clientId: "keyed-server",
          privateKey: {
            key: Redacted.make(issuer.clientKey.pem),
            algorithm: "ES256",
            keyId: issuer.clientKey.kid
          }
        }
      ] as const
      for (const client of clients) {
        const server = yield* serve({ resource, issuers: [TokenVerifier.introspection(issuer.url, { client })] })
        assert.strictEqual((yield* sendToken(server, token)).status, 200)
      }
    }))

  it.live("[AUT-34] is shown to no other issuer than the one that it names", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* Issuer.start, yield* Issuer.start]
      const server = yield* serve({
        resource,
        issuers: [one.url, TokenVerifier.introspection(two.url, { client })]
      })
      assert.strictEqual((yield* sendToken(server, yield* one.sign({ aud: resource }))).status, 200)
      assert.strictEqual(
        (yield* sendToken(server, yield* one.sign({ aud: resource, iss: "https://a.example" }))).status,
        401
      )
      assert.strictEqual(two.count(path), 0)
      assert.strictEqual((yield* sendToken(server, yield* two.token({ resource }))).status, 200)
      // The keys of the other issuer are down, which is no reason to reject these.
      one.state = "down"
      assert.strictEqual((yield* sendToken(server, yield* two.token({ resource }))).status, 200)
    }))
})

describe("a verifier of the program", () => {
  it.live("accepts, rejects, and is bounded in time", () =>
    Effect.gen(function*() {
      let calls = 0
      const server = yield* serve({
        resource,
        issuers: [
          TokenVerifier.custom("https://login.example", {
            timeout: "100 millis",
            rememberFor: "1 minute",
            verify: (token) => {
              calls++
              switch (Redacted.value(token)) {
                case "good":
                  return Effect.succeed({ subject: "ada", scopes: [], expiresAt: undefined, claims: { sub: "ada" } })
                case "expired":
                  return Effect.succeed({ subject: "ada", scopes: [], expiresAt: Date.now() - 1, claims: {} })
                case "unavailable":
                  return Effect.fail(new Authentication.Unavailable({}))
                case "hanging":
                  return Effect.never
                case "broken":
                  throw new Error("broken")
                default:
                  return Effect.fail(new VerifiedToken.TokenRejected({ problem: "it is not known" }))
              }
            }
          })
        ]
      })
      const expected = { good: 200, expired: 401, unavailable: 503, hanging: 503, broken: 500, other: 401 }
      for (const [token, status] of Object.entries(expected)) {
        assert.strictEqual((yield* sendToken(server, token)).status, status, token)
      }
      assert.strictEqual(calls, 6)
      assert.strictEqual((yield* sendToken(server, "good")).status, 200)
      assert.strictEqual(calls, 6)
      assert.include((yield* sendToken(server, "other")).challenge, "it is not known")
    }))
})
