/** How a socket of Node comes to its end. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Socket } from "node:net"
import { atMost, timerMillis } from "./nodeTimers.ts"

/** Ends the stream behind what was written, and waits until the system has it, or will not have it any more. */
const written = (socket: Socket): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    socket.end(() => resume(Effect.void))
  })

/**
 * Waits until the peer has ended its side, too, or the socket is no more. A socket that is let go while something comes in is reset
 * by the system, and the peer would see that instead of the end, and over TCP not even what was written before.
 */
const answered = (socket: Socket): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (socket.readableEnded || socket.closed) return resume(Effect.void)
    const onEnd = () => resume(Effect.void)
    socket.once("end", onEnd).once("close", onEnd)
    return Effect.sync(() => socket.off("end", onEnd).off("close", onEnd))
  })

/** Throws away what comes meanwhile: a peer that waits for us to read reads nothing itself. */
const discarding = <A>(socket: Socket, effect: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const discard = () => {
        while (socket.read() !== null);
      }
      socket.on("readable", discard)
      return discard
    }),
    () => effect,
    (discard) => Effect.sync(() => socket.off("readable", discard))
  )

/**
 * Waits until what was taken is with the system, its end included, and the peer has ended its side, too, or has not within this time;
 * or until the socket is no more. The caller sets the bound, and lets go of the socket.
 */
export const finished = (
  socket: Socket,
  taken: Effect.Effect<void>,
  answeredWithin: Duration.Input
): Effect.Effect<void> =>
  discarding(
    socket,
    taken.pipe(Effect.andThen(written(socket)), Effect.andThen(atMost(answered(socket), answeredWithin)))
  )

/**
 * Lets go of a socket this long after its own side has ended. Where Node leaves the two sides to end apart, a peer could keep it for
 * as long as it likes.
 */
export const letGoWithin = (socket: Socket, millis: number): void => {
  socket.once("finish", () => {
    if (socket.closed) return
    const timer = setTimeout(() => socket.destroy(), timerMillis(millis))
    socket.once("close", () => clearTimeout(timer))
  })
}
