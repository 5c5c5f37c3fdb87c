/** The checks and the parts of a server of Streamable HTTP, with or without sessions. */
import { NumericOption } from "@effect-mcp/session/internal"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { StreamableOptions } from "../../../../HttpServerOptions.ts"
import * as HttpGuard from "../HttpGuard.ts"
import * as HttpServerSettings from "../HttpServerSettings.ts"
import * as StreamWatchdog from "../StreamWatchdog.ts"
import * as PostResponse from "./PostResponse.ts"

/** The rules for the numbers and durations of `StreamableOptions`. */
export const rules: NumericOption.Rules<StreamableOptions> = {
  ...HttpServerSettings.rules,
  adaptiveTimeout: NumericOption.duration,
  detachedRequestTimeout: NumericOption.duration
}

/** The rules for the durations that only a server with sessions has as well. */
export const sessionRules = {
  ...rules,
  retryInterval: NumericOption.duration,
  eventStoreTimeout: NumericOption.finiteDuration,
  maxForwardedRequests: NumericOption.countFromZero,
  forwardTimeout: NumericOption.duration
}

/** Makes the parts of a server from options that are checked, and from the timeout of its `EventStore`. */
export const make = Effect.fnUntraced(function*(options: StreamableOptions, storeMillis = 0) {
  const settings = HttpServerSettings.make(options)
  const mode = options.responseMode ?? "adaptive"
  const detachedMillis = Duration.toMillis(options.detachedRequestTimeout ?? "5 minutes")
  const watchdog = yield* StreamWatchdog.make({ ...settings, detachedMillis, storeMillis })
  const guard = yield* HttpGuard.make(watchdog, settings)
  const responses = PostResponse.make({
    mode,
    scopes: guard.scopes,
    adaptiveMillis: Duration.toMillis(options.adaptiveTimeout ?? "1 second")
  })
  const exchanges = { mode, watchdog, capacity: settings.maxStreamCharacters, detachedMillis }
  return { settings, guard, responses, exchanges }
})
