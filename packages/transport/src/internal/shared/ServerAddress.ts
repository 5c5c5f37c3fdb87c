/** The address of a server: parsed, and shown without secrets. */
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"

/** Returns an invalid address without its secrets, which are in the same places as those of a valid one. */
const shownText = (given: string | URL): string => {
  const text = String(given).replace(/[?#].*$/s, "")
  const host = text.indexOf("//") + 2
  const at = text.lastIndexOf("@")
  return host < 2 || at < host ? text : `${text.slice(0, host)}${text.slice(at + 1)}`
}

/** Returns a URL without its secrets. */
export const shown = ({ host, pathname, protocol }: URL): string => `${protocol}//${host}${pathname}`

/**
 * Parses the address of a server. It fails if the URL is invalid or has credentials: some HTTP clients drop them, some
 * reject such a URL, and some show them in errors.
 */
export const parse = (given: string | URL): Effect.Effect<URL, TransportError.TransportError> =>
  Effect.try({
    try: () => new URL(given),
    catch: () =>
      TransportError.make({
        _tag: "ConnectFailed",
        target: shownText(given),
        cause: new Error("Invalid URL"),
        isPermanent: true
      })
  }).pipe(
    Effect.filterOrFail(
      ({ password, username }) => username === "" && password === "",
      (url) =>
        TransportError.make({
          _tag: "ConnectFailed",
          target: shown(url),
          cause: new Error("the credentials in the URL would not be sent; send them in `headers`, as `authorization`"),
          isPermanent: true
        })
    )
  )
