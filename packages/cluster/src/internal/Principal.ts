/** Principals in a database. */
import * as Digest from "./Digest.ts"

/** Returns the key of a principal, which is no secret and may be long. All anonymous clients are one. */
export const keyOf = (principal: string | undefined): string => principal === undefined ? "" : Digest.of(principal)
