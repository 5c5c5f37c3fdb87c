/**
 * The authenticated identity of a client.
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
  /** Further attributes for handlers, such as scopes, a tenant or a name. */
  readonly claims?: { readonly [name: string]: unknown } | undefined
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
