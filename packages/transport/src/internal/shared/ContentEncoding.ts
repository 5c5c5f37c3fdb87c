/** Compressed answers (RFC 9110, 8.4). */
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import type { Duplex } from "node:stream"
import type * as Zlib from "node:zlib"

type Bytes = Stream.Stream<Uint8Array, unknown>

/** The codings that a client names in `Accept-Encoding`. */
export const accepted = "gzip, deflate, br"

/** The most characters of a `Content-Encoding` that an error shows. */
const shownCharacters = 100

/** The names of no compression, and those of `gzip`. */
const none: ReadonlySet<string> = new Set(["", "identity"])
const gzip: ReadonlySet<string> = new Set(["gzip", "x-gzip"])

const decoded: ReadonlySet<string> = new Set([...gzip, "deflate", "br"])

/** `fetch` decodes these, the last one not on every platform; it asks for it only where it does. */
const decodedByFetch: ReadonlySet<string> = new Set([...decoded, "zstd"])

const unreadable = (contentEncoding: string): Error =>
  new Error(
    `the answer has Content-Encoding ${JSON.stringify(contentEncoding.slice(0, shownCharacters))}; ` +
      `it can be read with one of ${accepted}, or without any`
  )

/** Is this answer compressed? */
export const isCompressed = (contentEncoding: string | undefined): boolean =>
  contentEncoding !== undefined && !none.has(contentEncoding.trim().toLowerCase())

/** The bytes of an answer that `fetch` has decoded already, and whose header still says how it was encoded. */
export const decodedBefore = (chunks: Bytes, contentEncoding: string): Bytes => {
  const codings = contentEncoding.toLowerCase().split(",").map((coding) => coding.trim())
  return codings.every((coding) => none.has(coding) || decodedByFetch.has(coding))
    ? chunks
    : Stream.fail(unreadable(contentEncoding))
}

/**
 * Any other client than `fetch` runs on Node, so `node:zlib` is loaded only there, and only for a compressed answer.
 */
const decoderOf = (
  { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw }: typeof Zlib,
  coding: string,
  firstByte: number | undefined
): Duplex => {
  // As in curl and browsers: what has come is given out at once, and a missing trailer is no error.
  const zlib = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }
  if (coding === "br") {
    const brotli = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH }
    return createBrotliDecompress(brotli)
  }
  if (coding !== "deflate") return createGunzip(zlib)
  // Some servers leave out the header of zlib, whose first byte ends in the method 8.
  return firstByte === undefined || (firstByte & 0x0F) === 8 ? createInflate(zlib) : createInflateRaw(zlib)
}

/** The number of pieces of 16 KiB that are given out at a time. */
const piecesAtOnce = 16

/**
 * The bytes of an answer as they were before they were compressed. They are decoded as they are taken, so that only a
 * few pieces wait. Two encodings, one over the other, are not decoded: one byte could become a million.
 */
export const decode = (chunks: Bytes, contentEncoding: string): Bytes => {
  const coding = contentEncoding.trim().toLowerCase()
  if (!decoded.has(coding)) return Stream.fail(unreadable(contentEncoding))
  return Stream.unwrap(Effect.gen(function*() {
    const [zlib, { pipeThroughDuplex }] = yield* Effect.promise(() =>
      Promise.all([import("node:zlib"), import("@effect/platform-node/NodeStream")])
    )
    const pull = yield* Stream.toPull(chunks)
    const first = yield* Pull.catchDone(pull, () => Effect.succeed<ReadonlyArray<Uint8Array>>([]))
    const whole = Stream.concat(Stream.fromArray(first), Stream.fromPull(Effect.succeed(pull)))
    return pipeThroughDuplex(whole, {
      evaluate: () => decoderOf(zlib, coding, first[0]?.[0]),
      onError: (cause) => new Error(`the answer could not be read as ${coding}`, { cause }),
      chunkSize: piecesAtOnce
    })
  }))
}

/** Watches how much comes out of a compressed stream of events. */
export interface Expansion {
  /** So many bytes came out, and an event was in them or not. */
  readonly grow: (bytes: number, broughtEvent: boolean) => void
  /** Fails if too many came out since the last event. */
  readonly check: Effect.Effect<void, Error>
}

/**
 * A stream may go on without an end, and what is too large for an event, or is none, is passed over. In a compressed
 * one a server could keep a client busy with that, at a thousandth of the effort.
 */
export const expansion = (answer: { readonly isCompressed: boolean }, limitBytes: number): Expansion => {
  const most = 2 * limitBytes
  let bytes = 0
  return {
    grow: (more, broughtEvent) => {
      bytes = broughtEvent ? 0 : bytes + more
    },
    check: answer.isCompressed
      ? Effect.suspend(() =>
        bytes > most
          ? Effect.fail(new Error(`more than ${most} bytes came out of a compressed stream without an event`))
          : Effect.void
      )
      : Effect.void
  }
}
