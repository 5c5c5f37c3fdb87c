/**
 * The one place of this package where a value is taken for a type that the compiler cannot derive. Every use stands
 * behind a check made at run time, or looks up in a table whose cells are typed by the very keys it is asked with; the
 * use says which.
 */
export const trust = <A>(value: unknown): A => value as A
