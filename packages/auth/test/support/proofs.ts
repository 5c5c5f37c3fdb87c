/** Proofs of clients whose tokens are bound to a key (DPoP). */
import * as Effect from "effect/Effect"
import * as jose from "jose"
import { createHash } from "node:crypto"
import type { Key } from "../fixtures/oidcProvider.mjs"
import { resource } from "./resourceServer.ts"

/** Returns the hash of a token, as a proof contains it. */
export const hashOf = (token: string): string => createHash("sha256").update(token).digest("base64url")

/** Makes a proof. Its defaults are those of a good proof for a POST with the token; `undefined` removes a claim. */
export const proofOf = (
  key: Key,
  token: string,
  claims: Readonly<Record<string, unknown>> = {},
  header: Readonly<Record<string, unknown>> = {}
): Effect.Effect<string> =>
  Effect.promise(() => {
    const { alg: _alg, kid: _kid, use: _use, ...jwk } = key.publicJwk
    const all = {
      jti: crypto.randomUUID(),
      htm: "POST",
      htu: resource,
      iat: Math.floor(Date.now() / 1000),
      ath: hashOf(token),
      ...claims
    }
    return new jose.SignJWT(JSON.parse(JSON.stringify(all)))
      .setProtectedHeader({ alg: "ES256", typ: "dpop+jwt", jwk, ...header })
      .sign(key.privateKey)
  })
