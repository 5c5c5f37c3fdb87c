/**
 * The tokens of an entry, and their JSON.
 */
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as EntryFormat from "./EntryFormat.ts"

export type TokenType = "Bearer" | "DPoP"

/** The tokens of an account for a resource. Times are milliseconds since 1970. */
export interface StoredTokens {
  readonly accessToken: Redacted.Redacted<string>
  readonly tokenType: TokenType
  readonly refreshToken: Redacted.Redacted<string> | undefined
  /** The granted scopes, if the server or the request named any. */
  readonly scopes: ReadonlyArray<string> | undefined
  readonly issuedAt: number
  /** Absent if the server did not state it. */
  readonly expiresAt: number | undefined
  /** The private key of DPoP, as the text of a JWK: the refresh token of a public client is bound to it (RFC 9449). */
  readonly proofKey: Redacted.Redacted<string> | undefined
}

/** The response of a token endpoint, as far as tokens need it. */
export interface TokenResponse {
  readonly accessToken: Redacted.Redacted<string>
  readonly tokenType: TokenType
  /** Absent if the server issued none. The previous one is then still used. */
  readonly refreshToken: Redacted.Redacted<string> | undefined
  /** Absent if the response has no `scope`: the scopes are then those that were requested. */
  readonly scopes: ReadonlyArray<string> | undefined
  readonly expiresInMillis: number | undefined
  /** Absent if the tokens are not bound, or bound to the previous key. */
  readonly proofKey?: Redacted.Redacted<string> | undefined
}

/**
 * Returns the tokens of a response to a request that was sent at a time: the lifetime began at the latest when the
 * response was written, and at the earliest then.
 */
export const ofResponse = (
  response: TokenResponse,
  sentAt: number,
  previous: Partial<Pick<StoredTokens, "proofKey" | "refreshToken" | "scopes">> = {}
): StoredTokens => {
  const { expiresInMillis } = response
  const expiresAt = expiresInMillis === undefined ? undefined : Math.round(sentAt + expiresInMillis)
  return {
    accessToken: response.accessToken,
    tokenType: response.tokenType,
    refreshToken: response.refreshToken ?? previous.refreshToken,
    scopes: response.scopes ?? previous.scopes,
    issuedAt: sentAt,
    // A lifetime that no clock can measure is none.
    expiresAt: Number.isSafeInteger(expiresAt) ? expiresAt : undefined,
    proofKey: response.proofKey ?? previous.proofKey
  }
}

const Json = Schema.Struct({
  format: Schema.Literal(EntryFormat.format),
  kind: Schema.Literal("tokens"),
  accessToken: Schema.NonEmptyString,
  tokenType: Schema.Literals(["Bearer", "DPoP"]),
  refreshToken: Schema.optionalKey(Schema.NonEmptyString),
  scopes: Schema.optionalKey(Schema.Array(Schema.String)),
  issuedAt: Schema.Finite,
  expiresAt: Schema.optionalKey(Schema.Finite),
  proofKey: Schema.optionalKey(Schema.NonEmptyString)
})

const secretOf = (text: string | undefined): Redacted.Redacted<string> | undefined =>
  text === undefined ? undefined : Redacted.make(text)

/** Returns the text of an entry. */
export const encode = (tokens: StoredTokens): Redacted.Redacted<string> => {
  const { accessToken, expiresAt, issuedAt, proofKey, refreshToken, scopes, tokenType } = tokens
  const json: typeof Json.Type = {
    format: EntryFormat.format,
    kind: "tokens",
    accessToken: Redacted.value(accessToken),
    tokenType,
    ...(refreshToken === undefined ? {} : { refreshToken: Redacted.value(refreshToken) }),
    ...(scopes === undefined ? {} : { scopes }),
    issuedAt,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(proofKey === undefined ? {} : { proofKey: Redacted.value(proofKey) })
  }
  return Redacted.make(JSON.stringify(json))
}

/** Returns the tokens of an entry. Fails with `Corrupt` or `Newer`, without a part of the text. */
export const decode = EntryFormat.decoder(Json, "tokens", (json): StoredTokens => ({
  accessToken: Redacted.make(json.accessToken),
  tokenType: json.tokenType,
  refreshToken: secretOf(json.refreshToken),
  scopes: json.scopes,
  issuedAt: json.issuedAt,
  expiresAt: json.expiresAt,
  proofKey: secretOf(json.proofKey)
}))

/** The longest time before its expiry at which a token is renewed, in milliseconds. */
export const defaultMargin = 30_000

/**
 * Returns the time from which tokens are renewed, if they expire: some time before that, so that a request does not
 * arrive late, or has a clock that differs. It is at most a quarter of the lifetime, or short-lived tokens would be
 * renewed with each request.
 */
export const dueAt = ({ expiresAt, issuedAt }: StoredTokens, margin: number): number | undefined =>
  expiresAt === undefined ? undefined : expiresAt - Math.min(margin, Math.max(0, expiresAt - issuedAt) / 4)

/** Whether both have the same access token. */
export const isSame = (one: StoredTokens | undefined, other: StoredTokens | undefined): boolean =>
  one !== undefined && other !== undefined && hasAccessToken(one, other.accessToken)

/** Whether tokens have this access token. */
export const hasAccessToken = (tokens: StoredTokens, accessToken: Redacted.Redacted<string>): boolean =>
  Redacted.value(tokens.accessToken) === Redacted.value(accessToken)
