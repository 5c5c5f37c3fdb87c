/** The path of the Unix socket that a URL names. */

import * as Result from "effect/Result"
import { fileURLToPath } from "node:url"

/** The reason why a URL names no Unix socket. It quotes no part of the URL. */
export interface Problem {
  readonly problem: string
  readonly advice: string
}

const threeSlashes = "write three slashes before the path, as in unix:///run/notes.sock"

const decoded = (url: URL): string | undefined => {
  try {
    return fileURLToPath(`file://${url.pathname}`)
  } catch {
    return undefined
  }
}

/** Returns the path in a URL of the scheme `unix:`. */
export const of = (url: URL): Result.Result<string, Problem> => {
  const fail = (problem: string, advice: string) => Result.fail({ problem, advice })
  // Without this, `unix://run/notes.sock` would be `/notes.sock`.
  if (url.host !== "") return fail("it has a host", threeSlashes)
  if (!/^\/./s.test(url.pathname)) return fail("it has no absolute path", threeSlashes)
  if (url.search !== "" || url.hash !== "") {
    return fail("it has a query or a fragment", "remove it, or write ? as %3F and # as %23")
  }
  const path = decoded(url)
  return path === undefined || path.includes("\0")
    ? fail("its path cannot be decoded", "write % as %25, and no %2F and %00")
    : Result.succeed(path)
}
