/**
 * Who is on the other side, as whoever let them in has found out.
 */

/**
 * An identity. Two messages come from the same principal if their `id`s are equal; a session belongs to the one that opened it.
 *
 * @category models
 */
export interface Principal {
  /** What distinguishes it from every other, such as the issuer and subject of a token. */
  readonly id: string
  /** What else is known of it, for handlers to look at: scopes, a tenant, a name. */
  readonly claims?: { readonly [name: string]: unknown } | undefined
}

/**
 * Are both the same identity, or both none?
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
