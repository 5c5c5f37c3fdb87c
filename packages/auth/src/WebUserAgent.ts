/**
 * The users of a web application, who sign in through pages of this application.
 *
 * @stability unstable
 */
import * as Effect from "effect/Effect"
import { isVisitable } from "./internal/agents/VisitableUrl.ts"
import { isLoopback } from "./internal/fetch/AddressPolicy.ts"
import * as OAuthError from "./OAuthError.ts"
import type * as UserAgent from "./UserAgent.ts"

/**
 * Options of {@link make}.
 *
 * @category options
 */
export interface Options {
  /**
   * The URL of the application to which authorization servers redirect, as it is registered. With an `http:` URL of
   * this machine, as in development, the application is registered as a native one (AUT-17).
   */
  readonly redirectUri: string
}

/**
 * The sign-ins of all users of an application.
 *
 * @category models
 */
export interface WebUserAgent {
  /** Returns the user agent of one user, for the `OAuth` of this user. */
  readonly of: (user: string) => UserAgent.UserAgent
  /**
   * Passes a redirect on to the sign-in that waits for it. Returns whether one does. The user is the one whose browser
   * session has received the redirect: the sign-in of another user does not take it, so that no user can be given the
   * tokens of another. The tokens are requested after that: wait for `authorized` of the sign-in.
   */
  readonly complete: (user: string, parameters: URLSearchParams) => Effect.Effect<boolean>
}

/** Returns the kind of the application. One that runs at the machine of its user is native, although it has pages. */
const applicationTypeOf = (redirectUri: string): UserAgent.Redirection["applicationType"] => {
  if (!URL.canParse(redirectUri)) return "web"
  const url = new URL(redirectUri)
  return url.protocol === "http:" && isLoopback(url) ? "native" : "web"
}

/** A sign-in that waits for its redirect. */
interface Waiting {
  readonly isExpected: (parameters: URLSearchParams) => boolean
  readonly arrived: (parameters: URLSearchParams) => void
}

/**
 * Creates the user agents of an application. A page of the application calls `OAuth.start`, and sends the browser to
 * the URL that it returns. The page at `redirectUri` calls `complete`, and waits for `authorized` of the sign-in.
 *
 * @example
 * ```ts
 * import { type OAuth, WebUserAgent } from "@effect-mcp/auth"
 * import * as Effect from "effect/Effect"
 *
 * export const users = WebUserAgent.make({ redirectUri: "https://app.example/oauth/callback" })
 * export const agent = users.of("ada")
 *
 * // In the page at the redirect URI, with the user of its session, and the sign-in that `OAuth.start` has returned:
 * export const callback = (user: string, url: URL, signIn: OAuth.SignIn) =>
 *   Effect.flatMap(
 *     users.complete(user, url.searchParams),
 *     (isExpected) => isExpected ? Effect.as(signIn.authorized, true) : Effect.succeed(false)
 *   )
 * ```
 *
 * @category constructors
 */
export const make = ({ redirectUri }: Options): WebUserAgent => {
  const waiting = new Map<string, Set<Waiting>>()
  const applicationType = applicationTypeOf(redirectUri)
  const visit: (user: string) => UserAgent.Redirection["visit"] = (user) => (url, _request, isExpected) =>
    Effect.callback<URLSearchParams, OAuthError.OAuthError>((resume) => {
      if (!isVisitable(url)) {
        return resume(Effect.fail(
          OAuthError.make({ _tag: "UserAgentFailed", problem: "the authorization URL is no https URL" })
        ))
      }
      const own: Waiting = { isExpected, arrived: (parameters) => resume(Effect.succeed(parameters)) }
      const ofUser = waiting.get(user) ?? new Set()
      waiting.set(user, ofUser.add(own))
      return Effect.sync(() => {
        ofUser.delete(own)
        if (ofUser.size === 0 && waiting.get(user) === ofUser) waiting.delete(user)
      })
    })
  return {
    of: (user) => ({
      _tag: "Redirect",
      open: () => Effect.succeed({ uri: redirectUri, applicationType, visit: visit(user) })
    }),
    complete: (user, parameters) =>
      Effect.sync(() => {
        const ofUser = waiting.get(user)
        for (const one of ofUser ?? []) {
          if (!one.isExpected(parameters)) continue
          // A redirect counts once.
          ofUser?.delete(one)
          if (ofUser?.size === 0) waiting.delete(user)
          one.arrived(parameters)
          return true
        }
        return false
      })
  }
}
