import type { Middleware } from "@effect-mcp/session"
import * as Effect from "effect/Effect"

/** Says what it sees, on the way there and on the way back. */
export const told = (who: string, said: Array<string>): Middleware.Middleware => ({
  inbound: (request, next) =>
    Effect.onExit(
      Effect.suspend(() => {
        said.push(`${who} > ${request.method}`)
        return next(request)
      }),
      (exit) => Effect.sync(() => said.push(`${who} < ${exit._tag}`))
    ),
  outbound: (request, next) =>
    Effect.onExit(
      Effect.suspend(() => {
        said.push(`${who} > ${request.method}`)
        return next(request)
      }),
      (exit) => Effect.sync(() => said.push(`${who} < ${exit._tag}`))
    )
})
