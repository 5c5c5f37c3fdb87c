/**
 * The authenticated identity of a client.
 *
 * @stability unstable
 */

/**
 * An authenticated identity. Two messages come from the same principal if the `id`s are equal. A session belongs to the
 * principal that opened it.
 *
 * @category models
 */
export interface Principal {
  /** Distinguishes the principal from all others. For a token, for example, its issuer and subject. */
  readonly id: string
  /**
   * Further attributes for handlers, such as a tenant or a name: a stable subset of those of its token. Caches keep the
   * results of different claims apart, so an id or a time of the token in the claims would empty them at each renewal.
   */
  readonly claims?: { readonly [name: string]: unknown } | undefined
  /**
   * The scopes that are granted to this request, with those that they include: a hierarchy is expanded already
   * (AUT-48). Default: none.
   */
  readonly scopes?: ReadonlyArray<string> | undefined
  /**
   * The time at which the identity expires, in milliseconds since the epoch. Later requests with it are rejected with
   * 401, and its streams and WebSockets end. A call that runs goes on. Default: it does not expire.
   */
  readonly expiresAt?: number | undefined
}

/**
 * Returns whether both are the same principal, or both are anonymous.
 *
 * @example
 * ```ts
 * import { Principal } from "@effect-mcp/session"
 *
 * export const same = Principal.isSame({ id: "ada" }, { id: "ada", claims: { scope: "notes" } }) // => true
 * ```
 *
 * @category comparing
 */
export const isSame = (one: Principal | undefined, other: Principal | undefined): boolean => one?.id === other?.id

/**
 * Returns the id of a principal from the issuer and the subject of its token. Two pairs never have the same id: no
 * issuer can imitate a subject of another one. With the resource of a tenant, an account is another principal at each
 * tenant: a token for one of them opens no session of another.
 *
 * @example
 * ```ts
 * import { Principal } from "@effect-mcp/session"
 *
 * export const id = Principal.idOf("https://login.example.com", "ada")
 * // => "[\"https://login.example.com\",\"ada\"]"
 * ```
 *
 * @category constructors
 */
export const idOf = (issuer: string, subject: string, resource?: string): string =>
  resource === undefined ? JSON.stringify([issuer, subject]) : JSON.stringify([issuer, subject, resource])

/**
 * Returns whether a principal has all of these scopes. An anonymous sender has none.
 *
 * @example
 * ```ts
 * import { Principal } from "@effect-mcp/session"
 *
 * const ada = { id: "ada", scopes: ["notes:read"] }
 *
 * export const answers = [Principal.hasScopes(ada, ["notes:read"]), Principal.hasScopes(ada, ["notes:write"])]
 * // => [true, false]
 * ```
 *
 * @category guards
 */
export const hasScopes = (principal: Principal | undefined, scopes: ReadonlyArray<string>): boolean =>
  scopes.every((scope) => principal?.scopes?.includes(scope) === true)

/**
 * Returns whether the identity of a principal has expired at this time, in milliseconds since the epoch.
 *
 * @example
 * ```ts
 * import { Principal } from "@effect-mcp/session"
 *
 * export const expired = Principal.isExpired({ id: "ada", expiresAt: 1_000 }, 1_000) // => true
 * ```
 *
 * @category guards
 */
export const isExpired = (principal: Principal | undefined, now: number): boolean =>
  // The negation: a time that is no number is in the past.
  principal?.expiresAt !== undefined && !(principal.expiresAt > now)
