/**
 * A server that runs as a child process and listens, and the transport to the address that it prints. The child process
 * ends with the Layer.
 */
import type { Transport } from "@effect-mcp/session"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { PlatformError } from "effect/PlatformError"
import * as ChildProcess from "effect/process/ChildProcess"
import * as Stream from "effect/Stream"

/** The error of a child process that ended before it printed an address. */
export class NotListening extends Data.TaggedError("NotListening")<{ readonly command: string }> {
  override get message(): string {
    return `${this.command}: the process ended before it printed "listening at URL"`
  }
}

/** The errors of a server that did not start. */
export type StartError = NotListening | PlatformError

const addressLine = /^listening at (\S+)$/

/** Creates the transport to a server at an address. */
export type TransportTo = (url: string) => Layer.Layer<Transport.Transport>

/** Starts Node with these arguments. `log` receives the other lines that the child prints. */
export const layer = (
  args: ReadonlyArray<string>,
  transportTo: TransportTo,
  log: (line: string) => void
): Layer.Layer<Transport.Transport, StartError> =>
  Layer.unwrap(Effect.gen(function*() {
    const url = yield* Deferred.make<string, NotListening>()
    const child = yield* ChildProcess.make(process.execPath, args, {
      killSignal: "SIGTERM",
      forceKillAfter: "2 seconds"
    })
    const onLine = (line: string) => {
      const [, address] = addressLine.exec(line) ?? []
      return address === undefined ? Effect.sync(() => log(line)) : Deferred.succeed(url, address)
    }
    yield* child.all.pipe(
      Stream.decodeText,
      Stream.splitLines,
      Stream.runForEach(onLine),
      Effect.ignore,
      Effect.andThen(Deferred.fail(url, new NotListening({ command: args.join(" ") }))),
      Effect.forkScoped
    )
    return transportTo(yield* Deferred.await(url))
  })).pipe(Layer.provide(NodeServices.layer))
