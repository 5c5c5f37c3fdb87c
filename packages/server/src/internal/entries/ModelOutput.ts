/** The output of a tool for a model, from `Tool.toModelOutput`, as content. */

import { Content, Resource } from "@effect-mcp/protocol"
import type * as Tool from "effect/ai/Tool"

type Part = ReturnType<NonNullable<Tool.Any["toModelOutput"]>>[number]

type FilePart = Extract<Part, { readonly type: "file" }>

const file = ({ data, fileName = "file", mediaType }: FilePart): Content.ContentBlock => {
  if (data instanceof URL) return Content.link({ uri: data.href, name: fileName, mimeType: mediaType })
  if (mediaType.startsWith("image/")) return Content.image(data, mediaType)
  if (mediaType.startsWith("audio/")) return Content.audio(data, mediaType)
  // No content type of MCP is a file. An embedded resource is the one that carries any bytes.
  return Content.resource(Resource.blob(`attachment:${encodeURIComponent(fileName)}`, data, mediaType))
}

/** Returns the parts as content. */
export const toContent = (parts: ReadonlyArray<Part>): ReadonlyArray<Content.ContentBlock> =>
  parts.map((part) => part.type === "text" ? Content.text(part.text) : file(part))
