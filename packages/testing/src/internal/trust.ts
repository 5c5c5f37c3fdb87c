/**
 * The one cast of this package.
 *
 * It asserts a type that the compiler cannot derive. Each use follows a check at run time, or takes a value generated
 * from a schema, or states why any value is right.
 */
export const trust = <A>(value: unknown): A => value as A
