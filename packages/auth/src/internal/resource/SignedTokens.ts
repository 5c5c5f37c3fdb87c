/** The verification of signed tokens (RFC 7519, RFC 8725, RFC 9068). */
import type { Unavailable } from "@effect-mcp/transport/Authentication"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { CryptoKey } from "jose"
import type { TokenRejected, VerifiedToken, Verify } from "../../VerifiedToken.ts"
import * as ClaimedToken from "./ClaimedToken.ts"
import type { IssuerKeys } from "./IssuerKeys.ts"
import * as Jose from "./Jose.ts"
import * as TokenText from "./TokenText.ts"

/** The rules for the signed tokens of one issuer. */
export interface Rules extends ClaimedToken.Rules {
  readonly algorithms: ReadonlyArray<string>
  /** The accepted values of `typ`, in lower case; `""` for a token without it. */
  readonly types: ReadonlySet<string>
}

/** Returns a `typ` without the prefix that it may have (RFC 7515, section 4.1.9), in lower case. */
export const typeOf = (typ: unknown): string =>
  typeof typ === "string" ? typ.toLowerCase().replace(/^application\//, "") : ""

const claimProblems: Readonly<Record<string, string>> = {
  ...ClaimedToken.problems,
  exp: "its expiry (exp) is missing or no number"
}

/** Returns the reason why the library has rejected a token; `undefined` for a defect. */
const problemOf = (error: unknown): string | undefined => {
  const known = Jose.errorOf(error)
  if (known === undefined) return undefined
  switch (known.code) {
    case "ERR_JWT_EXPIRED":
      return ClaimedToken.problems.exp
    case "ERR_JWS_SIGNATURE_VERIFICATION_FAILED":
      return "its signature does not fit"
    case "ERR_JWT_CLAIM_VALIDATION_FAILED":
      return claimProblems[known.claim ?? ""] ?? "one of its claims is not valid"
    default:
      return "it cannot be read"
  }
}

/** Makes the verification with these keys. */
export const make = (rules: Rules, keys: IssuerKeys, clock: Clock.Clock): Verify => {
  /** Returns the claims of a token that one of the keys has signed. */
  const claimsOf = async (library: Jose.Jose, token: string, found: ReadonlyArray<CryptoKey>) => {
    const options = {
      algorithms: [...rules.algorithms],
      issuer: rules.issuer,
      requiredClaims: ["iss", "aud", "exp"],
      clockTolerance: rules.skewMillis / 1000,
      currentDate: new Date(clock.currentTimeMillisUnsafe())
    }
    let failure: unknown
    for (const key of found) {
      try {
        return (await library.jwtVerify(token, key, options)).payload
      } catch (error) {
        failure = error
        if (Jose.errorOf(error)?.code !== "ERR_JWS_SIGNATURE_VERIFICATION_FAILED") break
      }
    }
    throw failure
  }

  return Effect.fnUntraced(function*(
    redacted: Redacted.Redacted<string>,
    resource: string
  ): Effect.fn.Return<VerifiedToken, TokenRejected | Unavailable> {
    const token = Redacted.value(redacted)
    const header = TokenText.claimedBy(token)?.header
    if (header === undefined) return yield* ClaimedToken.reject("it is no signed JWT")
    const { alg, kid, typ } = header
    if (typeof alg !== "string" || !rules.algorithms.includes(alg)) {
      return yield* ClaimedToken.reject("its signature algorithm (alg) is not accepted")
    }
    if (!rules.types.has(typeOf(typ))) {
      return yield* ClaimedToken.reject(
        `its type (typ) is not ${Array.from(rules.types, (type) => type === "" ? "absent" : type).join(" or ")}`
      )
    }
    const found = yield* keys.find({ alg, kid: typeof kid === "string" ? kid : undefined })
    const library = yield* Jose.load
    const claims = yield* Effect.tryPromise({
      try: () => claimsOf(library, token, found),
      catch: (error) => error
    }).pipe(
      Effect.catch((error) => {
        const problem = problemOf(error)
        return problem === undefined ? Effect.die(error) : ClaimedToken.reject(problem)
      })
    )
    return yield* ClaimedToken.isFor(rules, claims, resource)
      ? ClaimedToken.make(rules, claims)
      : ClaimedToken.reject(ClaimedToken.problems.aud)
  })
}
