/**
 * What there is to show and to play.
 */
import type * as Content from "@effect-mcp/protocol/Content"

/** A PNG of one pixel. */
export const image: Content.ImageContent = {
  type: "image",
  data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPj/HwADAgH/nqOvkwAAAABJRU5ErkJggg==",
  mimeType: "image/png"
}

/** A WAV file without a single sample: one channel of eight bits, 8,000 a second. */
export const audio: Content.AudioContent = {
  type: "audio",
  data: "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=",
  mimeType: "audio/wav"
}
