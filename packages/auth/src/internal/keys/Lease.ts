/**
 * The lease of a key, as stores keep it.
 */

/** A lease. Times are milliseconds since 1970. */
export interface Lease {
  readonly owner: string
  readonly acquiredAt: number
  readonly expiresAt: number
}

/** Returns the lease that an owner acquires now. */
export const of = (owner: string, now: number, millis: number): Lease => ({
  owner,
  acquiredAt: now,
  expiresAt: now + millis
})

/**
 * Whether an owner must wait for another one. A lease of the future is none: the clock was set back since then, and
 * without this the lease of a dead process would be held until the clock has gained that time.
 */
export const isHeldByOther = (lease: Lease | undefined, owner: string, now: number): boolean =>
  lease !== undefined && lease.owner !== owner && now < lease.expiresAt && lease.acquiredAt <= now + maxSkew

/** The most by which the clocks of two computers with one store may differ, in milliseconds. */
export const maxSkew = 5000
