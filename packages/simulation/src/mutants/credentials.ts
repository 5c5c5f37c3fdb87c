/** The mutants of credentials: clients with one bug each, one line away from the library. */
import type { Mutant } from "./Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    name: "refreshes without a lease",
    at: "SharedCredentials.#findLeased",
    original: "if (found._tag === \"Done\" || isAlone || (yield* this.#lease.isHeld)) return found",
    broken: "return found"
  },
  {
    name: "takes a lease that is too short for its store",
    at: "SharedCredentials.constructor",
    original: "lease = 10_000",
    broken: "lease = 1000"
  },
  {
    name: "does not read the store again before a refresh",
    at: "SharedCredentials.#find",
    original: "? Effect.mapError(this.#known.reread, storeFailed)",
    broken: "? (this.#known.tokens === undefined ? Effect.mapError(this.#known.reread, storeFailed) : Effect.void)"
  },
  {
    name: "releases its lease before newer tokens are saved",
    at: "SharedCredentials.#refresh",
    original: "this.#isSaving ? Effect.void : this.#lease.release",
    broken: "this.#lease.release"
  },
  {
    name: "opens a window beside the one that is open",
    at: "SignIns.#begun",
    original: "const pending = this.#pending ?? new PendingSignIn(",
    broken: "const pending = new PendingSignIn("
  },
  {
    name: "opens windows without an act of a person",
    at: "SignIns.#begun",
    original: "this.#permission = \"Question\"",
    broken: ""
  },
  {
    name: "opens another window although the person declines it",
    at: "SignIns.#begun",
    original: "if (!(yield* ForeignCall.detachable(asking))) return yield* this.#refused(reason)",
    broken: "yield* ForeignCall.detachable(asking)"
  },
  {
    name: "permits another window after one that was closed",
    at: "SignIns.#settled",
    original: "if (isPermitted && Exit.isFailure(exit) && pending.url === undefined) this.#permission = \"Window\"",
    broken: "if (isPermitted && Exit.isFailure(exit)) this.#permission = \"Window\""
  },
  {
    name: "sends tokens to any origin",
    at: "ServerAccess.headers",
    original: "if (request.url.origin !== this.#settings.server.origin) return Effect.succeed(none)",
    broken: ""
  },
  {
    name: "refreshes tokens of one issuer at another",
    at: "TokenRequests.#endpointOf",
    original: "target.issuer === key.issuer ? yield* registration.known(target) : undefined",
    broken: "yield* registration.known(target)"
  },
  {
    name: "removes tokens that another process has renewed",
    at: "SharedCredentials.#refreshLeased",
    original: "if (StoredTokens.isSame(this.#known.tokens, found.tokens)) yield* this.#known.revoke",
    broken: "yield* this.#known.revoke"
  },
  {
    name: "removes tokens when the issuer does not answer",
    at: "SharedCredentials.isInvalidGrant",
    original: "reason._tag === \"TokenRequestFailed\" && reason.error === \"invalid_grant\"",
    broken: "reason._tag === \"Unavailable\" || reason._tag === \"TokenRequestFailed\""
  },
  {
    name: "waits for a response of an issuer for ever",
    at: "OAuthHttp.makeWith",
    original: "Effect.timeoutOrElse(respond(request, exchangeOf(verdict._tag)), timeout)",
    broken: "respond(request, exchangeOf(verdict._tag))"
  },
  {
    name: "does not end the sign-in that callers wait for",
    at: "SignIns.#settled",
    original: "pending.end(outcomeOf(exit))",
    broken: ""
  },
  {
    name: "never refreshes again after a failure",
    at: "RefreshBackoff.errorAt",
    original:
      "return last !== undefined && now < last.retryAt && last.retryAt - now <= longestDemand ? last.error : undefined",
    broken: "return last?.error"
  },
  {
    name: "forgets a client whose tokens are in the store",
    at: "ServerAccess.#forgetUnknown",
    original: "yield* this.#search",
    broken: ""
  },
  {
    name: "leaves its fibers when it closes",
    at: "SharedCredentials.close",
    original: "yield* Scope.close(this.#fibers, Exit.void)",
    broken: ""
  },
  {
    name: "leaves its lease when it closes",
    at: "SharedCredentials.close",
    original: "yield* this.#lease.release",
    broken: ""
  },
  {
    name: "shows the cause of a failed request",
    at: "OAuthHttp.explain",
    original: "codeOf(error) ?? \"an unknown error\"",
    broken: "codeOf(error) ?? String(Predicate.hasProperty(error, \"cause\") ? error.cause : error)"
  }
]
