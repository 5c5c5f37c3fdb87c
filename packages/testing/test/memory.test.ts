import { MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import { LawServer, type TransportLaws } from "@effect-mcp/testing/laws"
import { TransportSuite } from "@effect-mcp/testing/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"

/** The client's end, and the server's session with its scope. */
type Served = TransportLaws.ClientEnd & {
  readonly server: Scope.Closeable
  readonly session: ServerSession.ServerSession["Service"]
}

const subject = (
  form: "OneStream" | "StreamPerRequest",
  pair: Effect.Effect<MemoryTransport.Pair>
): TransportLaws.Subject<Served> => ({
  form,
  serve: Effect.gen(function*() {
    const ends = yield* pair
    const server = yield* Scope.fork(yield* Effect.scope)
    const session = yield* ServerSession.make(LawServer.make(), {
      ...LawServer.options,
      limits: { gracefulTimeout: 100 }
    })
      .pipe(
        Effect.provideService(Transport.Transport, ends.server),
        Scope.provide(server),
        // Some laws make handlers die. The log of them is not of interest here.
        Effect.provide(Logger.layer([]))
      )
    return { ...ends.client, server, session }
  }),
  ended: ({ session }) => session.closed,
  shutDown: ({ session }) => Effect.asVoid(session.close),
  // There is no wire to break, but the server can leave.
  faults: { cut: ({ server }) => Scope.close(server, Exit.void) }
})

TransportSuite.suite("memory, one stream", subject("OneStream", MemoryTransport.make()))
TransportSuite.suite(
  "memory, a stream for each request",
  subject("StreamPerRequest", MemoryTransport.makeMultiStream())
)
