/** The check of a proof that a client has the key of its token (RFC 9449, section 4.3) (AUX-07). */
import type { UsedStates } from "@effect-mcp/session/UsedStates"
import { Unavailable } from "@effect-mcp/transport/Authentication"
import type * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { JWTPayload, ProtectedHeaderParameters } from "jose"
import * as Digest from "./Digest.ts"
import type { DpopNonces } from "./DpopNonces.ts"
import * as Jose from "./Jose.ts"
import * as JsonObject from "./JsonObject.ts"

/** The error of a proof. */
export class ProofRejected extends Data.TaggedError("ProofRejected")<{
  readonly error: "invalid_dpop_proof" | "use_dpop_nonce"
  readonly problem: string
}> {}

/** The settings of all proofs. */
export interface Settings {
  readonly algorithms: ReadonlyArray<string>
  /** The greatest age of a proof. */
  readonly maxAgeMillis: number
  readonly skewMillis: number
  readonly nonces: DpopNonces | undefined
  /** The proofs that were used already. */
  readonly used: UsedStates
}

/** The request that a proof belongs to. */
export interface Proven {
  readonly proof: string
  readonly token: string
  /** The thumbprint that the token is bound to. */
  readonly thumbprint: string
  /** The id of the principal. One has as many keys as it requests tokens, and they share its room for used proofs. */
  readonly principal: string
  readonly method: string
  /** The URLs that the client may have used: several, if a proxy changes paths. */
  readonly urls: ReadonlyArray<string>
  readonly clock: Clock.Clock
}

const maxProofBytes = 8_192

const maxIdBytes = 256

const reject = (problem: string): Effect.Effect<never, ProofRejected> =>
  Effect.fail(new ProofRejected({ error: "invalid_dpop_proof", problem }))

/** Returns a URL without query and fragment, normalized; `undefined` if it is none. */
const targetOf = (url: unknown): string | undefined => {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined
  const { host, pathname, protocol } = new URL(url)
  // A client of a WebSocket may name either scheme.
  return `${protocol.replace(/^ws/, "http")}//${host}${pathname}`
}

/** Returns the reason why the claims of a proof do not fit its request. */
const problemOf = (
  { maxAgeMillis, skewMillis }: Settings,
  claims: JWTPayload,
  now: number,
  { method, token, urls }: Proven
): string | undefined => {
  if (claims["htm"] !== method) return "its method (htm) is not that of the request"
  const target = targetOf(claims["htu"])
  if (target === undefined || !urls.some((url) => targetOf(url) === target)) {
    return "its URL (htu) is not that of the request"
  }
  const issuedAt = JsonObject.millisOf(claims, "iat")
  if (issuedAt === undefined) return "its time (iat) is missing"
  if (issuedAt > now + skewMillis) return "its time (iat) is in the future"
  if (issuedAt < now - maxAgeMillis - skewMillis) return "it is too old (iat)"
  if (claims["ath"] !== Digest.of(token)) return "its hash (ath) is not that of the token"
  const id = JsonObject.textOf(claims, "jti")
  return id === undefined || id.length > maxIdBytes ? "its id (jti) is missing or too long" : undefined
}

/** Reads the header of a proof, before its signature is checked. */
const headerOf = (library: Jose.Jose, proof: string): ProtectedHeaderParameters | undefined => {
  try {
    return library.decodeProtectedHeader(proof)
  } catch {
    return undefined
  }
}

/**
 * Checks a proof, and returns the step that uses it: a proof is accepted once. Its key is compared before its signature
 * is checked, so that a key of the client's choice cannot cost much.
 */
export const check = Effect.fnUntraced(function*(
  settings: Settings,
  proven: Proven
): Effect.fn.Return<Effect.Effect<void, ProofRejected | Unavailable>, ProofRejected> {
  const { clock, principal, proof, thumbprint } = proven
  const now = clock.currentTimeMillisUnsafe()
  if (proof.length > maxProofBytes) return yield* reject(`it is longer than ${maxProofBytes} bytes`)
  const library = yield* Jose.load
  const header = headerOf(library, proof)
  if (header?.jwk === undefined) return yield* reject("it is not one JWT with a key (jwk)")
  const { alg, jwk } = header
  if (alg === undefined || !settings.algorithms.includes(alg)) {
    return yield* reject("its signature algorithm (alg) is not accepted")
  }
  const own = yield* Effect.option(Effect.tryPromise(() => library.calculateJwkThumbprint(jwk, "sha256")))
  if (own._tag === "None" || own.value !== thumbprint) return yield* reject("its key is not that of the token")
  const claims = yield* Effect.tryPromise({
    try: async () => {
      const { payload } = await library.jwtVerify(proof, library.EmbeddedJWK, {
        algorithms: [...settings.algorithms],
        typ: "dpop+jwt",
        clockTolerance: settings.skewMillis / 1000,
        currentDate: new Date(now)
      })
      return payload
    },
    catch: (error) => error
  }).pipe(
    Effect.catch((error) =>
      Jose.errorOf(error) === undefined ? Effect.die(error) : reject("its signature or its type (typ) does not fit")
    )
  )
  const problem = problemOf(settings, claims, now, proven)
  if (problem !== undefined) return yield* reject(problem)
  const { nonces } = settings
  const nonce = claims["nonce"]
  if (nonces !== undefined && (typeof nonce !== "string" || !nonces.accepts(nonce, now))) {
    return yield* new ProofRejected({ error: "use_dpop_nonce", problem: "it needs the nonce of the header DPoP-Nonce" })
  }
  const id = Digest.of(JSON.stringify([thumbprint, claims.jti]))
  const expiresAt = now + settings.maxAgeMillis + 2 * settings.skewMillis
  return Effect.gen(function*() {
    // A store may have forgotten by now that the proof was used.
    if (clock.currentTimeMillisUnsafe() >= expiresAt) return yield* reject("it is too old (iat)")
    const isNew = yield* Effect.mapError(
      settings.used.use(`dpop ${id}`, expiresAt, principal),
      (cause) => new Unavailable({ cause, retryAfterMillis: settings.maxAgeMillis })
    )
    if (!isNew) return yield* reject("it was used already (jti)")
  })
})
