/** The URLs that a person may be sent to (AUT-52). */

import * as AddressPolicy from "../fetch/AddressPolicy.ts"

/**
 * Returns whether a browser may open the URL: `https:`, or `http:` to this machine, without credentials. Any other
 * scheme may start a program or run a script (CVE-2025-6514).
 */
export const isVisitable = (url: URL): boolean =>
  (url.protocol === "https:" || (url.protocol === "http:" && AddressPolicy.isLoopback(url))) && url.username === "" &&
  url.password === ""
