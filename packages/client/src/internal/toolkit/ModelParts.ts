/** The result of a remote tool as parts of a prompt. */

import { CanonicalJson, type Content, type Tool as Protocol } from "@effect-mcp/protocol"
import * as Prompt from "effect/ai/Prompt"

type Part = Prompt.ToolModelOutputPart

const named = (uri: string): string => uri.slice(uri.lastIndexOf("/") + 1)

const partOf = (block: Content.ContentBlock): Part => {
  switch (block.type) {
    case "text":
      return Prompt.textPart({ text: block.text })
    case "image":
    case "audio":
      return Prompt.filePart({ mediaType: block.mimeType, data: block.data })
    case "resource_link": {
      const { description, name, uri } = block
      return Prompt.textPart({ text: `${name}: ${uri}${description === undefined ? "" : ` (${description})`}` })
    }
    case "resource": {
      const { resource } = block
      return "text" in resource
        ? Prompt.textPart({ text: resource.text })
        : Prompt.filePart({
          mediaType: resource.mimeType ?? "application/octet-stream",
          fileName: named(resource.uri),
          data: resource.blob
        })
    }
  }
}

/** Returns whether a block is for the model. A server may mark one for the user only. */
const isForModel = ({ annotations }: Content.ContentBlock): boolean =>
  annotations?.audience === undefined || annotations.audience.includes("assistant")

const isTextOf = (text: string, json: string): boolean => {
  try {
    return CanonicalJson.textOf(JSON.parse(text)) === json
  } catch {
    return false
  }
}

/** Returns the blocks for the model as text; other blocks are named. */
export const textOf = (content: ReadonlyArray<Content.ContentBlock>): string =>
  Prompt.toolModelOutputToText(content.filter(isForModel).map(partOf))

/**
 * Returns the parts of a result. Its structured content is a part of its own, unless a block of text has it already, as
 * the specification recommends to servers.
 */
export const of = ({ content, structuredContent }: Protocol.CallToolResult): ReadonlyArray<Part> => {
  const parts = content.filter(isForModel).map(partOf)
  if (structuredContent === undefined) return parts
  const json = CanonicalJson.textOf(structuredContent)
  return content.some((block) => block.type === "text" && isForModel(block) && isTextOf(block.text, json))
    ? parts
    : [...parts, Prompt.textPart({ text: JSON.stringify(structuredContent) })]
}
