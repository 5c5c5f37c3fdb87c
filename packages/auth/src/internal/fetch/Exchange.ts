/** A request of an authorization and its response, as the platform sends and receives them. */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

/** A request. */
export interface OAuthRequest {
  readonly method: "GET" | "POST"
  readonly url: URL
  /** The headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

/** A response whose body has not been read. */
export interface Incoming {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Stream.Stream<Uint8Array, unknown>
}

/** Sends a request, and receives the beginning of its response. The scope ends both. Follows no redirect. */
export type Exchange = (request: OAuthRequest) => Effect.Effect<Incoming, unknown, Scope.Scope>
