/**
 * Errors of the authorization of a client.
 *
 * @stability unstable
 */
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as PlainText from "@effect-mcp/protocol/PlainText"
import * as Data from "effect/Data"
import type { TokenStoreError } from "./TokenStore.ts"

/**
 * The kinds of {@link OAuthError}. Texts of a server are cut and escaped in messages.
 *
 * - `DiscoveryFailed`: the document at `url` breaks a rule, or cannot be read. Nothing was sent to a place that it
 *   names.
 * - `AddressForbidden`: the URL leads to a private, link-local or similar address. Nothing was sent.
 * - `NoClient`: the program has no client at the issuer that it can use, and none can be registered.
 * - `RegistrationFailed`: the issuer has rejected the registration.
 * - `NoSubjectToken`: a server has no token of its client that it can exchange.
 * - `Denied`: the authorization server has answered the person's visit with an error, such as `access_denied`.
 * - `MixedUp`: the answer to the person's visit is not from the issuer that was asked (RFC 9207). Its code and its
 *   error are not used.
 * - `TokenRequestFailed`: the token endpoint has rejected a request, such as with `invalid_grant`.
 * - `Unavailable`: a server of the issuer does not answer now. Tokens stay.
 * - `SignInRequired`: a person has to act, and no window opens without that.
 * - `TokenRejected`: the server rejects a token that was just issued for it.
 * - `StepUpLimit`: the server asks for more scopes again and again for one operation.
 * - `UserAgentFailed`: the browser could not be opened, or the redirect did not arrive.
 * - `StoreFailed`: the token store failed.
 *
 * @category models
 */
export type OAuthErrorReason =
  | { readonly _tag: "DiscoveryFailed"; readonly url: string; readonly rule: string; readonly remedy: string }
  | { readonly _tag: "AddressForbidden"; readonly url: string; readonly address: string }
  | { readonly _tag: "NoClient"; readonly issuer: string; readonly remedy: string }
  | { readonly _tag: "RegistrationFailed"; readonly issuer: string; readonly status: number; readonly problem: string }
  | { readonly _tag: "NoSubjectToken"; readonly problem: string }
  | { readonly _tag: "Denied"; readonly issuer: string; readonly error: string; readonly description?: string }
  | { readonly _tag: "MixedUp"; readonly issuer: string; readonly problem: string }
  | {
    readonly _tag: "TokenRequestFailed"
    readonly issuer: string
    readonly status: number
    readonly error: string
    readonly description?: string
  }
  | {
    readonly _tag: "Unavailable"
    readonly url: string
    readonly problem: string
    readonly retryAfterMillis?: number
  }
  | {
    readonly _tag: "SignInRequired"
    readonly server: string
    readonly remedy: string
    readonly scopes?: ReadonlyArray<string>
  }
  | { readonly _tag: "TokenRejected"; readonly server: string; readonly description?: string }
  | { readonly _tag: "StepUpLimit"; readonly server: string; readonly operation: string; readonly limit: number }
  | { readonly _tag: "UserAgentFailed"; readonly problem: string }
  | { readonly _tag: "StoreFailed"; readonly error: TokenStoreError }

/** The greatest length of a text of a server in a message. */
const maxText = 300

const said = (text: string): string => PlainText.json(Excerpt.of(text, maxText))

const described = (error: string, description: string | undefined): string =>
  description === undefined ? said(error) : `${said(error)}: ${said(description)}`

const describe = (reason: OAuthErrorReason): string => {
  switch (reason._tag) {
    case "DiscoveryFailed":
      return `the metadata at ${reason.url} cannot be used: ${reason.rule}; ${reason.remedy}`
    case "AddressForbidden":
      return `${reason.url} leads to ${reason.address}, to which no request is sent; ` +
        "if it is yours, name its origin in `allowedOrigins`"
    case "NoClient":
      return `the program has no usable client at ${reason.issuer}; ${reason.remedy}`
    case "RegistrationFailed":
      return `${reason.issuer} rejected the registration with status ${reason.status}: ${said(reason.problem)}; ` +
        "register a client there, and give its id"
    case "NoSubjectToken":
      return `there is no token to exchange: ${reason.problem}`
    case "Denied":
      return `${reason.issuer} denied the authorization: ${described(reason.error, reason.description)}`
    case "MixedUp":
      return `the redirect does not come from ${reason.issuer}: ${reason.problem}; its contents are not used`
    case "TokenRequestFailed":
      return `${reason.issuer} rejected the token request with status ${reason.status}: ` +
        described(reason.error, reason.description)
    case "Unavailable":
      return `${reason.url} cannot be used now: ${reason.problem}; the tokens are kept`
    case "SignInRequired":
      return `${reason.server} needs a person to sign in` +
        (reason.scopes === undefined ? "" : `, with the scopes ${said(reason.scopes.join(" "))}`) +
        `; ${reason.remedy}`
    case "TokenRejected":
      return `${reason.server} rejects a token that was just issued for it` +
        (reason.description === undefined ? "" : `: ${said(reason.description)}`) +
        "; check its resource and its issuers"
    case "StepUpLimit":
      return `${reason.server} asked for more scopes ${reason.limit} times for ${reason.operation}`
    case "UserAgentFailed":
      return `the sign-in could not be completed: ${reason.problem}`
    case "StoreFailed":
      return reason.error.message
  }
}

/**
 * The failure of an authorization. `reason` has its kind.
 *
 * @example
 * ```ts
 * import { OAuthError } from "@effect-mcp/auth"
 *
 * export const message = OAuthError.make({ _tag: "TokenRejected", server: "https://notes.example/mcp" }).message
 * // => "https://notes.example/mcp rejects a token that was just issued for it; check its resource and its issuers"
 * ```
 *
 * @category errors
 */
export class OAuthError extends Data.TaggedError("OAuthError")<{ readonly reason: OAuthErrorReason }> {
  override get message(): string {
    return describe(this.reason)
  }
}

/**
 * Creates an {@link OAuthError} of this kind.
 *
 * @example
 * ```ts
 * import { OAuthError } from "@effect-mcp/auth"
 *
 * export const message = OAuthError.make({ _tag: "UserAgentFailed", problem: "no redirect arrived" }).message
 * // => "the sign-in could not be completed: no redirect arrived"
 * ```
 *
 * @category constructors
 */
export const make = (reason: OAuthErrorReason): OAuthError => new OAuthError({ reason })
