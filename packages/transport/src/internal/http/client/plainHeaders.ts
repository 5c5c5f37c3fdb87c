import * as Redacted from "effect/Redacted"

/** Headers as they go out: their names in lower case, and nothing hidden. */
export const plainHeaders = (
  values: Readonly<Record<string, string | Redacted.Redacted<string>>>
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name.toLowerCase(),
      typeof value === "string" ? value : Redacted.value(value)
    ])
  )
