/** One document of metadata. */
import * as Effect from "effect/Effect"
import * as OAuthError from "../../OAuthError.ts"
import * as JsonBody from "../fetch/JsonBody.ts"
import { type OAuthHttp, UnusableResponse } from "../fetch/OAuthHttp.ts"
import * as OAuthLibrary from "../fetch/OAuthLibrary.ts"
import { shown } from "../fetch/shown.ts"

/** Returns the error of a document that breaks a rule. */
export const broken = (url: URL, rule: string, remedy: string): OAuthError.OAuthError =>
  OAuthError.make({ _tag: "DiscoveryFailed", url: shown(url), rule, remedy })

/** The outcome of a request for a document: it is absent, or cannot be used, or here is its JSON. */
export type Outcome =
  | { readonly _tag: "Found"; readonly url: URL; readonly json: { readonly [name: string]: unknown } }
  | { readonly _tag: "Absent"; readonly url: URL; readonly status: number }
  | { readonly _tag: "Broken"; readonly error: OAuthError.OAuthError }

const remedy = "the operator of the server has to serve the metadata as JSON there, or to answer with 404"

/**
 * Requests a document. Fails only if its server does not answer now: with another place, the client could get another
 * authorization than the one that it has.
 */
export const request = (
  http: OAuthHttp,
  server: URL,
  url: URL,
  headers: Readonly<Record<string, string>> = {}
): Effect.Effect<Outcome, OAuthError.OAuthError> =>
  http.send(server, { method: "GET", url, headers: { accept: "application/json", ...headers } }).pipe(
    Effect.flatMap((response): Effect.Effect<Outcome, OAuthError.OAuthError> => {
      const outage = OAuthLibrary.outageOf(url, response)
      if (outage !== undefined) return Effect.fail(outage)
      const { status } = response
      if (status >= 400) return Effect.succeed({ _tag: "Absent", url, status })
      const body = JsonBody.read(response)
      if (body._tag === "Read" && status === 200) return Effect.succeed({ _tag: "Found", url, json: body.json })
      const rule = body._tag === "Problem" ? body.problem : `the status is ${status}, and not 200`
      return Effect.succeed({ _tag: "Broken", error: broken(url, rule, remedy) })
    }),
    Effect.catch((error): Effect.Effect<Outcome, OAuthError.OAuthError> => {
      if (error instanceof UnusableResponse) {
        return Effect.succeed({ _tag: "Broken", error: broken(url, error.problem, remedy) })
      }
      // An address that is not allowed does not become allowed later.
      return error.reason._tag === "AddressForbidden"
        ? Effect.succeed({ _tag: "Broken", error })
        : Effect.fail(error)
    })
  )
