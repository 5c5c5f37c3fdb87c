/** URLs in errors. */
import { Excerpt } from "@effect-mcp/protocol/internal"

/** The most characters of a URL that an error shows. */
const shownCharacters = 300

/** Returns a URL without the places of secrets: credentials, query and fragment. */
export const shown = ({ host, pathname, protocol }: URL): string =>
  Excerpt.line(host === "" ? `${protocol}${pathname}` : `${protocol}//${host}${pathname}`, shownCharacters)
