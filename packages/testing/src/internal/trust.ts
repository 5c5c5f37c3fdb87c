/**
 * The one place of this package where a value is taken for a type that the compiler cannot derive. Every use stands
 * behind a check made at run time or a schema that the value was drawn from, or says why it may be anything; the use says which.
 */
export const trust = <A>(value: unknown): A => value as A
