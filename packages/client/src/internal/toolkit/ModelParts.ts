/** The result of a remote tool as parts of a prompt. */

import type { Content, Tool as Protocol } from "@effect-mcp/protocol"
import { CanonicalJson } from "@effect-mcp/protocol/internal"
import * as Prompt from "effect/ai/Prompt"
import * as Result from "effect/Result"
import * as ModelFile from "./ModelFile.ts"

type Part = Prompt.ToolModelOutputPart

/** The bounds of a result. */
export interface PartLimits extends ModelFile.FileLimits {
  /** The greatest length of all texts of a result, in UTF-16 units. */
  readonly maxCharacters: number
}

/** The default bounds. 200,000 characters are about 50,000 tokens. */
export const limits: PartLimits = { ...ModelFile.limits, maxCharacters: 200_000 }

/** Makes the parts of one result, whose files and texts have a common size. */
class Writer {
  readonly #limits: PartLimits
  #bytes: number
  #characters: number

  constructor(given: PartLimits) {
    this.#limits = given
    this.#bytes = given.maxBytes
    this.#characters = given.maxCharacters
  }

  /** Returns the parts of a block. Providers reject texts that are blank. */
  of(block: Content.ContentBlock): ReadonlyArray<Part> {
    switch (block.type) {
      case "text":
        return this.text(block.text)
      case "image":
      case "audio":
        return this.#file(block.data, block.mimeType)
      case "resource_link": {
        const { description, name, uri } = block
        return this.text(`${name}: ${uri}${description === undefined ? "" : ` (${description})`}`)
      }
      case "resource": {
        const { resource } = block
        return "text" in resource
          ? this.text(resource.text)
          : this.#file(resource.blob, resource.mimeType, resource.uri)
      }
    }
  }

  text(text: string): ReadonlyArray<Part> {
    if (text.trim() === "") return []
    const kept = text.slice(0, this.#characters)
    this.#characters -= kept.length
    const rest = text.length - kept.length
    return [Prompt.textPart({ text: (rest === 0 ? kept : `${kept}[${rest} characters are left out]`).toWellFormed() })]
  }

  /** Returns a file, or a text for the model with the problem of the file. */
  #file(base64: string, mimeType: string | undefined, uri?: string): ReadonlyArray<Part> {
    const part = ModelFile.accepted(base64, mimeType, uri, { ...this.#limits, maxBytes: this.#bytes })
    if (Result.isFailure(part)) return this.text(`[a file is left out: ${part.failure}]`)
    if (part.success.data instanceof Uint8Array) this.#bytes -= part.success.data.length
    return [part.success]
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
export const textOf = (content: ReadonlyArray<Content.ContentBlock>, given: PartLimits): string => {
  const writer = new Writer(given)
  return Prompt.toolModelOutputToText(content.filter(isForModel).flatMap((block) => writer.of(block)))
}

/**
 * Returns the parts of a result. Its structured content is a part of its own, unless a block of text has it already, as
 * the specification recommends to servers. The result must not be deeper than `JsonDepth.maxLevels`. There is always a
 * part, because some providers reject an empty result.
 */
export const of =
  (given: PartLimits) => ({ content, structuredContent }: Protocol.CallToolResult): ReadonlyArray<Part> => {
    const writer = new Writer(given)
    const parts = content.filter(isForModel).flatMap((block) => writer.of(block))
    const json = structuredContent === undefined ? undefined : JSON.stringify(structuredContent)
    const isJson = json === undefined ? undefined : textTestOf(structuredContent, json.length)
    // A server may send a string as it is, or as JSON.
    const hasText = isJson === undefined ||
      content.some((block) =>
        block.type === "text" && isForModel(block) && (block.text === structuredContent || isJson(block.text))
      )
    const all = hasText || json === undefined ? parts : [...parts, ...writer.text(json)]
    return all.length > 0 ? all : [Prompt.textPart({ text: "[the result of the tool is empty]" })]
  }
