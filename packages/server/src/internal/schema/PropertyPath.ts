/** The text of a path into a value or a schema, such as `tasks[0].due`. */
import { Excerpt } from "@effect-mcp/protocol/internal"

const isName = /^[A-Za-z_$][A-Za-z0-9_$]{0,127}$/

/** The key of every element of an array, and of every property of a record. */
export const each = "*"

const step = (key: PropertyKey): string =>
  typeof key === "number" || key === each ? `[${key}]` : `[${JSON.stringify(Excerpt.of(String(key)))}]`

/** The greatest number of keys in the text. */
const maxKeys = 32

/** Returns the text of a path. The text of a long path ends with an ellipsis, and a long key is cut. */
export const format = (path: ReadonlyArray<PropertyKey>): string => {
  const shown = path.slice(0, maxKeys).map((key, index) => {
    if (typeof key !== "string" || !isName.test(key)) return step(key)
    return index === 0 ? key : `.${key}`
  })
  return path.length > maxKeys ? `${shown.join("")}…` : shown.join("")
}
