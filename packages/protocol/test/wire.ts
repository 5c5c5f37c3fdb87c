/** Returns a value as the peer receives it, without values that JSON cannot express (`undefined`, −0). */
export const overTheWire = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** JSON values that are not objects. No MCP message is one of them. */
export const notObjects: ReadonlyArray<unknown> = [null, true, 0, 1.5, "", "text", [], [{}]]

/** Names of members that objects inherit, and other special names. */
export const inheritedNames: ReadonlyArray<string> = [
  "__proto__",
  "constructor",
  "hasOwnProperty",
  "prototype",
  "toString",
  "valueOf",
  ""
]

/** Returns whether a value is an object, neither null nor a list. */
export const isMembers = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Freezes a value deeply: a modification throws. */
export const frozen = <A>(value: A): A => {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) frozen(inner)
    Object.freeze(value)
  }
  return value
}
