/** The decompression of HTTP responses (RFC 9110, 8.4). */
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import type { Duplex } from "node:stream"
import type * as Zlib from "node:zlib"

type Bytes = Stream.Stream<Uint8Array, unknown>

/** The content codings that a client accepts. */
export const accepted = "gzip, deflate, br"

/** The most characters of a `Content-Encoding` that an error shows. */
const shownCharacters = 100

/** The names of the identity coding, and those of gzip. */
const none: ReadonlySet<string> = new Set(["", "identity"])
const gzip: ReadonlySet<string> = new Set(["gzip", "x-gzip"])

const decoded: ReadonlySet<string> = new Set([...gzip, "deflate", "br"])

/** The codings that `fetch` decodes. It accepts `zstd` only on platforms that decode it. */
const decodedByFetch: ReadonlySet<string> = new Set([...decoded, "zstd"])

const unreadable = (contentEncoding: string): Error =>
  new Error(
    `the response has Content-Encoding ${JSON.stringify(Excerpt.of(contentEncoding, shownCharacters))}; ` +
      `supported: one of ${accepted}`
  )

/** Returns whether a response is compressed. */
export const isCompressed = (contentEncoding: string | undefined): boolean =>
  contentEncoding !== undefined && !none.has(contentEncoding.trim().toLowerCase())

/** Returns the bytes that `fetch` has decoded, whose header still has the coding; fails for an unsupported coding. */
export const decodedBefore = (chunks: Bytes, contentEncoding: string): Bytes => {
  const codings = contentEncoding.toLowerCase().split(",").map((coding) => coding.trim())
  return codings.every((coding) => none.has(coding) || decodedByFetch.has(coding))
    ? chunks
    : Stream.fail(unreadable(contentEncoding))
}

/** Creates the decoder of a coding. */
const decoderOf = (
  { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw }: typeof Zlib,
  coding: string,
  firstByte: number | undefined
): Duplex => {
  // As in curl and browsers, decoded bytes are passed on at once, and a missing trailer is not an error.
  const zlib = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }
  if (coding === "br") {
    const brotli = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH }
    return createBrotliDecompress(brotli)
  }
  if (coding !== "deflate") return createGunzip(zlib)
  // Some servers omit the header of zlib, whose first byte ends in the method 8.
  return firstByte === undefined || (firstByte & 0x0F) === 8 ? createInflate(zlib) : createInflateRaw(zlib)
}

/**
 * Decompresses a response. Bytes are decoded as they are pulled, so only a few chunks wait. Two codings, one over the
 * other, are rejected: one byte could become a million.
 */
export const decode = (chunks: Bytes, contentEncoding: string): Bytes => {
  const coding = contentEncoding.trim().toLowerCase()
  // Node, Bun and Deno have these modules. An import would be followed by the bundler of a page, whose `fetch` decodes
  // by itself. `DecompressionStream` is no substitute: on Node 22 it has no `br`, and it fails without a trailer.
  const { getBuiltinModule } = globalThis.process ?? {}
  const zlib = getBuiltinModule?.("node:zlib")
  const streams = getBuiltinModule?.("node:stream")
  if (!decoded.has(coding) || zlib === undefined || streams === undefined) {
    return Stream.fail(unreadable(contentEncoding))
  }
  return Stream.unwrap(Effect.gen(function*() {
    const pull = yield* Stream.toPull(chunks)
    const first = yield* Pull.catchDone(pull, () => Effect.succeed<ReadonlyArray<Uint8Array>>([]))
    let failure: { readonly cause: unknown } | undefined
    const whole = Stream.concat(Stream.fromArray(first), Stream.fromPull(Effect.succeed(pull))).pipe(
      Stream.tapError((cause) =>
        Effect.sync(() => {
          failure = { cause }
        })
      )
    )
    const compressed = yield* Stream.toReadableStreamEffect(whole)
    return Stream.fromReadableStream<Uint8Array, unknown>({
      evaluate: () => compressed.pipeThrough(streams.Duplex.toWeb(decoderOf(zlib, coding, first[0]?.[0]))),
      onError: (cause) =>
        failure === undefined ? new Error(`the response could not be decoded as ${coding}`, { cause }) : failure.cause
    })
  }))
}

/** A limit on the decompressed bytes of an SSE stream without an event. */
export interface ExpansionLimit {
  /** Counts more bytes, with or without an event in them. */
  readonly count: (bytes: number, hasEvent: boolean) => void
  /** Fails if there were too many bytes after the last event. */
  readonly check: Effect.Effect<void, Error>
}

/**
 * Creates the limit of one response. A stream has no end, and its decoder skips events that are too large, and
 * comments. With compression, a server could keep a client busy with those at a thousandth of the effort.
 */
export const expansionLimit = (
  response: { readonly isCompressed: boolean },
  limitBytes: number
): ExpansionLimit => {
  const maxBytes = 2 * limitBytes
  let bytes = 0
  return {
    count: (more, hasEvent) => {
      bytes = hasEvent ? 0 : bytes + more
    },
    check: response.isCompressed
      ? Effect.suspend(() =>
        bytes > maxBytes
          ? Effect.fail(new Error(`the compressed stream has more than ${maxBytes} bytes without an event`))
          : Effect.void
      )
      : Effect.void
  }
}
