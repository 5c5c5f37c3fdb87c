/** The verification of a token by the issuer that has issued it. */
import type * as Principal from "@effect-mcp/session/Principal"
import type { Unavailable } from "@effect-mcp/transport/Authentication"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { TokenRejected, type VerifiedToken, type Verify } from "../../VerifiedToken.ts"
import * as ClaimedToken from "./ClaimedToken.ts"
import * as Digest from "./Digest.ts"
import * as Principals from "./Principals.ts"
import type { ProtectedResource } from "./ProtectedResources.ts"
import { RememberedResults } from "./RememberedResults.ts"
import * as SubjectTokens from "./SubjectTokens.ts"
import * as TokenText from "./TokenText.ts"

/** The verification of one issuer. */
export interface IssuerVerifier {
  readonly issuer: string
  readonly acceptsOpaque: boolean
  readonly rememberMillis: number
  readonly rememberRejectedMillis: number
  readonly verify: Verify
}

/** A verified token, and its principal: one for all requests with the token, while it is remembered. */
export interface Identified {
  readonly token: VerifiedToken
  readonly principal: Principal.Principal
  readonly until: number
  /** The bytes that it occupies, roughly. */
  readonly weight: number
}

/** The bytes of a usual token, of a rejection, and of each scope of a token. */
const usualBytes = 2_048
const rejectedBytes = 256
const scopeBytes = 40

/** The rejection of a token, and the time until which it is remembered. */
class RememberedRejection {
  readonly error: TokenRejected
  readonly until: number

  constructor(error: TokenRejected, until: number) {
    this.error = error
    this.until = until
  }
}

/** The verification of tokens for resources. */
export interface TokenVerification {
  /** Returns a remembered token. */
  readonly peek: (token: string, resource: ProtectedResource) => Identified | undefined
  readonly verify: (
    token: string,
    resource: ProtectedResource
  ) => Effect.Effect<Identified, TokenRejected | Unavailable>
}

/** The settings of the verification. */
export interface Settings {
  readonly verifiers: ReadonlyArray<IssuerVerifier>
  readonly principals: Principals.Settings
  readonly capacity: number
  readonly clock: Clock.Clock
  readonly scope: Scope.Scope
}

/** Makes the verification. Tokens are remembered by their digests. */
export const make = ({ capacity, clock, principals, scope, verifiers }: Settings): TokenVerification => {
  const remembered = new RememberedResults<Identified, RememberedRejection | Unavailable>({
    capacity,
    // One client can have many tokens with thousands of scopes.
    maxWeight: capacity * usualBytes,
    weightOf: (exit) => Exit.isSuccess(exit) ? exit.value.weight : rejectedBytes,
    clock,
    scope,
    until: (exit) => {
      if (Exit.isSuccess(exit)) return exit.value.until
      const error = Cause.findErrorOption(exit.cause)
      return error._tag === "Some" && error.value instanceof RememberedRejection ? error.value.until : undefined
    }
  })

  /** Returns those that can have issued a token. A signed token is shown to no other issuer than the one it names. */
  const verifiersOf = (token: string, { issuers }: ProtectedResource): ReadonlyArray<IssuerVerifier> => {
    const issuer = TokenText.claimedBy(token)?.issuer
    return verifiers.filter((verifier) =>
      issuers.includes(verifier.issuer) && (issuer === undefined ? verifier.acceptsOpaque : verifier.issuer === issuer)
    )
  }

  const identified = (verifier: IssuerVerifier, token: string, verified: VerifiedToken, resource: string) => {
    const principal = Principals.make(principals, verified, resource)
    SubjectTokens.keep(principal, { token: Redacted.make(token), issuer: verified.issuer })
    const until = clock.currentTimeMillisUnsafe() + verifier.rememberMillis
    const weight = token.length + scopeBytes * (verified.scopes.length + (principal.scopes?.length ?? 0))
    return { token: verified, principal, until: Math.min(until, verified.expiresAt ?? until), weight }
  }

  const verify = Effect.fnUntraced(function*(
    token: string,
    resource: ProtectedResource
  ): Effect.fn.Return<Identified, RememberedRejection | Unavailable> {
    let rejection = new RememberedRejection(new TokenRejected({ problem: "no issuer of this server has issued it" }), 0)
    let unavailable: Unavailable | undefined
    for (const verifier of verifiersOf(token, resource)) {
      const result = yield* Effect.result(verifier.verify(Redacted.make(token), resource.resource))
      if (result._tag === "Success") {
        const { expiresAt } = result.success
        if (expiresAt === undefined || expiresAt > clock.currentTimeMillisUnsafe()) {
          return identified(verifier, token, result.success, resource.resource)
        }
        rejection = new RememberedRejection(new TokenRejected({ problem: ClaimedToken.problems.exp }), 0)
      } else if (result.failure._tag === "Unavailable") {
        unavailable ??= result.failure
      } else {
        const until = clock.currentTimeMillisUnsafe() + verifier.rememberRejectedMillis
        rejection = new RememberedRejection(result.failure, until)
      }
    }
    // The issuer that cannot be asked may know the token.
    return yield* Effect.fail(unavailable ?? rejection)
  })

  const keyOf = (token: string, { resource }: ProtectedResource): string => `${Digest.of(token)} ${resource}`

  return {
    peek: (token, resource) => {
      const exit = remembered.peek(keyOf(token, resource))
      return exit !== undefined && Exit.isSuccess(exit) ? exit.value : undefined
    },
    verify: (token, resource) =>
      Effect.mapError(
        remembered.get(keyOf(token, resource), () => verify(token, resource)),
        (error) => error instanceof RememberedRejection ? error.error : error
      )
  }
}
