import { MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import { LawServer } from "@effect-mcp/testing"
import { TransportLaws } from "@effect-mcp/testing/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"

const serving = (pair: Effect.Effect<MemoryTransport.Pair>) =>
  Effect.gen(function*() {
    const { client, server } = yield* pair
    yield* ServerSession.make(LawServer.make(), LawServer.options).pipe(
      Effect.provideService(Transport.Transport, server),
      // Some laws are about handlers that die; what is logged of them is no news here.
      Effect.provide(Logger.layer([]))
    )
    return client
  })

TransportLaws.suite("memory, one stream", { serve: serving(MemoryTransport.make()) })
TransportLaws.suite("memory, a stream for each request", { serve: serving(MemoryTransport.makeMultiStream()) })
