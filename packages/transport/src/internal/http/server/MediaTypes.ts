/** What a client says that it takes (RFC 9110, 12.5.1), as far as it matters here. */

const isRefused = (parameters: string): boolean => /;\s*q=0(\.0*)?\s*(;|$)/i.test(parameters)

/** What lets both kinds of answer through. */
const usual: ReadonlySet<string> = new Set([
  "application/json, text/event-stream",
  "application/json,text/event-stream",
  "text/event-stream, application/json"
])

/** Does this `Accept` let this media type through? */
export const accepts = (accept: string | undefined, type: "application/json" | "text/event-stream"): boolean => {
  if (accept === undefined) return false
  // Nearly every client says just this, in one order or the other.
  if (usual.has(accept)) return true
  const [family] = type.split("/")
  const isAccepted = accept.split(",").some((part) => {
    const [range = "", ...parameters] = part.trim().split(";")
    const name = range.trim().toLowerCase()
    return (name === "*/*" || name === `${family}/*` || name === type) && !isRefused(`;${parameters.join(";")}`)
  })
  return isAccepted
}

/** Is a body of this `Content-Type` JSON in UTF-8? */
export const isJson = (contentType: string | undefined): boolean => {
  if (contentType === undefined) return false
  if (contentType === "application/json") return true
  const [type = "", ...parameters] = contentType.split(";")
  if (type.trim().toLowerCase() !== "application/json") return false
  return parameters.every((parameter) => {
    const [name = "", value = ""] = parameter.split("=")
    return name.trim().toLowerCase() !== "charset" || /^"?utf-?8"?$/i.test(value.trim())
  })
}
