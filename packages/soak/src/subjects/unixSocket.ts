/** The subject for Unix sockets. */
import { SessionHost } from "@effect-mcp/session"
import { SocketClient, SocketServer } from "@effect-mcp/transport/node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { mkdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Hosted from "../Hosted.ts"
import * as Relay from "../Relay.ts"
import type { Lifetime, Server, Subject } from "../Subject.ts"
import { chosenEndings } from "./chosenEndings.ts"
import { faultsOf } from "./http.ts"
import { transportOf } from "./transportOf.ts"

let directories = 0

/** Returns the path of a unique directory that does not exist yet. */
const freeDirectory = Effect.sync(() => join(tmpdir(), `soak-${process.pid}-${directories++}`))

const directoryAt = (path: string) =>
  Effect.acquireRelease(
    Effect.promise(() => mkdir(path, { mode: 0o700 })),
    () => Effect.promise(() => rm(path, { recursive: true, force: true }))
  )

const startIn = (directory: string) => (lifetime: Lifetime): Effect.Effect<Server, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    yield* directoryAt(directory)
    const path = join(directory, "server")
    const context = yield* Layer.build(Layer.fresh(
      SocketServer.layerUnix({ path }).pipe(Layer.provideMerge(Hosted.layer(lifetime)))
    ))
    const host = Context.get(context, SessionHost.SessionHost)
    return {
      dial: (client, route) =>
        Effect.gen(function*() {
          const relayed = join(directory, `${client}.relay`)
          const relay = route === "direct" ? undefined : yield* Relay.make({ path }, { path: relayed })
          const transport = yield* transportOf(
            SocketClient.layerUnix({ path: relay === undefined ? path : relayed })
          )
          return { transport, serverSide: Hosted.serverSide(host, client), ...faultsOf(relay) }
        }),
      tables: Hosted.tables(host),
      restart: startIn(directory)
    }
  })

export const unixSocket: Subject = {
  name: "unix-socket",
  weight: 20,
  concurrency: 6,
  start: (lifetime) => Effect.flatMap(freeDirectory, (directory) => startIn(directory)(lifetime)),
  answersHalfClosed: true,
  endings: {
    ...chosenEndings,
    // A read reports the end of the connection, and a write fails.
    destroy: { client: ["PeerEnded", "TransportFailed"], server: ["PeerEnded", "TransportFailed"] },
    "half-close": { client: "PeerEnded", server: "PeerEnded" },
    age: { client: "PeerEnded", server: "Expired", lifetime: "shortAge" },
    silence: { client: "PeerEnded", server: "HandshakeTimeout", lifetime: "shortIdle" },
    shutdown: { client: "PeerEnded", server: "Requested" }
  }
}
