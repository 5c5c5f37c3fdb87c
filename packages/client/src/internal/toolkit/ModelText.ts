/** Text of servers as a provider of a model accepts it. */

/** Returns a text without half surrogate pairs: a provider could not read the JSON of a request with one. */
export const of = (text: string): string => text.replace(/\p{Surrogate}/gu, "\ufffd")

/** Returns a JSON value whose texts have no half surrogate pairs. It must not be deeper than `JsonDepth.maxLevels`. */
export const within = (value: unknown): unknown => {
  if (typeof value === "string") return of(value)
  if (Array.isArray(value)) return value.map(within)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [of(name), within(member)]))
}
