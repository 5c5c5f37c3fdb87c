/**
 * The image and the sound that the notebook returns, and its icons.
 */
import type * as Content from "@effect-mcp/protocol/Content"
import type * as Implementation from "@effect-mcp/protocol/Implementation"
import * as Base64 from "effect/encoding/Base64"

/** A PNG of one blue pixel, as base64. */
export const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPj/HwADAgH/nqOvkwAAAABJRU5ErkJggg=="

/** Returns a WAV file of 20 ms: a square wave of 160 samples, with one byte each and 8,000 per second. */
const wave = (): Uint8Array => {
  const samples = 160
  const file = new DataView(new ArrayBuffer(44 + samples))
  const text = (offset: number, characters: string) => {
    for (const [index, character] of [...characters].entries()) file.setUint8(offset + index, character.charCodeAt(0))
  }
  text(0, "RIFF")
  file.setUint32(4, 36 + samples, true)
  text(8, "WAVEfmt ")
  file.setUint32(16, 16, true)
  file.setUint16(20, 1, true)
  file.setUint16(22, 1, true)
  file.setUint32(24, 8000, true)
  file.setUint32(28, 8000, true)
  file.setUint16(32, 1, true)
  file.setUint16(34, 8, true)
  text(36, "data")
  file.setUint32(40, samples, true)
  for (let index = 0; index < samples; index++) file.setUint8(44 + index, index % 16 < 8 ? 96 : 160)
  return new Uint8Array(file.buffer)
}

/** A short beep, as base64. */
export const beep = Base64.encode(wave())

export const image: Content.ImageContent = { type: "image", data: pixel, mimeType: "image/png" }

export const audio: Content.AudioContent = { type: "audio", data: beep, mimeType: "audio/wav" }

/** Returns an icon: a circle of this colour. */
export const icon = (colour: string): Implementation.Icon => ({
  src: `data:image/svg+xml,${
    encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg"><circle r="9" fill="${colour}"/></svg>`)
  }`,
  mimeType: "image/svg+xml",
  sizes: ["any"],
  theme: "light"
})
