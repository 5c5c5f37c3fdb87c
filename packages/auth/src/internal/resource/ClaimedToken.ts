/** The token that claims describe, after their source has confirmed them. */
import * as Effect from "effect/Effect"
import { TokenRejected, type VerifiedToken } from "../../VerifiedToken.ts"
import * as JsonObject from "./JsonObject.ts"
import * as ResourceUrl from "./ResourceUrl.ts"
import * as Scopes from "./Scopes.ts"

/** The rules that signed tokens and introspected ones share. */
export interface Rules {
  readonly issuer: string
  /** The audiences; `undefined` for the resource itself. */
  readonly audience: ReadonlyArray<string> | undefined
  readonly skewMillis: number
  /** Returns the subject: unique at the issuer, also among its clients. */
  readonly subjectOf: (claims: JsonObject.JsonObject) => string | undefined
}

/** Fails with the reason why a token is not accepted. */
export const reject = (problem: string): Effect.Effect<never, TokenRejected> =>
  Effect.fail(new TokenRejected({ problem }))

/** The reasons of claims, by their names. */
export const problems = {
  aud: "its audience (aud) is not this server",
  cnf: "it is bound to a key in a way that this server cannot check (cnf)",
  exp: "it has expired",
  iss: "its issuer (iss) is another one",
  nbf: "it is not valid yet (nbf)",
  sub: "it has no subject (sub), or one that is no text"
}

/** Returns the audiences of a token. */
export const audiencesOf = (claims: JsonObject.JsonObject): ReadonlyArray<unknown> => {
  const audience = claims["aud"]
  return Array.isArray(audience) ? audience : audience === undefined ? [] : [audience]
}

/** Returns whether a token is meant for the resource, or has one of the audiences that the program names (AUT-42). */
export const isFor = ({ audience: named }: Rules, claims: JsonObject.JsonObject, resource: string): boolean =>
  audiencesOf(claims).some((audience) =>
    typeof audience === "string" &&
    (named === undefined ? ResourceUrl.isSame(audience, resource) : named.includes(audience))
  )

/** The confirmation of a token: the thumbprint of a key, or a kind that is not known. */
const thumbprintOf = (claims: JsonObject.JsonObject): string | "unknown" | undefined => {
  const confirmation = claims["cnf"]
  if (confirmation === undefined) return undefined
  return JsonObject.is(confirmation) ? JsonObject.textOf(confirmation, "jkt") ?? "unknown" : "unknown"
}

/** Returns the token of these claims. A key that cannot be checked is no reason to accept the token without it. */
export const make = (
  rules: Rules,
  claims: JsonObject.JsonObject
): Effect.Effect<VerifiedToken, TokenRejected> => {
  const subject = rules.subjectOf(claims)
  if (subject === undefined) return reject(problems.sub)
  const keyThumbprint = thumbprintOf(claims)
  if (keyThumbprint === "unknown") return reject(problems.cnf)
  const expiresAt = JsonObject.millisOf(claims, "exp")
  return Effect.succeed({
    issuer: rules.issuer,
    subject,
    scopes: Scopes.parse(claims["scope"] ?? claims["scp"]),
    // It is accepted until then.
    expiresAt: expiresAt === undefined ? undefined : expiresAt + rules.skewMillis,
    claims,
    keyThumbprint
  })
}
