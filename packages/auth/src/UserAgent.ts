/**
 * The way in which a person signs in: a browser, a terminal, a code on another device, or a page of the program.
 *
 * @stability unstable
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { OAuthError } from "./OAuthError.ts"

/**
 * A request to a person to sign in.
 *
 * @category models
 */
export interface SignInRequest {
  /** The server that needs authorization, without its secrets. */
  readonly server: string
  readonly issuer: string
  readonly scopes: ReadonlyArray<string> | undefined
}

/**
 * The place to which the authorization server redirects the browser.
 *
 * @category models
 */
export interface Redirection {
  /** The redirect URI, exactly as it is registered: an `https:` URL, or one of this machine (AUT-31). */
  readonly uri: string
  /** The kind of client that has such a redirect URI (AUT-17). */
  readonly applicationType: "native" | "web"
  /**
   * Lets the person visit the authorization URL, and returns the parameters of the redirect that follows. A redirect
   * that `isExpected` rejects, because its `state` is another one, is not the answer, and the wait goes on (AUT-25).
   */
  readonly visit: (
    url: URL,
    request: SignInRequest,
    isExpected: (parameters: URLSearchParams) => boolean
  ) => Effect.Effect<URLSearchParams, OAuthError>
}

/**
 * The code that a person enters on another device (RFC 8628).
 *
 * @category models
 */
export interface DeviceCode extends SignInRequest {
  readonly code: string
  readonly url: string
  /** The URL that contains the code, if the server gives one. */
  readonly completeUrl: string | undefined
  /** The milliseconds until the code expires. */
  readonly lifetimeMillis: number
}

/**
 * The way in which a person signs in.
 *
 * - `Redirect`: the person visits a URL, and a redirect returns the code. `open` opens its place; `remembered` is the
 *   redirect URI that the client has registered before. `required` is the only one that the client can have, because it
 *   was registered by hand.
 * - `Device`: the person enters a code on another device.
 * - `None`: there is no person. A server that needs one fails at once.
 *
 * @category models
 */
export type UserAgent =
  | {
    readonly _tag: "Redirect"
    readonly open: (
      remembered: string | undefined,
      required?: string
    ) => Effect.Effect<Redirection, OAuthError, Scope.Scope>
    /**
     * Asks the person whether to open another window. After a refusal, it is not called until `OAuth.login`. Default:
     * no window opens without `OAuth.login`.
     */
    readonly confirm?: ((request: SignInRequest) => Effect.Effect<boolean>) | undefined
  }
  | { readonly _tag: "Device"; readonly show: (code: DeviceCode) => Effect.Effect<void> }
  | { readonly _tag: "None" }

/**
 * No person: a server that needs one fails at once with `SignInRequired`. For jobs, and for programs whose tokens
 * another program stores.
 *
 * @example
 * ```ts
 * import { UserAgent } from "@effect-mcp/auth"
 *
 * export const tag = UserAgent.none._tag // => "None"
 * ```
 *
 * @category constructors
 */
export const none: UserAgent = { _tag: "None" }

/**
 * A person who enters a code on another device (RFC 8628). `show` shows the person the code and the URL.
 *
 * @example
 * ```ts
 * import { UserAgent } from "@effect-mcp/auth"
 * import * as Console from "effect/Console"
 *
 * export const agent = UserAgent.device(({ code, url }) => Console.log(`Enter ${code} at ${url}`))
 * ```
 *
 * @category constructors
 */
export const device = (show: (code: DeviceCode) => Effect.Effect<void>): UserAgent => ({ _tag: "Device", show })
