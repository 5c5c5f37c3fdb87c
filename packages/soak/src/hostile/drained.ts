import type { Writable } from "node:stream"

/** Waits until the stream has drained or closed. */
export const drained = (output: Writable): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      output.off("drain", done).off("close", done)
      resolve()
    }
    // Many writers may wait at the same time.
    output.setMaxListeners(0).on("drain", done).on("close", done)
  })
