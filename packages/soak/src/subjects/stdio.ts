/** The subject for stdio: a child process for each session. */
import type { CloseReason } from "@effect-mcp/protocol"
import { StdioClient } from "@effect-mcp/transport/node"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { childProgram } from "../childProgram.ts"
import * as PlainChild from "../PlainChild.ts"
import type { Connection, Reason, Server, ServerSide, Subject } from "../Subject.ts"
import { chosenEndings } from "./chosenEndings.ts"
import { transportOf } from "./transportOf.ts"

/** All close reasons, by name. */
const reasons: Readonly<Record<string, Reason>> = Object.fromEntries(
  ([
    "Requested",
    "PeerEnded",
    "PeerStalled",
    "RepliesOverflow",
    "TransportFailed",
    "HandshakeFailed",
    "HandshakeTimeout",
    "Expired",
    "Evicted",
    "Superseded"
  ] as const satisfies ReadonlyArray<CloseReason.CloseReason["_tag"]>).map((reason) => [reason, reason])
)

/** Reads the reports of a child on standard error. */
const reportReader = () => {
  const pid = Deferred.makeUnsafe<number>()
  const closed = Deferred.makeUnsafe<Reason>()
  const onLine = (line: string) => {
    const [key, value = ""] = line.split(" ")
    const reason = reasons[value]
    if (key === "pid") Deferred.doneUnsafe(pid, Exit.succeed(Number(value)))
    if (key === "closed" && reason !== undefined) Deferred.doneUnsafe(closed, Exit.succeed(reason))
  }
  const kill = (signal: NodeJS.Signals) =>
    Effect.flatMap(Deferred.await(pid), (pid) =>
      Effect.sync(() => {
        process.kill(pid, signal)
      }))
  const serverSide: ServerSide = { closed: Deferred.await(closed), close: kill("SIGTERM") }
  return { onLine, kill, serverSide: Effect.succeed(serverSide) }
}

const server: Server = {
  dial: (_, route) =>
    Effect.gen(function*() {
      const { serverSide, kill, onLine } = reportReader()
      if (route === "relayed") {
        const { halfClose, transport } = yield* PlainChild.make(childProgram, onLine)
        return { transport, serverSide, halfClose } satisfies Connection
      }
      const transport = yield* transportOf(
        StdioClient.layerNode({ command: process.execPath, args: [childProgram], stderr: onLine })
      )
      return { transport, serverSide, kill: kill("SIGKILL") } satisfies Connection
    }),
  tables: Effect.succeed({}),
  restart: () => Effect.succeed(server)
}

export const stdio: Subject = {
  name: "stdio",
  weight: 2,
  concurrency: 3,
  start: () => Effect.succeed(server),
  handshakeMillis: 600,
  answersHalfClosed: true,
  endings: {
    ...chosenEndings,
    // A write fails as soon as the child is gone, on a busy machine long before the system reports the exit of the
    // child.
    kill: { client: ["PeerEnded", "TransportFailed"], server: undefined },
    crash: { client: "PeerEnded", server: undefined },
    "half-close": { client: "PeerEnded", server: "PeerEnded" }
  }
}
