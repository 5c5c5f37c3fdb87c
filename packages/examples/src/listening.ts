/**
 * A server that listens, as a child process, and the transport that leads to wherever it says that it listens. The child is there
 * while the Layer is.
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

/** The child has ended and has not said where it listens. */
export class NotListening extends Data.TaggedError("NotListening")<{ readonly command: string }> {
  override get message(): string {
    return `${this.command} has ended without listening`
  }
}

/** Why there is no server. */
export type Failure = NotListening | PlatformError

const announcement = /^listening at (\S+)$/

/** What leads to a server, once it is known where it listens. */
export type Way = (url: string) => Layer.Layer<Transport.Transport>

/** This Node, with these arguments. Whatever else the child says goes to this function, line by line. */
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
