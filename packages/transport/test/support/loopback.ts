/** Servers at a free port of this machine. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as http from "node:http"

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
