import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Answer } from "./HttpCall.ts"
import { atMost, delay } from "./nativeTime.ts"
import * as utf8 from "./utf8.ts"

/** How long the rest of a body may take that nobody needs. A connection whose answer was read to its end can be used again. */
const restWithin = "200 millis"

/** How much of the body of a refusal is read, and for how long: it need never end. */
const refusalBytes = 64 * 1024
const refusalWithin = "1 second"

/** Collects no more than the limit. */
const collector = (limitBytes: number) => {
  const chunks: Array<Uint8Array> = []
  let length = 0
  return {
    push: (chunk: Uint8Array): void => {
      length += chunk.length
      if (length <= limitBytes) chunks.push(chunk)
    },
    overflows: () => length > limitBytes,
    bytes: (): Uint8Array => {
      if (chunks.length === 1 && chunks[0] !== undefined) return chunks[0]
      const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0))
      let at = 0
      for (const chunk of chunks) {
        whole.set(chunk, at)
        at += chunk.length
      }
      return whole
    }
  }
}

const collect = (answer: Answer, collected: ReturnType<typeof collector>): Effect.Effect<void, unknown> =>
  Stream.runForEachWhile(answer.chunks, (chunk) =>
    Effect.sync(() => {
      collected.push(chunk)
      return !collected.overflows()
    }))

/** The whole body; `undefined` if it is larger than the limit. Fails with what broke it off. */
export const read = (answer: Answer, limitBytes: number): Effect.Effect<Uint8Array | undefined, unknown> =>
  Effect.suspend(() => {
    const collected = collector(limitBytes)
    return Effect.map(collect(answer, collected), () => collected.overflows() ? undefined : collected.bytes())
  })

/** What a refusal says, as far as it can be read in good time. */
export const readRefusal = (answer: Answer): Effect.Effect<string> =>
  Effect.suspend(() => {
    const collected = collector(refusalBytes)
    return Effect.map(
      atMost(Effect.ignore(collect(answer, collected)), refusalWithin),
      () => utf8.decodeLeniently(utf8.withoutByteOrderMark(collected.bytes()))
    )
  })

/** Reads what is left of a body that nobody needs, unless it takes too long. */
export const discard = (answer: Answer): Effect.Effect<void> =>
  atMost(Effect.ignore(Stream.runDrain(answer.chunks)), restWithin)

/** Waits for something that reads a body; once `enough` has come, not for much longer. */
export const untilEnough = <A, E>(reading: Effect.Effect<A, E>, enough: Effect.Effect<void>): Effect.Effect<void, E> =>
  Effect.raceFirst(Effect.asVoid(reading), Effect.andThen(enough, delay(restWithin)))
