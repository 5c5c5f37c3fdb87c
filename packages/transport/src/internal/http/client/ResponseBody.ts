import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as CollectedBody from "../../shared/CollectedBody.ts"
import { atMost, delay } from "../../shared/nodeTimers.ts"
import * as utf8 from "../../shared/utf8.ts"
import type { Answer } from "./HttpCall.ts"

/** How long the rest of a body may take that nobody needs. A connection whose answer was read to its end can be used again. */
const restWithin = "200 millis"

/** How much of the body of a refusal is read, and for how long: it need never end. */
const refusalBytes = 64 * 1024
const refusalWithin = "1 second"

/** Collects the body up to its end, or as much of it as fits. Returns whether that is all. */
const collect = (answer: Answer, body: CollectedBody.CollectedBody): Effect.Effect<boolean, unknown> =>
  Effect.suspend(() => {
    let fits = true
    const take = (chunk: Uint8Array) => {
      fits = body.push(chunk)
      return fits
    }
    // Chunk by chunk, what came together would cost a turn of a fiber for each byte.
    const takeAll = (chunks: ReadonlyArray<Uint8Array>) => Effect.sync(() => chunks.every(take))
    return Effect.map(
      Stream.runForEachWhile(Stream.chunks(answer.chunks), takeAll),
      () => fits
    )
  })

/** The whole body; `undefined` if it is larger than the limit. Fails with what broke it off. */
export const read = (answer: Answer, limitBytes: number): Effect.Effect<Uint8Array | undefined, unknown> =>
  Effect.suspend(() => {
    const body = CollectedBody.make(limitBytes)
    return Effect.map(collect(answer, body), (fits) => fits ? body.bytes() : undefined)
  })

/** What a refusal says, as far as it can be read in good time. */
export const readRefusal = (answer: Answer): Effect.Effect<string> =>
  Effect.suspend(() => {
    const body = CollectedBody.make(refusalBytes)
    return Effect.map(
      atMost(Effect.ignore(collect(answer, body)), refusalWithin),
      () => utf8.decodeLeniently(utf8.withoutByteOrderMark(body.bytes()))
    )
  })

/** Reads what is left of a body that nobody needs, unless it takes too long. */
export const discard = (answer: Answer): Effect.Effect<void> =>
  atMost(Effect.ignore(Stream.runDrain(answer.chunks)), restWithin)

/** Waits for something that reads a body; once `enough` has come, not for much longer. */
export const untilEnough = <A, E>(reading: Effect.Effect<A, E>, enough: Effect.Effect<void>): Effect.Effect<void, E> =>
  Effect.raceFirst(Effect.asVoid(reading), Effect.andThen(enough, delay(restWithin)))
