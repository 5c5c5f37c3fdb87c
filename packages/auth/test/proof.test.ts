import { TokenStore } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as jose from "jose"
import { createHash } from "node:crypto"
import { Nonces } from "../src/internal/proof/Nonces.ts"
import * as ProofKey from "../src/internal/proof/ProofKey.ts"
import * as caller from "./support/caller.ts"
import { build } from "./support/clients.ts"
import * as identityServer from "./support/identityServer.ts"
import * as protectedServer from "./support/protectedServer.ts"
import * as scriptedPerson from "./support/scriptedPerson.ts"

/** Verifies a proof as a server does, and returns its claims. */
const verified = async (proof: string): Promise<jose.JWTPayload & { readonly thumbprint: string }> => {
  const { jwk } = jose.decodeProtectedHeader(proof)
  if (jwk === undefined) throw new Error("the proof has no key")
  const { payload, protectedHeader } = await jose.jwtVerify(proof, await jose.importJWK(jwk, "ES256"), {
    typ: "dpop+jwt",
    algorithms: ["ES256"]
  })
  assert.notProperty(protectedHeader.jwk, "d", "the private key stays here")
  return { ...payload, thumbprint: await jose.calculateJwkThumbprint(jwk) }
}

describe("a proof", () => {
  it.live("[AUX-05] names the request and the token, is signed by the key, and differs each time", () =>
    Effect.gen(function*() {
      const key = yield* ProofKey.generate
      const request: ProofKey.ProvenRequest = {
        method: "POST",
        url: new URL("https://notes.example/mcp?secret=1#x"),
        accessToken: Redacted.make("the token"),
        nonce: "n1"
      }
      const one = yield* Effect.flatMap(key.proof(request), (proof) => Effect.promise(() => verified(proof)))
      assert.deepInclude(one, {
        htm: "POST",
        htu: "https://notes.example/mcp",
        ath: createHash("sha256").update("the token").digest("base64url"),
        nonce: "n1",
        thumbprint: key.thumbprint
      })
      const other = yield* Effect.flatMap(key.proof(request), (proof) => Effect.promise(() => verified(proof)))
      assert.notStrictEqual(one.jti, other.jti)
    }))

  it.live("is made by the same key after the key was stored; another text is no key", () =>
    Effect.gen(function*() {
      const key = yield* ProofKey.generate
      const again = yield* ProofKey.parse(key.text)
      assert.strictEqual(again?.thumbprint, key.thumbprint)
      for (const text of ["", "{}", "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"a\",\"y\":\"b\",\"d\":\"c\"}"]) {
        assert.isUndefined(yield* ProofKey.parse(Redacted.make(text)))
      }
    }))

  it("nonces are those of their origin, the newest counts, and few are kept", () => {
    const nonces = new Nonces()
    assert.isTrue(nonces.set("https://a.example", "1"))
    assert.isFalse(nonces.set("https://a.example", "1"))
    assert.isTrue(nonces.set("https://a.example", "2"))
    assert.isFalse(nonces.set("https://a.example", undefined))
    assert.isFalse(nonces.set("https://a.example", "line\nbreak"))
    assert.isFalse(nonces.set("https://a.example", "x".repeat(2_000)))
    assert.strictEqual(nonces.get("https://a.example"), "2")
    assert.isUndefined(nonces.get("https://b.example"))
    for (let index = 0; index < 100; index++) nonces.set(`https://${index}.example`, "n")
    assert.isUndefined(nonces.get("https://a.example"))
    assert.strictEqual(nonces.get("https://99.example"), "n")
  })
})

describe("tokens with a key", () => {
  it.live("[AUX-05] nonces of both servers are used, and a stored key after a restart", () =>
    Effect.gen(function*() {
      const identity = yield* identityServer.start({ withDpopNonces: true })
      const server = yield* protectedServer.start(identity)
      const store = yield* TokenStore.makeMemory()
      const ada = scriptedPerson.make()
      let nonce = "first"
      const proofs: Array<string> = []
      const judge: protectedServer.ProtectedServer["judge"] = ({ authorization, dpop }, token) => {
        if (token === undefined || dpop === undefined || authorization?.startsWith("DPoP ") !== true) return undefined
        const claims = jose.decodeJwt(dpop)
        if (claims["nonce"] !== nonce) {
          return { status: 401, challenge: "DPoP error=\"use_dpop_nonce\"", headers: { "dpop-nonce": nonce } }
        }
        proofs.push(dpop)
        return { status: 200, headers: { "dpop-nonce": nonce } }
      }
      server.judge = judge
      yield* Effect.scoped(Effect.gen(function*() {
        const oauth = yield* build({ userAgent: ada.userAgent, store, dpop: true })
        assert.strictEqual((yield* caller.callAndWait(oauth.authorization, server.url)).status, 200)
        yield* caller.call(oauth.authorization, server.url)
        nonce = "second"
        yield* caller.call(oauth.authorization, server.url)
        assert.lengthOf(identity.to("/token"), 2, "the first request of a code has no nonce")
      }))
      const oauth = yield* build({ userAgent: ada.userAgent, store })
      yield* caller.call(oauth.authorization, server.url)
      // A refresh needs a proof of the same key, because the client is public.
      const rejected = server.calls.at(-1)?.authorization
      server.judge = (call, token) =>
        call.authorization === rejected ? { status: 401, challenge: "" } : judge(call, token)
      yield* caller.call(oauth.authorization, server.url)
      assert.lengthOf(ada.windows, 1)
      const claims = yield* Effect.promise(() => Promise.all(proofs.map(verified)))
      assert.lengthOf(claims, 5)
      assert.strictEqual(new Set(claims.map(({ jti }) => jti)).size, 5)
      assert.strictEqual(new Set(claims.map(({ thumbprint }) => thumbprint)).size, 1)
      assert.strictEqual(ada.windows[0]?.searchParams.get("dpop_jkt"), claims[0]?.thumbprint)
    }))

  it.live("[AUX-05] a challenge of the scheme DPoP is enough", () =>
    Effect.gen(function*() {
      const identity = yield* identityServer.start()
      const server = yield* protectedServer.start(identity)
      const metadata = `${server.url.origin}/.well-known/oauth-protected-resource/mcp`
      server.judge = ({ authorization }, token) => {
        if (token !== undefined && authorization?.startsWith("DPoP ") === true) return { status: 200 }
        return { status: 401, challenge: `DPoP algs="ES256", scope="notes:read", resource_metadata="${metadata}"` }
      }
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      assert.strictEqual((yield* caller.callAndWait(oauth.authorization, server.url)).status, 200)
    }))

  it.live("without their key, which was damaged in the store, are of no use, and the person signs in again", () =>
    Effect.gen(function*() {
      const identity = yield* identityServer.start()
      const server = yield* protectedServer.start(identity)
      const store = yield* TokenStore.makeMemory()
      const ada = scriptedPerson.make()
      yield* Effect.scoped(Effect.gen(function*() {
        const oauth = yield* build({ userAgent: ada.userAgent, store, dpop: true })
        yield* caller.callAndWait(oauth.authorization, server.url)
      }))
      for (const key of yield* store.keys) {
        const entry = key._tag === "Tokens" ? yield* store.read(key) : undefined
        if (entry === undefined) continue
        const text = Redacted.value(entry.text)
        const damaged = JSON.stringify({ ...JSON.parse(text), proofKey: "{}" })
        yield* store.write(key, Redacted.make(damaged), entry.version)
      }
      const oauth = yield* build({ userAgent: ada.userAgent, store, dpop: true })
      const outcome = yield* caller.callAndWait(oauth.authorization, server.url)
      assert.deepStrictEqual([outcome.status, ada.windows.length], [200, 2])
      assert.lengthOf(identity.to("/token"), 2, "no refresh without a proof")
    }))
})
