import { Transport } from "@effect-mcp/session"
import type { TransportLaws } from "@effect-mcp/testing/laws"
import { TransportSuite } from "@effect-mcp/testing/vitest"
import * as JsonLines from "@effect-mcp/transport/JsonLines"
import { StdioClient } from "@effect-mcp/transport/node"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { createServer, type Socket } from "node:net"
import { fileURLToPath } from "node:url"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"

const program = await joinedProgram(fileURLToPath(new URL("fixtures/lawServer.ts", import.meta.url)))

/** A child that has sent its process id, and accepts bytes to print. */
interface Child {
  readonly pid: number
  readonly control: Socket
}

/** Listens on a port for the child. */
const controls = Effect.gen(function*() {
  const child = Deferred.makeUnsafe<Child>()
  const listener = createServer((control) => {
    control.on("error", () => {}).once(
      "data",
      (bytes) => Deferred.doneUnsafe(child, Exit.succeed({ pid: Number(bytes.toString()), control }))
    )
  })
  yield* Effect.addFinalizer(() => Effect.map(Deferred.poll(child), () => listener.close()))
  const port = yield* Effect.callback<number>((resume) => {
    listener.listen(0, "127.0.0.1", () => {
      const address = listener.address()
      if (address !== null && typeof address === "object") resume(Effect.succeed(address.port))
    })
  })
  return { port, child: Deferred.await(child) }
})

/** The client's end, and the child after it has connected. */
type Served = TransportLaws.ClientEnd & { readonly child: Effect.Effect<Child> }

const signal = (name: NodeJS.Signals) => ({ child }: Served) =>
  // A child that has exited receives no signal.
  Effect.flatMap(child, ({ pid }) => Effect.ignore(Effect.try(() => process.kill(pid, name))))

TransportSuite.suite<Served>("stdio, with a child process", {
  serve: Effect.gen(function*() {
    const { child, port } = yield* controls
    const context = yield* Layer.build(StdioClient.layerNode({
      command: process.execPath,
      args: [program, String(port)],
      env: { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] },
      stderr: () => {},
      // A stopped child does not exit when its input ends.
      exitTimeout: "500 millis",
      terminateTimeout: "500 millis"
    }))
    const { connect } = Context.get(context, Transport.Transport)
    // A fault affects the child after it has connected.
    return { connect: Effect.tap(connect, () => child), child }
  }),
  // Each run starts a process. Over transports without one, the laws have more runs, of which stdio frames all alike.
  runs: 3,
  // The child's standard streams are not visible here, but its socket ends with it.
  ended: ({ child }) =>
    Effect.flatMap(child, ({ control }) =>
      Effect.callback<void>((resume) => {
        if (control.destroyed) return resume(Effect.void)
        control.once("close", () => resume(Effect.void))
      })),
  shutDown: signal("SIGTERM"),
  faults: {
    stall: { begin: signal("SIGSTOP"), end: signal("SIGCONT") },
    cut: signal("SIGKILL"),
    injectToClient: ({ child }, bytes) =>
      Effect.flatMap(child, ({ control }) =>
        Effect.callback<void, Error>((resume) => {
          control.write(bytes, (error) => resume(error ? Effect.fail(error) : Effect.void))
        })),
    maxMessageBytes: JsonLines.defaultMaxMessageBytes
  }
})
