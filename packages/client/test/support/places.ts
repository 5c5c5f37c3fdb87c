/** The places of a server in a process of its own: each transport, with its sessions and eras. */
import { McpTarget } from "@effect-mcp/client/node"
import { Revision } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { freePort } from "../../../../scripts/freePort.ts"
import { joinedProgram } from "../../../../scripts/joinedProgram.ts"
import { until } from "./until.ts"

/** The environment of a child process, with Node's cache of compiled code. */
export const compiled = { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] }

type Revisions = readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>]

/** A place, and what its transport can do. */
export interface Place {
  readonly name: string
  readonly transport: "stdio" | "http" | "stateless" | "http-sse" | "websocket" | "unix"
  readonly revisions: Revisions
  /** Whether the server sends messages that belong to no request, such as notifications of changes. */
  readonly isNotified: boolean
}

const place = (transport: Place["transport"], era: "Handshake" | "Modern", isNotified = true): Place => ({
  name: `${transport}, ${era === "Modern" ? Revision.latest : "with a handshake"}`,
  transport,
  revisions: era === "Modern" ? Revision.modern : Revision.legacy,
  isNotified
})

/** All places. HTTP without sessions has no notifications in revisions with a handshake. */
export const places: ReadonlyArray<Place> = [
  place("stdio", "Handshake"),
  place("stdio", "Modern"),
  place("http", "Handshake"),
  place("http", "Modern"),
  place("stateless", "Handshake", false),
  place("stateless", "Modern"),
  place("http-sse", "Handshake"),
  place("websocket", "Handshake"),
  place("websocket", "Modern"),
  place("unix", "Handshake"),
  place("unix", "Modern")
]

/** One place of each transport, in either era. */
export const placesOfTransports: ReadonlyArray<Place> = Array.from(
  new Map(places.map((place) => [place.transport, place])).values()
)

export const temporaryDirectory: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "effect-mcp-client-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true }))
)

/** The address of a place. */
export interface Address {
  readonly target: (args: ReadonlyArray<string>) => McpTarget.McpTarget
  /** The port, or the path of the socket. Empty for a child process. */
  readonly bind: string
}

/** Returns an address of a place. */
export const addressOf = (
  transport: Place["transport"],
  directory: string,
  options: McpTarget.UrlOptions = {}
): Effect.Effect<Address> =>
  Effect.gen(function*() {
    if (transport === "stdio") {
      return {
        target: (args: ReadonlyArray<string>) => McpTarget.command(process.execPath, args, { env: compiled }),
        bind: ""
      }
    }
    if (transport === "unix") {
      const file = path.join(directory, "socket")
      return {
        target: () => McpTarget.url(`unix://${file}`),
        bind: file
      }
    }
    const port = yield* freePort
    const scheme = transport === "websocket" ? "ws" : "http"
    const target = McpTarget.url(`${scheme}://127.0.0.1:${port}/${transport === "http-sse" ? "sse" : "mcp"}`, options)
    return { target: () => target, bind: String(port) }
  })

/** Returns a program of the fixtures as one file. */
export const joinedFixture = (name: string): Effect.Effect<string> =>
  Effect.promise(() => joinedProgram(path.join(import.meta.dirname, "../fixtures", name)))

export const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** A server that can be killed and started again. */
export interface RunningServer {
  readonly target: McpTarget.McpTarget
  /** The lines that all processes of the server have recorded. */
  readonly record: () => ReadonlyArray<string>
  /** The id of the newest process. */
  readonly pid: () => number
  /** Kills the process, as `kill -9` does. */
  readonly kill: Effect.Effect<void>
  /** Starts another process at the same address. The client itself does this for a child process. */
  readonly start: Effect.Effect<void>
}

/** Starts a server at a place. */
export const start = Effect.fnUntraced(function*(
  { revisions, transport }: Place
): Effect.fn.Return<RunningServer, never, Scope.Scope> {
  const directory = yield* temporaryDirectory
  const file = path.join(directory, "record")
  fs.writeFileSync(file, "")
  const { bind, target } = yield* addressOf(transport, directory)
  const args = [yield* joinedFixture("serve.ts"), transport, bind, file, revisions.join()]
  const record = () => fs.readFileSync(file, "utf8").split("\n").filter((line) => line !== "")
  const pid = () => Number(record().findLast((line) => line.startsWith("start "))?.slice("start ".length) ?? 0)
  const kill = Effect.suspend(() => {
    const killed = pid()
    if (isRunning(killed)) process.kill(killed, "SIGKILL")
    return until(() => !isRunning(killed))
  })
  yield* Effect.addFinalizer(() => kill)
  const start = transport === "stdio" ? Effect.void : Effect.suspend(() => {
    const starts = () => record().filter((line) => line.startsWith("start ")).length
    const before = starts()
    spawn(process.execPath, args, { stdio: "ignore" })
    return until(() => starts() > before)
  })
  yield* start
  return { target: target(args), record, pid, kill, start }
})

/** Starts nothing yet: a client of this server starts it as a child process. */
export const startChild = start(place("stdio", "Handshake"))
