/**
 * The one place of this package where a value is taken for a type that the compiler cannot derive. Every use stands
 * behind a schema that the value was drawn from, or says something that is no message on purpose; the use says which.
 */
export const trust = <A>(value: unknown): A => value as A
