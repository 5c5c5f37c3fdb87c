/** The principal of a verified token. */
import * as Principal from "@effect-mcp/session/Principal"
import type { VerifiedToken } from "../../VerifiedToken.ts"
import * as JsonObject from "./JsonObject.ts"
import * as Scopes from "./Scopes.ts"

/** The claims that change with each token. Caches keep the results of different claims apart. */
const changing: ReadonlySet<string> = new Set([
  "at_hash",
  "auth_time",
  "c_hash",
  "cnf",
  "exp",
  "iat",
  "jti",
  "nbf",
  "nonce",
  "session_state",
  "sid"
])

/** The claims that a principal has by default: those that say who it is, and what it belongs to. */
const described: ReadonlyArray<string> = [
  "azp",
  "client_id",
  "email",
  "email_verified",
  "entitlements",
  "groups",
  "iss",
  "locale",
  "name",
  "org_id",
  "preferred_username",
  "roles",
  "sub",
  "tenant",
  "tid",
  "username"
]

/** The most characters of the claims of a principal, as JSON. */
const maxClaimsLength = 16_384

/** Returns the default claims of a token. */
export const claimsOf = ({ claims }: VerifiedToken): JsonObject.JsonObject =>
  Object.fromEntries(described.flatMap((name) => Object.hasOwn(claims, name) ? [[name, claims[name]]] : []))

/** Makes a value unchangeable: requests share the principal of their token. */
const freeze = (value: unknown): void => {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  Object.values(value).forEach(freeze)
}

/** The settings of the principals of a resource server. */
export interface Settings {
  readonly claimsOf: (token: VerifiedToken) => JsonObject.JsonObject
  readonly includes: (scope: string) => ReadonlyArray<string>
  /** Whether the server has several resources. An account is then another principal at each of them (AUT-42). */
  readonly hasTenants: boolean
}

/** Returns claims without those that change. Larger ones are left out, because every session keeps them. */
const stable = (claims: JsonObject.JsonObject): JsonObject.JsonObject => {
  const kept = Object.fromEntries(
    Object.entries(claims).filter(([name]) => !changing.has(name)).toSorted(([one], [other]) => one < other ? -1 : 1)
  )
  const text = JSON.stringify(kept)
  // A copy: the claims of the token stay as they are.
  return text.length > maxClaimsLength ? {} : JsonObject.parse(text) ?? {}
}

/** Returns the principal of a token for a resource. Its scopes include those of the hierarchy (AUT-48). */
export const make = (
  { claimsOf, hasTenants, includes }: Settings,
  token: VerifiedToken,
  resource: string
): Principal.Principal => {
  const { issuer, subject } = token
  const principal: Principal.Principal = {
    id: hasTenants ? Principal.idOf(issuer, subject, resource) : Principal.idOf(issuer, subject),
    claims: stable({ ...claimsOf(token), resource }),
    scopes: Scopes.expand(token.scopes, includes),
    expiresAt: token.expiresAt
  }
  freeze(principal)
  return principal
}
