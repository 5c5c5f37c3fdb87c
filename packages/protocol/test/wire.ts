/** A value as it arrives on the other side: what JSON cannot say (`undefined`, −0) is gone. */
export const overTheWire = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** JSON values that are no objects; nothing that MCP sends is one of them. */
export const notObjects: ReadonlyArray<unknown> = [null, true, 0, 1.5, "", "text", [], [{}]]

/** Names that an object answers to without ever having been given them. */
export const inheritedNames: ReadonlyArray<string> = [
  "__proto__",
  "constructor",
  "hasOwnProperty",
  "prototype",
  "toString",
  "valueOf",
  ""
]

/** Is this an object, neither null nor a list? */
export const isMembers = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The same value, frozen all through: to alter it throws. */
export const frozen = <A>(value: A): A => {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) frozen(inner)
    Object.freeze(value)
  }
  return value
}
