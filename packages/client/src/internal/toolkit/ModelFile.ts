/** Images, audio and files of servers as parts of a prompt. */

import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import * as PlainText from "../../PlainText.ts"

/** The files that a provider accepts. */
export interface FileLimits {
  readonly mediaTypes: ReadonlySet<string>
  readonly maxBytes: number
}

/** The files that all large providers read, and the greatest size of an image for the strictest of them. */
export const limits: FileLimits = {
  mediaTypes: new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"]),
  maxBytes: 3_932_160
}

/** The greatest width and height of an image, in pixels. */
const maxPixels = 8_000

/** The first bytes of files by their media types, as Latin-1 text. */
const signatures: ReadonlyArray<readonly [mediaType: string, signature: RegExp]> = [
  ["image/png", /^\x89PNG\r\n\x1a\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF[^]{4}WEBP/],
  ["application/pdf", /^%PDF-/]
]

/** Returns the media type of data: the declared one, or that of its first bytes if it is one of the known. */
const actualType = (declared: string, data: Uint8Array): string | undefined => {
  const beginning = String.fromCharCode(...data.subarray(0, 16))
  const found = signatures.find(([, signature]) => signature.test(beginning))?.[0]
  return signatures.some(([mediaType]) => mediaType === declared) || declared === "image/jpg"
    ? found
    : found ?? declared
}

type Size = readonly [width: number, height: number]

/** Returns the size of a JPEG: that of its first frame. */
const jpegSize = (view: DataView): Size | undefined => {
  let at = 2
  while (at + 9 < view.byteLength && view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return [view.getUint16(at + 7), view.getUint16(at + 5)]
    // Any number of bytes 0xff may be before a marker.
    at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2)
  }
  return undefined
}

/** Returns the size of a WebP: that of its canvas, or of its only image. */
const webpSize = (view: DataView): Size | undefined => {
  const word = (at: number) => view.getUint16(at, true)
  const lossless = word(21) + (word(23) << 16)
  switch (view.getUint32(12)) {
    case 0x56503858: // VP8X
      return [1 + word(24) + (view.getUint8(26) << 16), 1 + word(27) + (view.getUint8(29) << 16)]
    case 0x56503820: // VP8 with a blank
      return [word(26) & 0x3fff, word(28) & 0x3fff]
    case 0x5650384c: // VP8L
      return [1 + (lossless & 0x3fff), 1 + ((lossless >>> 14) & 0x3fff)]
  }
  return undefined
}

/** The length of the header of each kind of image, and the functions that read its size. */
const headers: { readonly [mediaType: string]: readonly [length: number, (view: DataView) => Size | undefined] } = {
  "image/png": [33, (view) => [view.getUint32(16), view.getUint32(20)]],
  "image/gif": [13, (view) => [view.getUint16(6, true), view.getUint16(8, true)]],
  "image/webp": [30, webpSize],
  "image/jpeg": [3, jpegSize]
}

/** Returns the problem of the size of an image, if its kind is one of the known. */
const problemOfSize = (mediaType: string, data: Uint8Array): string | undefined => {
  const header = headers[mediaType]
  if (header === undefined) return undefined
  const [length, sizeOf] = header
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const [width, height] = (data.length < length ? undefined : sizeOf(view)) ?? [0, 0]
  if (width === 0 || height === 0) return `the header of ${mediaType} has no size`
  return Math.max(width, height) > maxPixels
    ? `${mediaType} of ${width} × ${height} pixels, of at most ${maxPixels} × ${maxPixels}`
    : undefined
}

/** A type and a subtype. Parameters are left out, because providers put a media type into `data:` URLs. */
const essence = /^[\w!#$&^.+-]{1,64}\/[\w!#$&^.+-]{1,64}(?=[;\s]|$)/

/** Returns a media type of a server without its parameters. */
const mediaTypeOf = (mimeType: string | undefined): string =>
  essence.exec(mimeType ?? "")?.[0] ?? "application/octet-stream"

/** Returns the name of the file at a URI: the last segment of its path. */
const nameOf = (uri: string): string | undefined => {
  const path = uri.replace(/[?#].*$/s, "")
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1)
  // Cut before it is escaped as well, because the server decides its length.
  const shown = Excerpt.of(PlainText.line(Excerpt.of(name)))
  return /^\.*$/.test(shown) ? undefined : shown
}

/**
 * Returns a file as bytes, or the problem of its data. Providers take other text for the URL or the id of a file, so a
 * server could have any of them sent to the model.
 */
export const of = (
  base64: string,
  mimeType: string | undefined,
  uri?: string
): Result.Result<Prompt.FilePart, string> => {
  const mediaType = mediaTypeOf(mimeType)
  const fileName = uri === undefined ? undefined : nameOf(uri)?.toWellFormed() ?? ""
  return Result.mapBoth(Base64.decode(base64), {
    onSuccess: (data) => Prompt.filePart({ mediaType, data, ...fileName ? { fileName } : undefined }),
    onFailure: () => `the data of ${mediaType} is not base64`
  })
}

/**
 * Returns a file as providers accept it, or the reason why they do not. A provider that rejects the file of a result
 * rejects each later request of the conversation.
 */
export const accepted = (
  base64: string,
  mimeType: string | undefined,
  uri: string | undefined,
  { maxBytes, mediaTypes }: FileLimits
): Result.Result<Prompt.FilePart, string> => {
  const tooLarge = (mediaType: string) => Result.fail(`${mediaType} with more than ${maxBytes} bytes`)
  if (base64.length > 1.5 * maxBytes + 1_024) return tooLarge(mediaTypeOf(mimeType))
  return Result.flatMap(of(base64, mimeType, uri), (part) => {
    const { data, mediaType: declared } = part
    if (!(data instanceof Uint8Array) || data.length === 0) return Result.fail(`the data of ${declared} is empty`)
    const mediaType = actualType(declared.toLowerCase(), data)
    if (mediaType === undefined) return Result.fail(`its data is not ${declared}`)
    if (!mediaTypes.has(mediaType)) return Result.fail(`the model does not read ${mediaType}`)
    if (data.length > maxBytes) return tooLarge(mediaType)
    const problem = problemOfSize(mediaType, data)
    return problem === undefined ? Result.succeed(Prompt.filePart({ ...part, mediaType })) : Result.fail(problem)
  })
}
