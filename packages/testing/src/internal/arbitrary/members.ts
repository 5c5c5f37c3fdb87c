/** An object by the names of its members. */
export type Members = { readonly [name: string]: unknown }

/** Returns whether a value is an object, neither null nor an array. */
export const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)
