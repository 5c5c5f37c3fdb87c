/** The scopes that members demand of principals: those of their groups, and their own. */

import { Excerpt, Scope } from "@effect-mcp/protocol/internal"
import type { Demand, Entry, Registration } from "./Entry.ts"
import { RegistrationError } from "./RegistrationError.ts"

/** The demand of members that need no scope. */
export const none: Demand = { scopes: [], isHiding: false }

/** Returns the demand for the scopes of both. One that hides makes both hide. */
export const joined = (one: Demand, other: Demand): Demand => ({
  scopes: [...new Set([...one.scopes, ...other.scopes])],
  isHiding: one.isHiding || other.isHiding
})

/**
 * Returns the demand of a member; `undefined` if it needs no scope. Throws if a scope cannot be in a challenge, so that
 * no client could be asked for it.
 */
export const of = (
  { group, scopes: ofGroup = none }: Pick<Registration, "group" | "scopes">,
  { scopes: own = [] }: Pick<Entry, "scopes">
): Demand | undefined => {
  const demand = joined(ofGroup, { scopes: own, isHiding: false })
  const invalid = demand.scopes.find((scope) => !Scope.isScope(scope))
  if (invalid === undefined) return demand.scopes.length === 0 ? undefined : demand
  throw new RegistrationError({
    group,
    problem: `the scope ${Excerpt.name(invalid)} is none of RFC 6749; use ASCII without spaces, quotes and backslashes`
  })
}
