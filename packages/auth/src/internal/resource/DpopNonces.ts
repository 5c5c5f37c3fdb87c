/**
 * The nonces that a server gives for proofs (RFC 9449, section 9).
 *
 * A nonce is a period of time with its authentication code, so the server stores none, and all processes with the same
 * secret accept it.
 */
import { webCrypto } from "@effect-mcp/session/internal"
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import * as Base64Url from "effect/encoding/Base64Url"

/** The nonces of a server. */
export interface DpopNonces {
  /** Returns the nonce of this time. */
  readonly current: (now: number) => string
  /** Returns whether a nonce is that of this time, or the one before. */
  readonly accepts: (nonce: string, now: number) => boolean
}

/** Compares two texts in a time that does not depend on where they differ. */
const isEqual = (given: string, expected: string): boolean => {
  if (given.length !== expected.length) return false
  let difference = 0
  for (let index = 0; index < expected.length; index++) {
    difference |= given.charCodeAt(index) ^ expected.charCodeAt(index)
  }
  return difference === 0
}

/** Makes the nonces of a secret. Each is given for `periodMillis`, and accepted for up to twice that. */
export const make = (secret: () => Uint8Array, periodMillis: number): DpopNonces => {
  let key: Uint8Array | undefined
  let last: { readonly period: number; readonly nonce: string } | undefined
  const nonceOf = (period: number): string => {
    if (last?.period === period) return last.nonce
    // A worker has random values only after it is loaded.
    key ??= secret()
    return Base64Url.encode(hmac(sha256, key, webCrypto.bytesOf(`dpop nonce ${period}`)))
  }
  const periodAt = (now: number): number => Math.floor(now / periodMillis)
  const isNonceOf = (nonce: string, period: number): boolean => isEqual(nonce, nonceOf(period))
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
