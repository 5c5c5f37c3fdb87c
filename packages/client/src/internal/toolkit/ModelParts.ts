/** The result of a remote tool as parts of a prompt. */

import { CanonicalJson, type Content, type Tool as Protocol } from "@effect-mcp/protocol"
import * as Prompt from "effect/ai/Prompt"
import * as Result from "effect/Result"
import * as ModelFile from "./ModelFile.ts"

type Part = Prompt.ToolModelOutputPart

/** Returns a file, or a text for the model with the problem of the file. */
const fileOf = (...file: Parameters<typeof ModelFile.of>): Part =>
  Result.getOrElse(ModelFile.of(...file), (problem) => Prompt.textPart({ text: `[a file is left out: ${problem}]` }))

const partOf = (block: Content.ContentBlock): Part => {
  switch (block.type) {
    case "text":
      return Prompt.textPart({ text: block.text })
    case "image":
    case "audio":
      return fileOf(block.data, block.mimeType)
    case "resource_link": {
      const { description, name, uri } = block
      return Prompt.textPart({ text: `${name}: ${uri}${description === undefined ? "" : ` (${description})`}` })
    }
    case "resource": {
      const { resource } = block
      return "text" in resource
        ? Prompt.textPart({ text: resource.text })
        : fileOf(resource.blob, resource.mimeType, resource.uri)
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
