/** The media types of requests: what `Accept` lists (RFC 9110, 12.5.1), and whether `Content-Type` is JSON. */

const isExcluded = (parameters: string): boolean => /;\s*q=0(\.0*)?\s*(;|$)/i.test(parameters)

/** The values of `Accept` that nearly all clients send; they are not parsed. */
const usual: ReadonlySet<string> = new Set([
  "application/json, text/event-stream",
  "application/json,text/event-stream",
  "text/event-stream, application/json"
])

/** Returns whether this `Accept` lists this media type. */
export const accepts = (accept: string | undefined, type: "application/json" | "text/event-stream"): boolean => {
  if (accept === undefined) return false
  if (usual.has(accept)) return true
  const [family] = type.split("/")
  return accept.split(",").some((part) => {
    const [range = "", ...parameters] = part.trim().split(";")
    const name = range.trim().toLowerCase()
    return (name === "*/*" || name === `${family}/*` || name === type) && !isExcluded(`;${parameters.join(";")}`)
  })
}

/** Returns whether a body of this `Content-Type` is JSON in UTF-8. */
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
