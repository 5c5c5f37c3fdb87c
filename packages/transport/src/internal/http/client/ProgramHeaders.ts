/** The headers that a program gives a client. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { HeaderOptions, HeaderValues } from "../../../HttpClientOptions.ts"

type PlainHeaders = Readonly<Record<string, string>>

/** No headers. */
export const none: HeaderValues = {}

/** Returns an effect that makes the headers of one request. */
export const headersOf = (headers: HeaderOptions["headers"]): Effect.Effect<HeaderValues> =>
  headers === undefined ? Effect.succeed(none) : Effect.isEffect(headers) ? headers : Effect.succeed(headers)

/** Returns headers as they are sent: their names in lower case, and no value redacted. */
export const plainHeaders = (values: HeaderValues): PlainHeaders =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name.toLowerCase(),
      typeof value === "string" ? value : Redacted.value(value)
    ])
  )
