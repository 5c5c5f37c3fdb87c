/** The failure of a listener that cannot use its address. */

import { ServeError } from "effect/http/HttpServerError"

/** Returns the code of an error of Node, such as `EADDRINUSE`. */
const codeOf = (cause: unknown): string | undefined =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : undefined

/** The reason and the remedy, by the code of the error. */
const explanations: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "another listener uses this port; stop it, or set another port (0 takes any free one)"],
  ["EACCES", "this process may not use this port; set another one, from 1024 on"],
  ["EADDRNOTAVAIL", "this machine does not have this address; set hostname to one that it has"],
  ["ENOTFOUND", "the name has no address; set hostname to an address of this machine"]
])

/** A `ServeError` with a message, which the one of Effect does not have. */
export class ListenError extends ServeError {
  override readonly message: string

  constructor(address: { readonly hostname: string; readonly port: number }, cause: unknown) {
    super({ cause })
    const { hostname, port } = address
    const code = codeOf(cause)
    const explanation = code === undefined ? undefined : explanations.get(code)
    const problem = explanation === undefined
      ? cause instanceof Error ? cause.message : String(cause)
      : `${code}, ${explanation}`
    this.message = `cannot listen on ${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}: ${problem}`
  }
}
