/** Tokens that are bound to a key of their client (DPoP). */
import type { ResourceServer } from "@effect-mcp/auth"
import { UsedStates } from "@effect-mcp/session"
import { AuthenticationChallenge } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as jose from "jose"
import { makeKey } from "../fixtures/oidcProvider.mjs"
import * as Issuer from "../support/issuer.ts"
import { hashOf, proofOf } from "../support/proofs.ts"
import { type Answer, resource, send, serve } from "../support/resourceServer.ts"
import * as ShiftedClock from "../support/shiftedClock.ts"

const firstOf = ({ challenge }: Answer) => AuthenticationChallenge.parse(challenge)[0]

const start = Effect.fnUntraced(function*(dpop?: ResourceServer.DpopOptions) {
  const issuer = yield* Issuer.start
  const clock = yield* ShiftedClock.make
  const server = yield* serve({ resource, issuers: [issuer.url], ...(dpop === undefined ? {} : { dpop }) }, { clock })
  const key = yield* Effect.promise(() => makeKey())
  // The authorization server binds the token to the key of this proof.
  const atIssuer = yield* proofOf(key, "", { htu: `${issuer.url}/token`, ath: undefined })
  const token = yield* issuer.token({ resource }, { headers: { dpop: atIssuer } })
  const present = (proof: string, options: Parameters<typeof send>[2] = {}) =>
    send(server, ["Authorization", `DPoP ${token}`, "DPoP", proof], options)
  return { clock, issuer, key, present, server, token }
})

describe("a token that is bound to a key", () => {
  it.live("[AUX-07] is accepted with a proof, once for each proof", () =>
    Effect.gen(function*() {
      const { key, present, server, token } = yield* start()
      const proof = yield* proofOf(key, token)
      assert.strictEqual((yield* present(proof)).status, 200)
      const again = yield* present(proof)
      assert.strictEqual(again.status, 401)
      assert.deepInclude(firstOf(again), { scheme: "DPoP" })
      assert.strictEqual(firstOf(again)?.parameters["error"], "invalid_dpop_proof")
      const lowerCase = ["authorization", `dpop ${token}`, "dpop", yield* proofOf(key, token)]
      assert.strictEqual((yield* send(server, lowerCase)).status, 200)
      // The client may name the URL in another way.
      for (const htu of ["HTTPS://Notes.example:443/mcp", `${resource}?x=1#y`, "wss://notes.example/mcp"]) {
        assert.strictEqual((yield* present(yield* proofOf(key, token, { htu }))).status, 200, htu)
      }
    }))

  it.live("[AUX-07] is rejected with a proof that breaks a rule", () =>
    Effect.gen(function*() {
      const { key, present, token } = yield* start()
      const other = yield* Effect.promise(() => makeKey())
      const now = Math.floor(Date.now() / 1000)
      const { privateJwk } = key
      const symmetric = yield* Effect.promise(() =>
        new jose.SignJWT({}).setProtectedHeader({ alg: "HS256", typ: "dpop+jwt" }).sign(new Uint8Array(32))
      )
      const proofs: Readonly<Record<string, string>> = {
        "another key": yield* proofOf(other, token),
        "the header of another key": yield* proofOf(other, token, {}, { jwk: key.publicJwk }),
        "a private key": yield* proofOf(key, token, {}, { jwk: privateJwk }),
        "no key": yield* proofOf(key, token, {}, { jwk: undefined }),
        "another type": yield* proofOf(key, token, {}, { typ: "JWT" }),
        "a shared secret": symmetric,
        "another method": yield* proofOf(key, token, { htm: "GET" }),
        "no method": yield* proofOf(key, token, { htm: undefined }),
        "another path": yield* proofOf(key, token, { htu: "https://notes.example/other" }),
        "another host": yield* proofOf(key, token, { htu: "https://evil.example/mcp" }),
        "no URL": yield* proofOf(key, token, { htu: "mcp" }),
        "no time": yield* proofOf(key, token, { iat: undefined }),
        "an old time": yield* proofOf(key, token, { iat: now - 91 }),
        "a future time": yield* proofOf(key, token, { iat: now + 60 }),
        "the hash of another token": yield* proofOf(key, token, { ath: hashOf("other") }),
        "no hash": yield* proofOf(key, token, { ath: undefined }),
        "no id": yield* proofOf(key, token, { jti: undefined }),
        "a long id": yield* proofOf(key, token, { jti: "x".repeat(257) }),
        "two proofs": `${yield* proofOf(key, token)}, ${yield* proofOf(key, token)}`,
        "no JWT": "proof",
        "a long one": yield* proofOf(key, token, { x: "x".repeat(8_192) })
      }
      for (const [name, proof] of Object.entries(proofs)) {
        const answer = yield* present(proof)
        assert.strictEqual(answer.status, 401, name)
        assert.strictEqual(firstOf(answer)?.scheme, "DPoP", name)
        assert.strictEqual(firstOf(answer)?.parameters["error"], "invalid_dpop_proof", name)
        assert.isString(firstOf(answer)?.parameters["algs"], name)
        assert.isString(firstOf(answer)?.parameters["resource_metadata"], name)
      }
    }))

  it.live("[AUX-07] is rejected as a bearer token, and without a proof", () =>
    Effect.gen(function*() {
      const { issuer, key, server, token } = yield* start()
      const bearer = yield* send(server, ["Authorization", `Bearer ${token}`, "DPoP", yield* proofOf(key, token)])
      assert.strictEqual(bearer.status, 401)
      assert.deepInclude(firstOf(bearer)?.parameters, { error: "invalid_token" })
      assert.strictEqual(firstOf(bearer)?.scheme, "DPoP")
      const without = yield* send(server, ["Authorization", `DPoP ${token}`])
      assert.strictEqual(firstOf(without)?.parameters["error"], "invalid_dpop_proof")
      // A token without a key is no token of this scheme.
      const unbound = yield* issuer.token({ resource })
      const proof = yield* proofOf(key, unbound)
      const other = yield* send(server, ["Authorization", `DPoP ${unbound}`, "DPoP", proof])
      assert.deepEqual([other.status, firstOf(other)?.parameters["error"]], [401, "invalid_token"])
    }))

  it.live("[AUX-07] is checked at the upgrade to a WebSocket, whose URL is that of the request", () =>
    Effect.gen(function*() {
      const { key, present, token } = yield* start()
      const at = { method: "GET", path: "/socket" }
      const proof = yield* proofOf(key, token, { htm: "GET", htu: "https://notes.example/socket" })
      // It is accepted, and the request is no upgrade.
      assert.strictEqual((yield* present(proof, at)).status, 426)
      assert.strictEqual((yield* present(yield* proofOf(key, token), at)).status, 401)
    }))

  it.live("[AUX-07] needs the nonce of the server, if it gives nonces", () =>
    Effect.gen(function*() {
      const { clock, key, present, server, token } = yield* start({ nonces: true })
      const without = yield* present(yield* proofOf(key, token))
      assert.strictEqual(without.status, 401)
      assert.strictEqual(firstOf(without)?.parameters["error"], "use_dpop_nonce")
      const nonce = String(without.headers["dpop-nonce"])
      const accepted = yield* present(yield* proofOf(key, token, { nonce }))
      assert.strictEqual(accepted.status, 200)
      assert.strictEqual(accepted.headers["dpop-nonce"], nonce)
      const wrong = yield* present(yield* proofOf(key, token, { nonce: "x".repeat(nonce.length) }))
      assert.strictEqual(firstOf(wrong)?.parameters["error"], "use_dpop_nonce")
      const aged = (period: number) => {
        clock.shift(period)
        const iat = Math.floor(clock.currentTimeMillisUnsafe() / 1000)
        return Effect.flatMap(proofOf(key, token, { iat, nonce }), present)
      }
      const later = yield* aged(120_000)
      assert.strictEqual(later.status, 200)
      assert.notStrictEqual(later.headers["dpop-nonce"], nonce)
      assert.strictEqual((yield* aged(120_000)).status, 401)
      // Other clients are told of the scheme, after the one that all clients know.
      const anonymous = AuthenticationChallenge.parse((yield* send(server)).challenge)
      assert.deepStrictEqual(anonymous.map(({ scheme }) => scheme), ["Bearer", "DPoP"])
    }))

  it.live("[AUX-07] can be the only kind that a server accepts", () =>
    Effect.gen(function*() {
      const secret = Redacted.make("a secret that several processes share")
      const { issuer, key, present, server, token } = yield* start({ required: true, nonces: { secret } })
      const bearer = yield* send(server, ["Authorization", `Bearer ${yield* issuer.token({ resource })}`])
      assert.strictEqual(bearer.status, 401)
      assert.deepStrictEqual(AuthenticationChallenge.parse(bearer.challenge).map(({ scheme }) => scheme), ["DPoP"])
      const metadata = yield* send(server, [], {
        method: "GET",
        path: "/.well-known/oauth-protected-resource"
      })
      assert.deepInclude(JSON.parse(metadata.text), { dpop_bound_access_tokens_required: true })
      // Another process with the secret accepts its nonces.
      const other = yield* serve({
        resource,
        issuers: [issuer.url],
        dpop: { nonces: { secret } }
      })
      const nonce = (yield* send(other)).headers["dpop-nonce"]
      assert.strictEqual((yield* present(yield* proofOf(key, token, { nonce }))).status, 200)
    }))

  it.live("[AUX-07] shares the room for used proofs with the other keys of its principal, and with no other", () =>
    Effect.gen(function*() {
      const { issuer, server } = yield* start({ usedProofs: UsedStates.makeMemory({ capacity: 8 }) })
      const statusOf = Effect.fnUntraced(function*(sub: string) {
        const key = yield* Effect.promise(() => makeKey())
        const jkt = yield* Effect.promise(() => jose.calculateJwkThumbprint(key.publicJwk))
        const token = yield* issuer.sign({ sub, aud: resource, cnf: { jkt } })
        const proof = yield* proofOf(key, token)
        return (yield* send(server, ["Authorization", `DPoP ${token}`, "DPoP", proof])).status
      })
      const flood = yield* Effect.forEach(Array.from({ length: 6 }), () => statusOf("eve"))
      assert.deepStrictEqual(flood, [200, 200, 200, 200, 503, 503])
      assert.strictEqual(yield* statusOf("ada"), 200)
    }))

  it.live("[AUX-07] is rejected with 503 if the table of used proofs is full", () =>
    Effect.gen(function*() {
      const usedProofs = UsedStates.makeMemory({ capacity: 2 })
      const { clock, key, present, token } = yield* start({ usedProofs, maxAge: "10 seconds" })
      const next = () => {
        const iat = Math.floor(clock.currentTimeMillisUnsafe() / 1000)
        return Effect.flatMap(proofOf(key, token, { iat }), present)
      }
      assert.strictEqual((yield* next()).status, 200)
      const full = yield* next()
      assert.deepStrictEqual([full.status, full.headers["retry-after"]], [503, "10"])
    }))
})
