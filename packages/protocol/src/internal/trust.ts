/**
 * Asserts a type that the compiler cannot derive. No other place in this package does.
 *
 * Each use follows a check at run time, or reads a table whose cells are typed by their keys. A comment tells which.
 */
export const trust = <A>(value: unknown): A => value as A
