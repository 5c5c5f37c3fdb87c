/**
 * The only type assertion of this package.
 *
 * A use follows a check at run time, or reads a table whose cells are typed by its keys. It has a type argument, and a
 * comment that states the reason.
 */

/** Asserts the type of a value that the compiler cannot derive. */
export const trust = <A>(value: unknown): A => value as A
