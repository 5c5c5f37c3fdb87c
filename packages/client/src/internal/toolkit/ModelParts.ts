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

/**
 * Returns a function that tests whether a text is the JSON of a structure. It reads no text that is much longer than
 * this JSON, and no more of a value than the structure has: a server decides both.
 */
const textTestOf = (structure: unknown, length: number): (text: string) => boolean => {
  let steps = 0
  let canonical: string | undefined
  return (text) => {
    // Indentation makes a text several times longer.
    if (text.length > 4 * length + 1_024) return false
    try {
      canonical ??= CanonicalJson.textOf(structure, {
        spend: (spent) => {
          steps += spent
        }
      })
      let left = steps
      const budget = {
        spend: (spent: number) => {
          left -= spent
          if (left < 0) throw new RangeError("the text has more than the structure")
        }
      }
      return CanonicalJson.textOf(JSON.parse(text), budget) === canonical
    } catch {
      return false
    }
  }
}

/** Returns the blocks for the model as text; other blocks are named. */
export const textOf = (content: ReadonlyArray<Content.ContentBlock>): string =>
  Prompt.toolModelOutputToText(content.filter(isForModel).map(partOf))

/**
 * Returns the parts of a result. Its structured content is a part of its own, unless a block of text has it already, as
 * the specification recommends to servers. The result must not be deeper than `JsonDepth.maxLevels`.
 */
export const of = ({ content, structuredContent }: Protocol.CallToolResult): ReadonlyArray<Part> => {
  const parts = content.filter(isForModel).map(partOf)
  if (structuredContent === undefined) return parts
  const json = JSON.stringify(structuredContent)
  const isText = textTestOf(structuredContent, json.length)
  return content.some((block) => block.type === "text" && isForModel(block) && isText(block.text))
    ? parts
    : [...parts, Prompt.textPart({ text: json })]
}
