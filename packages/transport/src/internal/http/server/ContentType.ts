/** The header `Content-Type` of requests. */

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
