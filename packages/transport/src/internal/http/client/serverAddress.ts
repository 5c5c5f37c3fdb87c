import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"

/** What may be shown of an address that is none: it may hold secrets in the same places as one that is. */
const shownText = (given: string | URL): string => String(given).replace(/[?#].*$/s, "").replace(/\/\/.*@/s, "//")

/** Where something is sent, without what may be secret. */
export const shown = ({ host, pathname, protocol }: URL): string => `${protocol}//${host}${pathname}`

/**
 * The address of a server. One that is none is refused, and so is one with credentials in it: some clients would drop them, others would
 * not go there, and others again show them in their errors.
 */
export const parse = (given: string | URL): Effect.Effect<URL, TransportError.TransportError> =>
  Effect.try({
    try: () => new URL(given),
    catch: () =>
      TransportError.make({ _tag: "ConnectFailed", target: shownText(given), cause: new Error("Invalid URL") })
  }).pipe(
    Effect.filterOrFail(
      ({ password, username }) => username === "" && password === "",
      (url) =>
        TransportError.make({
          _tag: "ConnectFailed",
          target: shown(url),
          cause: new Error("the credentials in the URL would not be sent; say them in `headers`, as `authorization`")
        })
    )
  )
