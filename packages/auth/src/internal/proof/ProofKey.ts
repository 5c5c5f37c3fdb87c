/**
 * Proofs of possession of a key (DPoP, RFC 9449; AUX-05).
 *
 * A token that is bound to the key is of no use to a thief: each request needs a new signature of the key.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** The request that a proof is for. */
export interface ProvenRequest {
  readonly method: string
  readonly url: URL
  /** The token that the request carries. A token request carries none. */
  readonly accessToken?: Redacted.Redacted<string> | undefined
  /** The nonce that the server has sent last. */
  readonly nonce?: string | undefined
}

/** A key, and its proofs. */
export interface ProofKey {
  /** The private key as the text of a JWK, which is stored with the tokens. */
  readonly text: Redacted.Redacted<string>
  /** The SHA-256 thumbprint of the public key (RFC 7638), by which the code of an authorization is bound to it. */
  readonly thumbprint: string
  /** Returns a new proof. */
  readonly proof: (request: ProvenRequest) => Effect.Effect<string>
}

const curve = { name: "ECDSA", namedCurve: "P-256" } as const
const signature = { name: "ECDSA", hash: "SHA-256" } as const

const PrivateJwk = Schema.fromJsonString(Schema.Struct({
  kty: Schema.Literal("EC"),
  crv: Schema.Literal("P-256"),
  x: Schema.String,
  y: Schema.String,
  d: Schema.String
}))

const decode = Schema.decodeUnknownResult(PrivateJwk)

const digest = (text: string): Promise<string> =>
  crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)).then((bytes) =>
    Base64Url.encode(new Uint8Array(bytes))
  )

const segment = (value: object): string => Base64Url.encode(JSON.stringify(value))

const ofJwk = async (jwk: typeof PrivateJwk.Type): Promise<ProofKey> => {
  const { crv, kty, x, y } = jwk
  const key = await crypto.subtle.importKey("jwk", jwk, curve, false, ["sign"])
  const header = segment({ typ: "dpop+jwt", alg: "ES256", jwk: { kty, crv, x, y } })
  const sign = async ({ accessToken, method, nonce, url }: ProvenRequest, now: number): Promise<string> => {
    const claims = {
      jti: crypto.randomUUID(),
      htm: method,
      htu: `${url.origin}${url.pathname}`,
      iat: Math.floor(now / 1000),
      ...(accessToken === undefined ? {} : { ath: await digest(Redacted.value(accessToken)) }),
      ...(nonce === undefined ? {} : { nonce })
    }
    const signed = `${header}.${segment(claims)}`
    const bytes = await crypto.subtle.sign(signature, key, new TextEncoder().encode(signed))
    return `${signed}.${Base64Url.encode(new Uint8Array(bytes))}`
  }
  return {
    text: Redacted.make(JSON.stringify({ kty, crv, x, y, d: jwk.d })),
    // The members of RFC 7638, in its order.
    thumbprint: await digest(JSON.stringify({ crv, kty, x, y })),
    proof: (request) => Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.promise(() => sign(request, now)))
  }
}

/** Creates a key. */
export const generate: Effect.Effect<ProofKey> = Effect.promise(async () => {
  const { privateKey } = await crypto.subtle.generateKey(curve, true, ["sign", "verify"])
  const jwk = decode(JSON.stringify(await crypto.subtle.exportKey("jwk", privateKey)))
  return ofJwk(Result.getOrThrow(jwk))
})

/** Returns a stored key; `undefined` if the text is no such key. */
export const parse = (text: Redacted.Redacted<string>): Effect.Effect<ProofKey | undefined> => {
  const jwk = decode(Redacted.value(text))
  return Result.isSuccess(jwk)
    ? Effect.catch(Effect.tryPromise(() => ofJwk(jwk.success)), () => Effect.undefined)
    : Effect.undefined
}
