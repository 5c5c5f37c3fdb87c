/** The address of a redirect that a person pastes into a terminal. */
import * as Effect from "effect/Effect"
import type { Readable } from "node:stream"
import * as OAuthError from "../../OAuthError.ts"

/** The longest line that is read. */
const maxLine = 16_384

/** Returns the parameters of an address, or of its query alone. */
const parametersOf = (line: string): URLSearchParams => {
  const [text = ""] = line.trim().split("#", 1)
  return new URLSearchParams(text.slice(text.indexOf("?") + 1))
}

const ended = OAuthError.make({
  _tag: "UserAgentFailed",
  problem: "the input ended before the address of the redirect was pasted"
})

/**
 * Reads lines until one of them is the expected redirect, and returns its parameters. What follows this line stays in
 * the input. Calls `unexpected` for each other line that is not empty.
 */
export const read = (
  input: Readable,
  isExpected: (parameters: URLSearchParams) => boolean,
  unexpected: () => void
): Effect.Effect<URLSearchParams, OAuthError.OAuthError> =>
  Effect.callback<URLSearchParams, OAuthError.OAuthError>((resume) => {
    let pending: Buffer = Buffer.alloc(0)
    const stop = () => {
      input.off("data", data).off("end", end).off("close", end).off("error", end).pause()
      // A pipe that is paused while it delivers data goes on reading, and would keep the process alive: pause it again.
      setImmediate(() => {
        if (input.isPaused() && input.listenerCount("readable") === 0) input.resume().pause()
      })
    }
    /** Completes with the parameters of a line if it is the expected redirect. */
    const take = (line: Buffer): boolean => {
      const text = line.toString("utf8")
      const parameters = parametersOf(text)
      if (line.length <= maxLine && isExpected(parameters)) {
        resume(Effect.succeed(parameters))
        return true
      }
      if (text.trim() !== "") unexpected()
      return false
    }
    const end = () => {
      stop()
      if (!take(pending)) resume(Effect.fail(ended))
    }
    const data = (chunk: Buffer | string) => {
      pending = Buffer.concat([pending, Buffer.from(chunk)])
      for (let at = pending.indexOf("\n"); at !== -1; at = pending.indexOf("\n")) {
        const line = pending.subarray(0, at)
        pending = pending.subarray(at + 1)
        if (take(line)) {
          stop()
          if (pending.length > 0) input.unshift(pending)
          return
        }
      }
      // The rest of a line that is too long is not kept; it still counts as too long, so that it is never expected.
      if (pending.length > maxLine) pending = Buffer.alloc(maxLine + 1, " ")
    }
    // A stream that has ended emits nothing more.
    if (input.readableEnded || input.destroyed) return end()
    input.on("data", data).once("end", end).once("close", end).once("error", end).resume()
    return Effect.sync(stop)
  })
