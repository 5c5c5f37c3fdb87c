/** The URLs that a person may be sent to (AUT-52). */

/** Loopback addresses as a parsed URL writes them. */
const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** Returns whether the host of a URL is this machine, by its name or by a literal. */
export const isLoopback = (url: URL): boolean => loopback.test(url.hostname)

/**
 * Returns whether a browser may open the URL: `https:`, or `http:` to this machine, without credentials. Any other
 * scheme may start a program or run a script (CVE-2025-6514).
 */
export const isVisitable = (url: URL): boolean =>
  (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url))) && url.username === "" &&
  url.password === ""
