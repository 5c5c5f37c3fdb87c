/** The address of a server: parsed, and shown without secrets. */
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"

/** Returns an invalid address without its secrets, which are in the same places as those of a valid one. */
const shownText = (text: string): string => {
  const [scheme = ""] = /^[a-z][a-z\d+.-]*:\/\//i.exec(text) ?? []
  const query = text.search(/[?#]/)
  const end = query < 0 ? text.length : query
  const at = text.lastIndexOf("@")
  // A password with `?`, or a query with `@`: each of both ends may be the secret.
  if (at > end) return `${scheme}…`
  return at < scheme.length ? text.slice(0, end) : scheme + text.slice(at + 1, end)
}

/** Returns an address without its secrets: user, password, query and fragment. */
export const shown = (given: string | URL): string => {
  if (!URL.canParse(String(given))) return shownText(String(given))
  const { host, href, pathname, protocol } = new URL(given)
  // `ada:secret@example.com` is a URL of the scheme `ada:`, and has no user.
  return host === "" && !pathname.startsWith("/") ? shownText(href) : `${protocol}//${host}${pathname}`
}

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
        target: shown(given),
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
