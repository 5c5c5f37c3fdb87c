/**
 * The authorization of a client at the servers that it calls over HTTP or WebSocket (AUT-05, AUT-33).
 *
 * @stability unstable
 */
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { AuthenticationChallenge } from "./AuthenticationChallenge.ts"
import { ChallengedServer } from "./internal/authorization/ChallengedServer.ts"
import type { HeaderValues } from "./internal/shared/HeaderValues.ts"

/**
 * A request before it is sent.
 *
 * @category models
 */
export interface OutgoingRequest {
  readonly method: "DELETE" | "GET" | "POST"
  /** The URL of the request, after the redirects so far. The URL of an upgrade to a WebSocket begins with `https:`. */
  readonly url: URL
}

/**
 * A request after it is sent.
 *
 * @category models
 */
export interface SentRequest extends OutgoingRequest {
  /** The headers that the authorization gave this request: the same object. */
  readonly sentWith: HeaderValues
}

/**
 * A request that the server has answered with 401 or 403. The server has not carried it out.
 *
 * @category models
 */
export interface RejectedRequest extends SentRequest {
  readonly status: 401 | 403
  readonly challenges: ReadonlyArray<AuthenticationChallenge>
  /** The operation of a message, such as `tools/call "write"`; `undefined` for a stream or the end of a session. */
  readonly operation: string | undefined
  /** The number of times that this request was sent again before. The transport sends it again at most five times. */
  readonly repetitions: number
  /** Returns a header of the response. */
  readonly header: (name: string) => string | undefined
}

/**
 * The state of an account at a server. Times are milliseconds since 1970.
 *
 * - `SignedOut`: there are no tokens.
 * - `Authorizing`: a person has to visit the URL and, on a device, to enter the code. If `isQueued`, the authorization
 *   at another server is shown first.
 * - `SignedIn`: there are tokens. If they have expired and are not refreshable, the next request needs a person.
 *
 * @category models
 */
export type AccountStatus =
  | { readonly _tag: "SignedOut" }
  | {
    readonly _tag: "Authorizing"
    readonly url: string | undefined
    readonly code: string | undefined
    readonly since: number
    readonly isQueued?: true
  }
  | {
    readonly _tag: "SignedIn"
    readonly issuer: string
    readonly scopes: ReadonlyArray<string> | undefined
    readonly expiresAt: number | undefined
    readonly isRefreshable: boolean
  }

/**
 * The account of the program at a server, for the acts of a person. Failures have the reason `AuthorizationFailed`.
 *
 * @category models
 */
export interface Account {
  /** Signs a person in, also if there are tokens. Completes when the person has signed in. */
  readonly login: (
    options?: { readonly scopes?: ReadonlyArray<string> | undefined }
  ) => Effect.Effect<void, TransportError>
  /** Removes the tokens, and revokes them at the issuer. The server asks no person again until the next `login`. */
  readonly logout: Effect.Effect<void, TransportError>
  readonly status: Effect.Effect<AccountStatus, TransportError>
}

/**
 * The client of the program at one server, as a configuration of servers describes it.
 *
 * @category models
 */
export interface ConfiguredClient {
  readonly clientId?: string | undefined
  readonly clientSecret?: Redacted.Redacted<string> | undefined
  /** The issuer that has given the client id. Default: the one at which a person signs in first. */
  readonly issuer?: string | undefined
  readonly scopes?: ReadonlyArray<string> | undefined
  /** The redirect URI that the client is registered with. */
  readonly redirectUri?: string | undefined
}

/**
 * The authorization at one server. All connections with the server share it.
 *
 * Neither function waits for a person. If a person has to act, it fails with `AuthorizationRequired`, whose
 * `authorized` completes when the person has. Sessions wait for that, and send the request again. A function that takes
 * longer than a minute fails the request with `AuthorizationFailed`.
 *
 * @category models
 */
export interface ServerAuthorization {
  /** Returns the headers that authorize a request. */
  readonly headers: (request: OutgoingRequest) => Effect.Effect<HeaderValues, TransportError>
  /**
   * Handles a rejection. The request is sent once more if this succeeds, with the headers that `headers` then returns.
   * If it returns `"Final"`, the rejection is the outcome of the request.
   */
  readonly rejected: (request: RejectedRequest) => Effect.Effect<"Again" | "Final", TransportError>
  /** Called with each response of another status, for what a server sends with it, such as the nonces of DPoP. */
  readonly responded?: (request: SentRequest, header: (name: string) => string | undefined) => void
  /** The account at the server, if a person can sign in. */
  readonly account?: Account
}

/**
 * The port that authorizes a client at servers. A client over HTTP or WebSocket uses its option `authorization`, or
 * this service, if it is provided to the Layer of the client. Without either, a request that is answered with 401 fails
 * with `Unauthenticated`.
 *
 * @example
 * ```ts
 * import { ClientAuthorization } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * // One key for all servers; a rejection of it is final.
 * export const byKey = Layer.succeed(ClientAuthorization.ClientAuthorization, {
 *   of: () =>
 *     Effect.succeed({
 *       headers: () => Effect.succeed({ "x-api-key": Redacted.make("secret") }),
 *       rejected: () => Effect.succeed("Final")
 *     })
 * })
 * ```
 *
 * @category services
 */
export class ClientAuthorization extends Context.Service<ClientAuthorization, {
  /**
   * Returns the authorization at a server: the same for the same URL. A configuration may describe the client there,
   * whose authorization is then another one than those of other clients.
   */
  readonly of: (server: URL, client?: ConfiguredClient) => Effect.Effect<ServerAuthorization>
}>()("@effect-mcp/transport/ClientAuthorization") {}

/**
 * Creates the authorization of a program that has a function for it. The function runs after a rejection, with the
 * challenges of the server, and later requests carry the headers that it returns. If it returns `undefined`, the
 * rejected request fails.
 *
 * For one URL it runs once at a time: requests that are rejected meanwhile wait for it. After a second they no longer
 * count it against the deadlines of connections, because a person may have to act, and it runs to its end even if no
 * request waits. If the server rejects the headers before it has accepted a request with them, the function does not
 * run again.
 *
 * @example
 * ```ts
 * import { AuthenticationChallenge, ClientAuthorization, StreamableHttpClient } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Redacted from "effect/Redacted"
 *
 * declare const newToken: (scope: string | undefined) => Effect.Effect<string>
 *
 * const authorization = ClientAuthorization.fromChallenge((challenges) => {
 *   const scope = AuthenticationChallenge.find(challenges, "Bearer")?.parameters["scope"]
 *   return Effect.map(newToken(scope), (token) => ({ authorization: Redacted.make(`Bearer ${token}`) }))
 * })
 *
 * export const server = StreamableHttpClient.layerNode({ url: "https://example.com/mcp", authorization })
 * ```
 *
 * @category constructors
 */
export const fromChallenge = (
  answer: (challenges: ReadonlyArray<AuthenticationChallenge>) => Effect.Effect<HeaderValues | undefined>
): ClientAuthorization["Service"] => {
  const servers = new Map<string, ServerAuthorization>()
  return {
    of: (server) =>
      Effect.sync(() => {
        const known = servers.get(server.href)
        if (known !== undefined) return known
        const added = new ChallengedServer(answer)
        servers.set(server.href, added)
        return added
      })
  }
}
