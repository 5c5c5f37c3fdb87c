/** The issuers and endpoints that a program names. */
import { InvalidOptionError } from "@effect-mcp/session/InvalidOptionError"
import * as AddressPolicy from "../fetch/AddressPolicy.ts"

const isWeb = ({ protocol }: URL): boolean => protocol === "https:" || protocol === "http:"

/** Throws an error for a text that is no URL of the web. The program decides about TLS. */
export const checkEndpoint = (option: string, given: string | undefined): void => {
  if (given === undefined || (URL.canParse(given) && isWeb(new URL(given)))) return
  throw new InvalidOptionError({ option, given, allowed: "an https: URL" })
}

/** Throws an error for a text that is no identifier of an issuer (RFC 8414, section 2). */
export const check = (option: string, given: string, options: { readonly isRequested: boolean }): void => {
  const url = URL.canParse(given) ? new URL(given) : undefined
  const isIdentifier = url !== undefined && isWeb(url) && !/[?#\s]/.test(given) && url.username === ""
  const isSecure = url?.protocol === "https:" || (url !== undefined && AddressPolicy.isLoopback(url))
  // Its metadata says whose keys are trusted.
  if (isIdentifier && (isSecure || !options.isRequested)) return
  throw new InvalidOptionError({ option, given, allowed: "an https: URL without query and fragment" })
}
