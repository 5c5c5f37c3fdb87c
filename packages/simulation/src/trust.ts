/**
 * The one cast of this package, with its reason beside each use.
 */
export const trust = <A>(value: unknown): A => value as A
