/** A recorded server on a simulated connection, which is killed and started again in virtual time. */
import { McpTarget } from "@effect-mcp/client"
import { type Handlers, ServerSession, Transport, TransportError } from "@effect-mcp/session"
import { Faults, SimulatedTransport } from "@effect-mcp/testing"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as RecordedServer from "../fixtures/RecordedServer.ts"

/** Options of a server. */
export interface Options {
  readonly seed?: number
  readonly faults?: Faults.Faults
  readonly form?: SimulatedTransport.Options["form"]
  /** Handlers of one process, instead of those of the recorded server. */
  readonly handlers?: (process: number) => Handlers.Handlers<"client">
}

/** A server that can be killed and started again. Each of its processes has a number as its identity. */
export interface SimulatedServer {
  readonly target: McpTarget.McpTarget<TransportError.TransportError>
  /** The lines that all processes have recorded. */
  readonly record: ReadonlyArray<string>
  readonly count: (line: string) => number
  /** Clears the record. */
  readonly clear: () => void
  /** The number of processes so far. */
  readonly processes: () => number
  /** The process that a client is connected to. */
  readonly server: () => ReturnType<typeof RecordedServer.make> | undefined
  /** Kills the process: messages in transit are lost, and handlers stop where they are. */
  readonly kill: Effect.Effect<void>
  /** Reports an event of the client's transport, such as those of Streamable HTTP. */
  readonly report: (event: Transport.TransportEvent) => void
  /** Whether the program can be started. Connecting fails otherwise. */
  isInstalled: boolean
  /** Holds the messages of both sides. */
  readonly stall: () => void
  /** Holds the messages of the server, like one that works on a call and reads on. */
  readonly mute: () => void
  readonly recover: () => void
}

/** A process of the server. */
interface Process {
  readonly pair: SimulatedTransport.Pair
  readonly report: SimulatedServer["report"]
  readonly scope: Scope.Closeable
  readonly server: ReturnType<typeof RecordedServer.make>
}

/** Returns a transport whose events a test reports. */
const reporting = (transport: Transport.Transport["Service"]) => {
  let hooks: Transport.Hooks | undefined
  const connect = Effect.map(transport.connect, (connection) => ({
    ...connection,
    run: (deliver, given) => {
      hooks = given
      return connection.run(deliver, given)
    }
  } satisfies Transport.Connection))
  return { transport: { connect }, report: (event: Transport.TransportEvent) => hooks?.report(event) }
}

/** Creates a server. Its first process starts when a client connects. */
export const make = ({ faults = Faults.none, form, handlers, seed = 1 }: Options = {}): SimulatedServer => {
  const lines: Array<string> = []
  const count = (line: string) => lines.filter((other) => other === line).length
  let processes = 0
  let running: Process | undefined

  const start = Effect.gen(function*() {
    if (!simulated.isInstalled) {
      return yield* TransportError.make({ _tag: "ConnectFailed", target: "the server", cause: "not installed" })
    }
    processes++
    const pair = yield* SimulatedTransport.make({ seed: seed + processes, faults, form })
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
    const server = RecordedServer.make({
      identity: String(processes),
      record: {
        add: (line) => {
          lines.push(line)
        },
        count
      }
    })
    yield* ServerSession.make({ ...server.handlers, ...handlers?.(processes) }, RecordedServer.options).pipe(
      Effect.provideService(Transport.Transport, pair.server),
      Scope.provide(scope)
    )
    const { report, transport } = reporting(pair.client)
    running = { pair, scope, server, report }
    return transport
  })

  const simulated: SimulatedServer = {
    target: McpTarget.transport(Layer.effect(Transport.Transport, start), "the server"),
    record: lines,
    count,
    clear: () => {
      lines.length = 0
    },
    processes: () => processes,
    server: () => running?.server,
    kill: Effect.suspend(() => {
      const killed = running
      running = undefined
      if (killed === undefined) return Effect.void
      killed.pair.cut()
      return Scope.close(killed.scope, Exit.void)
    }),
    report: (event) => running?.report(event),
    isInstalled: true,
    stall: () => {
      running?.pair.toServer.stall()
      running?.pair.toClient.stall()
    },
    mute: () => running?.pair.toClient.stall(),
    recover: () => {
      running?.pair.toServer.recover()
      running?.pair.toClient.recover()
    }
  }
  return simulated
}
