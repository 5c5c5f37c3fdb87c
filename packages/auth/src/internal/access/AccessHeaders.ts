/** The headers by which tokens authorize a request (AUT-33, AUX-05). */
import type { OutgoingRequest } from "@effect-mcp/transport/ClientAuthorization"
import type { HeaderValues } from "@effect-mcp/transport/HttpClientOptions"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Nonces } from "../proof/Nonces.ts"
import * as ProofKey from "../proof/ProofKey.ts"
import type { StoredTokens } from "../tokens/StoredTokens.ts"

/** The headers of a request without tokens. */
export const none: HeaderValues = {}

/** Creates the headers of requests to one server, and knows which tokens they have. */
export class AccessHeaders {
  readonly #nonces: Nonces
  readonly #tokensOf = new WeakMap<HeaderValues, StoredTokens>()
  /** The headers of the last tokens: those of `Bearer` are the same for each request. */
  readonly #bearer = new WeakMap<StoredTokens, HeaderValues>()
  readonly #keys = new WeakMap<StoredTokens, ProofKey.ProofKey>()

  constructor(nonces: Nonces) {
    this.#nonces = nonces
  }

  /** Returns the tokens that headers were made for. */
  tokensOf(headers: HeaderValues): StoredTokens | undefined {
    return this.#tokensOf.get(headers)
  }

  of(tokens: StoredTokens, request: OutgoingRequest): Effect.Effect<HeaderValues> {
    if (tokens.tokenType === "DPoP") return this.#proven(tokens, request)
    const known = this.#bearer.get(tokens)
    if (known !== undefined) return Effect.succeed(known)
    const headers = this.#made(tokens, "Bearer", {})
    this.#bearer.set(tokens, headers)
    return Effect.succeed(headers)
  }

  #made(tokens: StoredTokens, scheme: string, others: HeaderValues): HeaderValues {
    const authorization = Redacted.make(`${scheme} ${Redacted.value(tokens.accessToken)}`)
    return this.#recorded(tokens, { authorization, ...others })
  }

  #recorded(tokens: StoredTokens, headers: HeaderValues): HeaderValues {
    this.#tokensOf.set(headers, tokens)
    return headers
  }

  #proven(tokens: StoredTokens, { method, url }: OutgoingRequest): Effect.Effect<HeaderValues> {
    return Effect.flatMap(this.#keyOf(tokens), (key) => {
      // Without its key a token is of no use. The server rejects the request, and the client is authorized anew.
      if (key === undefined) return Effect.succeed(this.#recorded(tokens, {}))
      const proof = key.proof({ method, url, accessToken: tokens.accessToken, nonce: this.#nonces.get(url.origin) })
      return Effect.map(proof, (dpop) => this.#made(tokens, "DPoP", { dpop: Redacted.make(dpop) }))
    })
  }

  #keyOf(tokens: StoredTokens): Effect.Effect<ProofKey.ProofKey | undefined> {
    const known = this.#keys.get(tokens)
    if (known !== undefined || tokens.proofKey === undefined) return Effect.succeed(known)
    return Effect.tap(ProofKey.parse(tokens.proofKey), (key) =>
      Effect.sync(() => {
        if (key !== undefined) this.#keys.set(tokens, key)
      }))
  }
}
