/**
 * A listening server as a child process, and the transport to the address that it prints. The child lives as long as
 * the Layer.
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
    return `${this.command} has ended without listening`
  }
}

/** The reasons why there is no server. */
export type Failure = NotListening | PlatformError

const announcement = /^listening at (\S+)$/

/** Makes the transport to a server at this address. */
export type Way = (url: string) => Layer.Layer<Transport.Transport>

/** Starts this Node with these arguments. Other lines that the child prints are passed to the function. */
export const layer = (
  args: ReadonlyArray<string>,
  way: Way,
  log: (line: string) => void
): Layer.Layer<Transport.Transport, Failure> =>
  Layer.unwrap(Effect.gen(function*() {
    const url = yield* Deferred.make<string, NotListening>()
    const child = yield* ChildProcess.make(process.execPath, args, {
      killSignal: "SIGTERM",
      forceKillAfter: "2 seconds"
    })
    const hear = (line: string) => {
      const [, announced] = announcement.exec(line) ?? []
      return announced === undefined ? Effect.sync(() => log(line)) : Deferred.succeed(url, announced)
    }
    yield* child.all.pipe(
      Stream.decodeText,
      Stream.splitLines,
      Stream.runForEach(hear),
      Effect.ignore,
      Effect.andThen(Deferred.fail(url, new NotListening({ command: args.join(" ") }))),
      Effect.forkScoped
    )
    return way(yield* Deferred.await(url))
  })).pipe(Layer.provide(NodeServices.layer))
