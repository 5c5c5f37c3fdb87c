/** An object by the names of what is in it. */
export type Members = { readonly [name: string]: unknown }

/** Is this an object, neither null nor a list? */
export const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)
