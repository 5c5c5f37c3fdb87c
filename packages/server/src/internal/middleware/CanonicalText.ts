/** A text for a JSON value that does not depend on the order of members. */

const sorted = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1))
    : value

/** Returns the text; `undefined` for a value that is not JSON, or is nested too deeply. */
export const of = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value, sorted) ?? ""
  } catch {
    return undefined
  }
}
