/** The path of an endpoint: its parameters, with the patterns that their values match. */

/** A text of a path, or a parameter. */
type Part =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Parameter"; readonly slash: string; readonly name: string; readonly pattern: RegExp | undefined }

/** A path in its parts. */
export type PathPattern = ReadonlyArray<Part>

/** Returns the index after the bracket that closes the one at `from`. Escaped ones and those of classes are text. */
const endOfBrackets = (path: string, from: number): number => {
  let open = 0
  let isInClass = false
  for (let index = from; index < path.length; index++) {
    const character = path[index]
    if (character === "\\") index++
    else if (isInClass) isInClass = character !== "]"
    else if (character === "[") isInClass = true
    else if (character === "(") open++
    else if (character === ")" && --open === 0) return index + 1
  }
  return path.length
}

const start = /::|(\/?):(\w+)/g

/** Reads the path of an endpoint, as the router does: `:name`, `:name?`, `:name(pattern)`, and `::` for a colon. */
export const parse = (path: string): PathPattern => {
  const parts: Array<Part> = []
  let done = 0
  start.lastIndex = 0
  for (let found = start.exec(path); found !== null; found = start.exec(path)) {
    const [whole, slash = "", name] = found
    parts.push({ _tag: "Text", text: path.slice(done, found.index) })
    let end = found.index + whole.length
    if (name === undefined) {
      parts.push({ _tag: "Text", text: ":" })
    } else {
      let pattern: RegExp | undefined
      if (path[end] === "(") {
        const after = endOfBrackets(path, end)
        // The router anchors a pattern at both ends, whether it is written so or not.
        const source = path.slice(end + 1, after - 1).replace(/^\^/, "").replace(/\$$/, "")
        pattern = new RegExp(`^(?:${source})$`)
        end = after
      }
      if (path[end] === "?") end++
      parts.push({ _tag: "Parameter", slash, name, pattern })
    }
    done = end
    start.lastIndex = end
  }
  return [...parts, { _tag: "Text", text: path.slice(done) }]
}

/** Returns the patterns of parameters by their names. */
export const patternsOf = (path: PathPattern): ReadonlyMap<string, RegExp> =>
  new Map(
    path.flatMap((part) =>
      part._tag === "Parameter" && part.pattern !== undefined ? [[part.name, part.pattern] as const] : []
    )
  )

/** Returns the path with the values of its parameters. */
export const write = (path: PathPattern, params: Readonly<Record<string, string | undefined>>): string =>
  path.map((part) => {
    if (part._tag === "Text") return part.text
    const value = params[part.name]
    return value === undefined ? "" : `${part.slash}${encodeURIComponent(value)}`
  }).join("")
