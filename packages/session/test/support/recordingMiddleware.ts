import type { Middleware } from "@effect-mcp/session"
import * as Effect from "effect/Effect"

/** Makes middleware that records the start and the exit of each request. */
export const recording = (name: string, log: Array<string>): Middleware.Middleware => ({
  inbound: (request, next) =>
    Effect.onExit(
      Effect.suspend(() => {
        log.push(`${name} > ${request.method}`)
        return next(request)
      }),
      (exit) => Effect.sync(() => log.push(`${name} < ${exit._tag}`))
    ),
  outbound: (request, next) =>
    Effect.onExit(
      Effect.suspend(() => {
        log.push(`${name} > ${request.method}`)
        return next(request)
      }),
      (exit) => Effect.sync(() => log.push(`${name} < ${exit._tag}`))
    )
})
