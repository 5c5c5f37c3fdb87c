import * as Effect from "effect/Effect"
import type { Redacted } from "effect/Redacted"

type HeaderValues = Readonly<Record<string, string | Redacted<string>>>

/** The headers of a call, however a program has given them. */
export const headersOf = (
  headers: HeaderValues | Effect.Effect<HeaderValues> | undefined
): Effect.Effect<HeaderValues> =>
  headers === undefined
    ? Effect.succeed({})
    : Effect.isEffect(headers)
    ? headers
    : Effect.succeed(headers)
