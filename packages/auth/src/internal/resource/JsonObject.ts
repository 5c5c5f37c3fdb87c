/** JSON objects of peers. */

/** A JSON object whose members are not known. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Returns whether a value is a JSON object. */
export const is = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Parses a JSON object; `undefined` for another text. */
export const parse = (text: string): JsonObject | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return is(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Returns a member that is a text and not empty. */
export const textOf = (object: JsonObject, name: string): string | undefined => {
  const value = Object.hasOwn(object, name) ? object[name] : undefined
  return typeof value === "string" && value !== "" ? value : undefined
}

/** Returns a member that is a time in seconds, in milliseconds. */
export const millisOf = (object: JsonObject, name: string): number | undefined => {
  const value = Object.hasOwn(object, name) ? object[name] : undefined
  return typeof value === "number" && Number.isFinite(value) ? value * 1000 : undefined
}
