/**
 * The nonces that a server gives for proofs (RFC 9449, section 9).
 *
 * A nonce is a period of time with its authentication code, so the server stores none, and all processes with the same
 * secret accept it.
 */
import { Buffer } from "node:buffer"
import { createHmac, timingSafeEqual } from "node:crypto"

/** The nonces of a server. */
export interface DpopNonces {
  /** Returns the nonce of this time. */
  readonly current: (now: number) => string
  /** Returns whether a nonce is that of this time, or the one before. */
  readonly accepts: (nonce: string, now: number) => boolean
}

/** Makes the nonces. Each is given for `periodMillis`, and accepted for up to twice that. */
export const make = (secret: Uint8Array | string, periodMillis: number): DpopNonces => {
  let last: { readonly period: number; readonly nonce: string } | undefined
  const nonceOf = (period: number): string => {
    if (last?.period === period) return last.nonce
    return createHmac("sha256", secret).update(`dpop nonce ${period}`).digest("base64url")
  }
  const periodAt = (now: number): number => Math.floor(now / periodMillis)
  const isNonceOf = (nonce: string, period: number): boolean => {
    const given = Buffer.from(nonce)
    const expected = Buffer.from(nonceOf(period))
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
  return {
    current: (now) => {
      const period = periodAt(now)
      const nonce = nonceOf(period)
      last = { period, nonce }
      return nonce
    },
    accepts: (nonce, now) => isNonceOf(nonce, periodAt(now)) || isNonceOf(nonce, periodAt(now) - 1)
  }
}
