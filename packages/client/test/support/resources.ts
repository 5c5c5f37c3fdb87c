/** The resources of this process that a client may leave: sockets, pipes and child processes. */
import * as Effect from "effect/Effect"

const kinds: ReadonlySet<string> = new Set(["ProcessWrap", "PipeWrap", "TCPSocketWrap", "TCPServerWrap"])

/** Returns the open resources by kind, sorted. */
export const open = (): ReadonlyArray<string> =>
  process.getActiveResourcesInfo().filter((kind) => kinds.has(kind)).toSorted()

/** Waits for a while until as many resources are open as before, because the platform closes them later. */
export const settled = (before: ReadonlyArray<string>, attempts = 200): Effect.Effect<ReadonlyArray<string>> =>
  Effect.suspend(() =>
    attempts === 0 || open().join() === before.join()
      ? Effect.succeed(open())
      : Effect.andThen(Effect.sleep(10), settled(before, attempts - 1))
  )
