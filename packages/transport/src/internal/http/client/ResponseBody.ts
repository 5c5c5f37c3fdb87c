/** The body of an HTTP response, read within bounds. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as CollectedBody from "../../shared/CollectedBody.ts"
import { atMost, delay } from "../../shared/nodeTimers.ts"
import * as utf8 from "../../shared/utf8.ts"
import type { HttpResponse } from "./HttpCall.ts"

/**
 * The time for the rest of a body that is not needed. A response that is read to its end frees its connection for
 * reuse.
 */
const drainTimeout = "200 millis"

/** The bounds of an error response, whose body may never end. */
const maxErrorBytes = 64 * 1024
const errorTimeout = "1 second"

/** Collects the body, or as much of it as fits. Returns whether that is all. */
const collect = (response: HttpResponse, body: CollectedBody.CollectedBody): Effect.Effect<boolean, unknown> =>
  Effect.suspend(() => {
    let fits = true
    const take = (chunk: Uint8Array) => {
      fits = body.push(chunk)
      return fits
    }
    // All chunks that arrived together in one step: one by one, each of a byte would cost a turn of the fiber.
    const takeAll = (chunks: ReadonlyArray<Uint8Array>) => Effect.sync(() => chunks.every(take))
    return Effect.map(
      Stream.runForEachWhile(Stream.chunks(response.chunks), takeAll),
      () => fits
    )
  })

/** Reads the whole body; `undefined` if it is larger than the limit. Fails with the reason why it broke. */
export const read = (response: HttpResponse, limitBytes: number): Effect.Effect<Uint8Array | undefined, unknown> =>
  Effect.suspend(() => {
    const body = CollectedBody.make(limitBytes)
    return Effect.map(collect(response, body), (fits) => fits ? body.bytes() : undefined)
  })

/** Reads an error response, or the part of it within the bounds. Its connection is free then. */
export const collected = (response: HttpResponse): Effect.Effect<HttpResponse> =>
  Effect.suspend(() => {
    const body = CollectedBody.make(maxErrorBytes)
    return Effect.map(
      atMost(Effect.ignore(collect(response, body)), errorTimeout),
      () => ({ ...response, chunks: Stream.make(body.bytes()), isCompressed: false })
    )
  })

/** Reads the text of an error response, or the part of it within the bounds. */
export const readError = (response: HttpResponse): Effect.Effect<string> =>
  Effect.suspend(() => {
    const body = CollectedBody.make(maxErrorBytes)
    return Effect.map(
      atMost(Effect.ignore(collect(response, body)), errorTimeout),
      () => utf8.decodeLeniently(utf8.withoutByteOrderMark(body.bytes()))
    )
  })

/** Reads and discards the rest of a body, within a bound. */
export const discard = (response: HttpResponse): Effect.Effect<void> =>
  atMost(Effect.ignore(Stream.runDrain(response.chunks)), drainTimeout)

/** Waits for the reading of a body; after `enough`, only for a short time more. */
export const untilEnough = <A, E>(reading: Effect.Effect<A, E>, enough: Effect.Effect<void>): Effect.Effect<void, E> =>
  Effect.raceFirst(Effect.asVoid(reading), Effect.andThen(enough, delay(drainTimeout)))
