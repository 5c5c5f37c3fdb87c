/** The text of a token before it is verified. Nothing that it claims is trusted. */
import * as Base64Url from "effect/encoding/Base64Url"
import * as Result from "effect/Result"
import * as JsonObject from "./JsonObject.ts"

const jwt = /^([\w-]+)\.([\w-]+)\.([\w-]*)$/

const objectOf = (part: string | undefined): JsonObject.JsonObject | undefined => {
  if (part === undefined) return undefined
  const text = Base64Url.decodeString(part)
  return Result.isSuccess(text) ? JsonObject.parse(text.success) : undefined
}

/** The parts of a JWT that decide who verifies it. */
export interface Claimed {
  readonly header: JsonObject.JsonObject
  readonly issuer: string | undefined
}

/** Returns what a signed JWT claims; `undefined` for any other token. */
export const claimedBy = (token: string): Claimed | undefined => {
  const [, first, second] = jwt.exec(token) ?? []
  const header = objectOf(first)
  const payload = header === undefined ? undefined : objectOf(second)
  return header === undefined || payload === undefined
    ? undefined
    : { header, issuer: JsonObject.textOf(payload, "iss") }
}
