/** An issuer in virtual time that rotates refresh tokens and detects their reuse, with faults. */
import { OAuthError } from "@effect-mcp/auth"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { RefreshableTokens } from "../../src/internal/tokens/Credentials.ts"
import type { TokenResponse } from "../../src/internal/tokens/StoredTokens.ts"

/**
 * The way in which a request ends.
 *
 * - `Answered`: with the response of the issuer.
 * - `Lost`: the issuer has done its work, and the response never arrives.
 * - `Unreachable`: the request does not arrive.
 * - `Broken`: the issuer is overloaded, and has done nothing.
 */
export type Fault = "Answered" | "Broken" | "Lost" | "Unreachable"

export interface Plan {
  readonly fault: Fault
  readonly latency: number
}

const issuer = "https://as.example"

export const lifetime = 600_000

export class RotatingIssuer {
  /** The requests that arrived, and those at the same time. */
  requests = 0
  successes = 0
  running = 0
  mostRunning = 0
  /** Whether an old refresh token was used, which revokes all tokens. */
  isRevoked = false
  #serial = 0
  #refreshToken = ""
  #valid = new Map<string, number>()
  readonly plan: () => Plan

  constructor(plan: () => Plan = () => ({ fault: "Answered", latency: 50 })) {
    this.plan = plan
  }

  /** Returns the response to a person's sign-in. */
  get signIn(): Effect.Effect<TokenResponse> {
    return Effect.map(Clock.currentTimeMillis, (now) => {
      this.isRevoked = false
      this.#valid.clear()
      return this.#issue(now)
    })
  }

  /** Whether a resource server accepts an access token. */
  accepts(accessToken: Redacted.Redacted<string>, now: number): boolean {
    return !this.isRevoked && now < (this.#valid.get(Redacted.value(accessToken)) ?? 0)
  }

  /** Makes all access tokens invalid, and no refresh token. */
  revokeAccess(): void {
    this.#valid.clear()
  }

  refresh({ refreshToken }: RefreshableTokens): Effect.Effect<TokenResponse, OAuthError.OAuthError> {
    return Effect.suspend(() => {
      const { fault, latency } = this.plan()
      return Effect.andThen(Effect.sleep(latency / 2), this.#serve(Redacted.value(refreshToken), fault, latency / 2))
    })
  }

  #serve(refreshToken: string, fault: Fault, latency: number): Effect.Effect<TokenResponse, OAuthError.OAuthError> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (fault === "Unreachable") return Effect.never
      this.requests++
      const unavailable = OAuthError.make({ _tag: "Unavailable", url: `${issuer}/token`, problem: "status 500" })
      if (fault === "Broken") return Effect.fail(unavailable)
      const response = this.#answer(refreshToken, now)
      this.running++
      this.mostRunning = Math.max(this.running, this.mostRunning)
      return Effect.sleep(latency).pipe(
        Effect.andThen(fault === "Lost" ? Effect.fail(unavailable) : response),
        Effect.ensuring(Effect.sync(() => {
          this.running--
        }))
      )
    })
  }

  #answer(refreshToken: string, now: number): Effect.Effect<TokenResponse, OAuthError.OAuthError> {
    if (this.isRevoked || refreshToken !== this.#refreshToken) {
      this.isRevoked = true
      return Effect.fail(
        OAuthError.make({ _tag: "TokenRequestFailed", issuer, status: 400, error: "invalid_grant" })
      )
    }
    this.successes++
    return Effect.succeed(this.#issue(now))
  }

  #issue(now: number): TokenResponse {
    const serial = ++this.#serial
    this.#refreshToken = `refresh-${serial}`
    this.#valid.set(`access-${serial}`, now + lifetime)
    return {
      accessToken: Redacted.make(`access-${serial}`),
      tokenType: "Bearer",
      refreshToken: Redacted.make(this.#refreshToken),
      scopes: undefined,
      expiresInMillis: lifetime
    }
  }
}
