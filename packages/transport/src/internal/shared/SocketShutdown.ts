/**
 * The shutdown of a Node socket: it writes what was taken, waits for the peer within a bound, and is then destroyed.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Socket } from "node:net"
import { atMost, timerMillis } from "./nodeTimers.ts"

/** Ends this side, and waits until the operating system has everything that was written, or cannot take it. */
const written = (socket: Socket): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    socket.end(() => resume(Effect.void))
  })

/**
 * Waits until the peer has ended its side or the socket is closed. If a socket is destroyed while input arrives, the
 * operating system resets the connection. The peer then sees a reset instead of the end, and over TCP it also loses the
 * last data.
 */
const answered = (socket: Socket): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (socket.readableEnded || socket.closed) return resume(Effect.void)
    const onEnd = () => resume(Effect.void)
    socket.once("end", onEnd).once("close", onEnd)
    return Effect.sync(() => socket.off("end", onEnd).off("close", onEnd))
  })

/** Discards the input during an effect: a peer that waits for its data to be read may not read itself. */
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
 * Waits until everything is written and the peer has ended its side, or has not within `peerTimeout`; or until the
 * socket is closed. The caller bounds the whole wait, and destroys the socket.
 */
export const finished = (
  socket: Socket,
  taken: Effect.Effect<void>,
  peerTimeout: Duration.Input
): Effect.Effect<void> =>
  discarding(
    socket,
    taken.pipe(Effect.andThen(written(socket)), Effect.andThen(atMost(answered(socket), peerTimeout)))
  )

/**
 * Destroys a socket this long after this side has ended. If a half-open socket is allowed, a peer could otherwise keep
 * it open forever.
 */
export const destroyAfter = (socket: Socket, millis: number): void => {
  socket.once("finish", () => {
    if (socket.closed) return
    const timer = setTimeout(() => socket.destroy(), timerMillis(millis))
    socket.once("close", () => clearTimeout(timer))
  })
}
