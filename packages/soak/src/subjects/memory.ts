/** The subjects for both memory transports: a host in this process serves one end of a pair. */
import { MemoryTransport, SessionHost } from "@effect-mcp/session"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Hosted from "../Hosted.ts"
import type { Lifetime, Server, Subject } from "../Subject.ts"
import { chosenEndings } from "./chosenEndings.ts"

const start =
  (pair: Effect.Effect<MemoryTransport.Pair>) => (lifetime: Lifetime): Effect.Effect<Server, unknown, Scope.Scope> =>
    Effect.gen(function*() {
      const context = yield* Layer.build(Layer.fresh(Hosted.layer(lifetime)))
      const host = Context.get(context, SessionHost.SessionHost)
      return {
        dial: (client) =>
          Effect.gen(function*() {
            const { client: transport, server } = yield* pair
            const hosted = yield* host.open(server, { kind: "memory", id: client })
            return { transport, serverSide: Effect.succeed(Hosted.serverSideOf(hosted)) }
          }),
        tables: Hosted.tables(host),
        restart: start(pair)
      }
    })

const endings = {
  ...chosenEndings,
  idle: { client: "PeerEnded", server: "Expired", lifetime: "shortIdle" },
  age: { client: "PeerEnded", server: "Expired", lifetime: "shortAge" },
  silence: { client: "PeerEnded", server: "HandshakeTimeout", lifetime: "shortIdle" },
  shutdown: { client: "PeerEnded", server: "Requested" }
} as const satisfies Subject["endings"]

export const memory: Subject = {
  name: "memory",
  weight: 30,
  concurrency: 6,
  start: start(MemoryTransport.make()),
  endings
}

export const memoryStreams: Subject = {
  name: "memory-streams",
  weight: 20,
  concurrency: 6,
  start: start(MemoryTransport.makeMultiStream({ standalone: true })),
  endings
}
