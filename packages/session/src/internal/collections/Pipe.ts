/** A pipe of frames within one process. */

import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { End, Inbound } from "../../Transport.ts"

/**
 * One direction of a transport within this process. The receiver gets the frames in the order of `put`, each before
 * `put` returns. If it is still processing an earlier frame, it gets the next one after that. So a program that replies
 * within `deliver` never nests two deliveries of one direction.
 */
export interface Pipe {
  readonly put: (inbound: Inbound) => void
  /** Runs an action after the receiver has got all frames so far. */
  readonly afterwards: (action: () => void) => void
  /** Ends the pipe. It accepts no more frames. */
  readonly end: () => void
  readonly ended: () => boolean
  /** Delivers all frames until the end of the pipe. */
  readonly run: (deliver: (inbound: Inbound) => void) => Effect.Effect<End>
}

export const make = (): Pipe => {
  const waiting: Array<Inbound | (() => void)> = []
  const over = Deferred.makeUnsafe<End>()
  let receiver: ((inbound: Inbound) => void) | undefined
  let delivering = false
  let ended = false

  const flush = () => {
    if (delivering || receiver === undefined) return
    delivering = true
    try {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        if (typeof next === "function") next()
        else receiver(next)
      }
    } finally {
      delivering = false
    }
    if (ended) Deferred.doneUnsafe(over, Exit.succeed({ exit: undefined, writable: false }))
  }

  return {
    put: (inbound) => {
      if (ended) return
      waiting.push(inbound)
      flush()
    },
    afterwards: (action) => {
      waiting.push(action)
      flush()
    },
    end: () => {
      ended = true
      flush()
    },
    ended: () => ended,
    run: (deliver) =>
      Effect.suspend(() => {
        receiver = deliver
        flush()
        return Effect.ensuring(
          Deferred.await(over),
          Effect.sync(() => {
            receiver = undefined
          })
        )
      })
  }
}
