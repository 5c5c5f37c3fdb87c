/** The check of content that handlers return, beyond its type: media is base64 with a media type (TOOL-08, PRM-05). */

import type { Content, Prompt, Resource } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"

/** A media type (RFC 6838, section 4.2), which may have parameters. */
const mediaType = /^[A-Za-z0-9][\w!#$&^.+-]{0,126}\/[A-Za-z0-9][\w!#$&^.+-]{0,126}\s*(?:;|$)/

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

const isBase64 = (text: string): boolean => text.length % 4 === 0 && base64.test(text)

/** Returns the problem of the contents of a resource. */
const ofContents = (contents: Resource.ResourceContents): string | undefined => {
  if ("blob" in contents && !isBase64(contents.blob)) return `the blob of ${contents.uri} is not base64`
  return contents.mimeType !== undefined && !mediaType.test(contents.mimeType)
    ? `${JSON.stringify(contents.mimeType)} of ${contents.uri} is not a media type`
    : undefined
}

/** Returns the problem of a block. */
const ofBlock = (block: Content.ContentBlock): string | undefined => {
  switch (block.type) {
    case "image":
    case "audio":
      if (!isBase64(block.data)) return `the data of a block of type ${block.type} is not base64`
      return mediaType.test(block.mimeType) ? undefined : `${JSON.stringify(block.mimeType)} is not a media type`
    case "resource":
      return ofContents(block.resource)
    default:
      return undefined
  }
}

const checked = <A, Item>(
  value: A,
  member: string,
  items: ReadonlyArray<Item>,
  problemOf: (item: Item) => string | undefined
): Effect.Effect<A> => {
  for (const item of items) {
    const problem = problemOf(item)
    if (problem !== undefined) return Effect.die(new Error(`${member} returned invalid content: ${problem}`))
  }
  return Effect.succeed(value)
}

/** Dies if a block is invalid. `member` names the tool in the error. */
export const blocks = (
  content: ReadonlyArray<Content.ContentBlock>,
  member: string
): Effect.Effect<ReadonlyArray<Content.ContentBlock>> => checked(content, member, content, ofBlock)

/** Dies if the content of a message is invalid. */
export const messages = (
  given: ReadonlyArray<Prompt.PromptMessage>,
  member: string
): Effect.Effect<ReadonlyArray<Prompt.PromptMessage>> =>
  checked(given, member, given, ({ content }) => ofBlock(content))

/** Dies if the contents of a resource are invalid. */
export const contents = (
  given: ReadonlyArray<Resource.ResourceContents>,
  member: string
): Effect.Effect<ReadonlyArray<Resource.ResourceContents>> => checked(given, member, given, ofContents)
