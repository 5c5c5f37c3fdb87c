/** Servers at a free port of this machine. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as http from "node:http"

/** Listens until the scope closes, and returns the port. */
export const listen = (server: http.Server): Effect.Effect<number, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

/** A port that was free a moment ago. */
export const freePort: Effect.Effect<number> = Effect.suspend(() => Effect.scoped(listen(http.createServer())))
