/**
 * The client of stdio. It starts an MCP server as a child process and exchanges messages over the child's standard
 * input and output (STD-01). The child lives in the scope of its connection. When the scope closes, the transport ends
 * the child's input, then sends `SIGTERM` to its process group, then `SIGKILL` (STD-07). No process of the group is
 * left.
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import { NumericOption } from "@effect-mcp/session/internal"
import * as Transport from "@effect-mcp/session/Transport"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import * as Redacted from "effect/Redacted"
import * as HiddenSecrets from "../HiddenSecrets.ts"
import * as StdioClientConnection from "../internal/stdio/StdioClientConnection.ts"
import { thisPackage } from "../internal/thisPackage.ts"

/**
 * The environment variables that a child inherits by default: those that programs need to find their files and their
 * user, and none that may be secret. They differ between Windows and other systems.
 *
 * @category constants
 */
export const inheritedVariables: ReadonlyArray<string> = process.platform === "win32"
  ? [
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE"
  ]
  : ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"]

/**
 * Options of a stdio client.
 *
 * @category options
 */
export interface Options {
  /** The program: a path, or a name to look up in `PATH`. It starts without a shell. */
  readonly command: string
  /** The arguments. Errors and lines of standard error show a `Redacted` argument as `<redacted>`. */
  readonly args?: ReadonlyArray<string | Redacted.Redacted<string>> | undefined
  /**
   * The command in the words of errors, because arguments may be secrets. Default: the command and its arguments,
   * without those that are `Redacted`.
   */
  readonly description?: string | undefined
  /** Other texts that errors and lines of standard error show as `<redacted>`, such as a part of `cwd`. */
  readonly secrets?: ReadonlyArray<string | Redacted.Redacted<string>> | undefined
  /** The working directory. Default: that of this process. */
  readonly cwd?: string | undefined
  /**
   * Environment variables to set. They replace inherited ones; `undefined` removes an inherited one. Errors and lines
   * of standard error show a `Redacted` value of at least 4 characters as `<redacted>`.
   */
  readonly env?: Readonly<Record<string, string | Redacted.Redacted<string> | undefined>> | undefined
  /**
   * The environment variables that the child inherits: the listed ones, all (`true`) or none (`false`). Default:
   * {@link inheritedVariables}. Values that begin with `()` are shell functions and are never inherited.
   */
  readonly inheritEnv?: boolean | ReadonlyArray<string> | undefined
  /** The largest message to read, in bytes. Default 4 MiB. */
  readonly maxMessageBytes?: number | undefined
  /**
   * The most arrays, objects and members of a message to read; an integer beyond 2^53 counts as eight. Default 100,000.
   * A message with more is not parsed and is reported as an event: parsing takes time and memory for each of them, and
   * cannot be interrupted.
   */
  readonly maxMessageNodes?: number | undefined
  /**
   * The receiver of the child's standard error. The transport always reads it, so the child never waits for a reader. A
   * function receives each line, cut at 65,536 characters. If it throws, the transport logs that and calls it no more.
   * With `"inherit"` the child writes to the standard error of this process, and the exit report has no lines. By
   * default the transport keeps only the last lines. Output on standard error is never a failure (STD-05, STD-06).
   */
  readonly stderr?: "inherit" | ((line: string) => void) | undefined
  /** The most lines of standard error in the exit report, each cut at 1,000 characters. Default 20. */
  readonly maxStderrLines?: number | undefined
  /** The time that the child has to exit after the end of its input, before `SIGTERM`. Default 2 seconds. */
  readonly exitTimeout?: Duration.Input | undefined
  /** The time that the process group has to end after `SIGTERM`, before `SIGKILL`. Default 2 seconds. */
  readonly terminateTimeout?: Duration.Input | undefined
}

const rules: NumericOption.Rules<Options> = {
  maxMessageBytes: NumericOption.count,
  maxMessageNodes: NumericOption.count,
  maxStderrLines: NumericOption.countFromZero,
  exitTimeout: NumericOption.duration,
  terminateTimeout: NumericOption.duration
}

const environment = (options: Options): Record<string, string | Redacted.Redacted<string> | undefined> => {
  const inherit = options.inheritEnv ?? inheritedVariables
  const names = inherit === true ? Object.keys(process.env) : inherit === false ? [] : inherit
  const inherited = names.flatMap((name) => {
    const value = process.env[name]
    return value === undefined || value.startsWith("()") ? [] : [[name, value]]
  })
  return { ...Object.fromEntries(inherited), ...options.env }
}

/**
 * Creates the transport as a value. Each `connect` starts another process, so one transport carries any number of
 * sessions and never fails with `InUse`. `connect` fails with `ConnectFailed`, with the command line or the
 * `description` as the target, if the process cannot be started. `send` fails with `PeerEnded` and the exit report if
 * the process has exited, and with `WriteFailed` if only its input is closed. `send` suspends while 1 MiB waits for the
 * child to read.
 *
 * `run` ends with the child's output. It also ends if the child has exited and its output falls silent, although
 * another process may hold the output open. The result has the exit code or signal and the last lines of standard
 * error. A line that is not JSON is delivered as a failed frame.
 *
 * @example
 * ```ts
 * import { ClientSession, Transport } from "@effect-mcp/session"
 * import { StdioClient } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 *
 * // Two processes, one for each session.
 * export const two = Effect.gen(function*() {
 *   const transport = yield* StdioClient.make({ command: "node", args: ["server.mjs"] })
 *   const session = Effect.provideService(ClientSession.make({ info }), Transport.Transport, transport)
 *   return yield* Effect.all([session, session])
 * })
 * ```
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<Transport.Transport["Service"], never, ChildProcessSpawner> {
  LoadedPackages.check(thisPackage)
  NumericOption.check(options, rules)
  const spawner = yield* ChildProcessSpawner
  const { args = [], description, env = {}, stderr } = options
  const secrets = [
    ...[...args, ...Object.values(env)].filter((value) => Redacted.isRedacted(value)),
    ...options.secrets ?? []
  ]
  const hidden = HiddenSecrets.make(secrets, description)
  const settings = {
    ...options,
    env: environment(options),
    stderr: typeof stderr === "function" ? (line: string) => stderr(hidden.text(line)) : stderr
  }
  const connect = Effect.provideService(
    Effect.suspend(() => StdioClientConnection.open(settings)),
    ChildProcessSpawner,
    spawner
  )
  return secrets.length === 0 && description === undefined ? { connect } : hidden.transport({ connect })
})

/**
 * Provides the transport over any platform that can start processes. On Node, {@link layerNode} includes one.
 *
 * @example
 * ```ts
 * import { StdioClient } from "@effect-mcp/transport/node"
 * import * as NodeServices from "@effect/platform-node/NodeServices"
 * import * as Layer from "effect/Layer"
 *
 * export const server = Layer.provide(
 *   StdioClient.layer({ command: "python3", args: ["server.py"], stderr: "inherit" }),
 *   NodeServices.layer
 * )
 * ```
 *
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<Transport.Transport, never, ChildProcessSpawner> =>
  Layer.effect(Transport.Transport, make(options))

/**
 * Provides the transport on Node.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { StdioClient } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const server = StdioClient.layerNode({ command: "node", args: ["server.mjs"], env: { NOTES: "/home/ada/notes" } })
 * const session = ClientSession.layer({ info: { name: "example", version: "1.0.0" } })
 *
 * export const program = Effect.gen(function*() {
 *   const notes = yield* ClientSession.ClientSession
 *   return yield* notes.callTool("search", { words: "birthday" })
 * }).pipe(
 *   Effect.provide(Layer.provide(session, server))
 * )
 * ```
 *
 * @category layers
 */
export const layerNode = (options: Options): Layer.Layer<Transport.Transport> =>
  Layer.provide(layer(options), spawnerNode)

/** The spawner of Node, loaded on first use: a server that imports this package must not pay 50 ms for it. */
const spawnerNode: Layer.Layer<ChildProcessSpawner> = Layer.unwrap(
  Effect.promise(async () => {
    const [Spawner, FileSystem, Path] = await Promise.all([
      import("@effect/platform-node/NodeChildProcessSpawner"),
      import("@effect/platform-node/NodeFileSystem"),
      import("@effect/platform-node/NodePath")
    ])
    return Layer.provide(Spawner.layer, Layer.merge(FileSystem.layer, Path.layer))
  })
)
