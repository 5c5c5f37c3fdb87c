/** The kind of an entry: a program to start, or the transport of a URL. */

import type { EntryReader } from "./EntryReader.ts"

/** The kind of an entry. */
export type Kind = "stdio" | "http" | "sse" | "ws"

/** The kind of a URL. `any` is shown by its scheme and its server. */
export type UrlKind = Exclude<Kind, "stdio"> | "any"

const kinds: ReadonlyMap<string, Kind> = new Map([
  ["stdio", "stdio"],
  ["http", "http"],
  ["streamablehttp", "http"],
  ["sse", "sse"],
  ["ws", "ws"],
  ["websocket", "ws"]
])

/** Returns the kind that a text names. Hosts write `streamable-http`, `streamable_http` and `HTTP`. */
const kindNamed = (text: string): Kind | undefined => kinds.get(text.toLowerCase().replace(/[-_]/g, ""))

/** Returns the kind that an entry declares, or `undefined` after a problem. */
const declaredKind = (reader: EntryReader): Kind | "any" | undefined => {
  const type = reader.raw("type")
  const transport = reader.raw("transport")
  if (type !== undefined && transport !== undefined && kindNamed(type) !== kindNamed(transport)) {
    reader.report("transport", "it differs from type", "remove one of them")
    return undefined
  }
  const declared = type ?? transport
  if (declared === undefined) return reader.problems.length === 0 ? "any" : undefined
  const kind = kindNamed(declared)
  if (kind === undefined) {
    reader.report(
      type === undefined ? "transport" : "type",
      `${JSON.stringify(declared)} is no transport`,
      "use stdio, http, streamable-http, sse or ws"
    )
  }
  return kind
}

/** The fields of a URL: `httpUrl` of Gemini CLI is always that of Streamable HTTP, and `serverUrl` is Windsurf's. */
export type UrlField = "url" | "httpUrl" | "serverUrl"

/** Returns the field that has the URL of an entry, and reports a second one. */
export const urlFieldOf = (reader: EntryReader): UrlField => {
  const fields: ReadonlyArray<UrlField> = ["url", "httpUrl", "serverUrl"]
  const [field = "url", other] = fields.filter((one) => reader.has(one))
  if (other !== undefined) reader.report(other, `there is ${field}, too`, "keep one of them")
  return field
}

/** Returns the kind of an entry: what it declares, or what its fields show. */
export const of = (reader: EntryReader, urlField: UrlField): Kind | "any" | undefined => {
  const declared = declaredKind(reader)
  if (declared === undefined) return undefined
  const kind = declared === "any" && urlField === "httpUrl" && !reader.has("command") ? "http" : declared
  if (urlField === "httpUrl" && kind !== "http" && kind !== "any") {
    reader.report("httpUrl", "it is that of Streamable HTTP, and type is another one", "remove type, or write url")
    return undefined
  }
  const hasCommand = reader.has("command")
  const hasUrl = reader.has(urlField)
  if (kind === "any") {
    if (hasCommand && hasUrl) {
      reader.report(urlField, "the entry has command, too", "remove one of them, or set type")
      return undefined
    }
    if (hasCommand) return "stdio"
    if (hasUrl) return "any"
    reader.report("command", "the entry has neither command nor url", "give command for a program, or url for a server")
    return undefined
  }
  if (kind === "stdio" ? hasCommand : hasUrl) return kind
  const field = kind === "stdio" ? "command" : "url"
  reader.report(field, "it is missing", kind === "stdio" ? "give the program to start" : "give the URL of the server")
  return undefined
}
