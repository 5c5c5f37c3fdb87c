/** The library `jose`, loaded on first use, and its errors. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as jose from "jose"

/** The library. */
export type Jose = typeof jose

/** Loads the library. */
export const load: Effect.Effect<Jose> = Effect.promise(() => import("jose"))

/** An error of the library. */
export interface JoseError {
  readonly code: string
  /** The claim that is wrong. */
  readonly claim: string | undefined
}

/** Returns the code of an error of the library; `undefined` for any other error. */
export const errorOf = (error: unknown): JoseError | undefined => {
  if (!Predicate.hasProperty(error, "code") || typeof error.code !== "string") return undefined
  if (!error.code.startsWith("ERR_J")) return undefined
  const claim = Predicate.hasProperty(error, "claim") && typeof error.claim === "string" ? error.claim : undefined
  return { code: error.code, claim }
}
