/** Images and audio for the tools and prompts. */
import type * as Content from "@effect-mcp/protocol/Content"

/** A PNG of one pixel. */
export const image: Content.ImageContent = {
  type: "image",
  data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPj/HwADAgH/nqOvkwAAAABJRU5ErkJggg==",
  mimeType: "image/png"
}

/** A WAV file without samples: one channel, 8 bits, 8,000 Hz. */
export const audio: Content.AudioContent = {
  type: "audio",
  data: "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=",
  mimeType: "audio/wav"
}
