/**
 * The members and messages of a server, as lines for a person.
 */
import * as PlainText from "@effect-mcp/client/PlainText"
import type * as Completion from "@effect-mcp/protocol/Completion"
import type * as Content from "@effect-mcp/protocol/Content"
import type * as Logging from "@effect-mcp/protocol/Logging"
import type * as Profile from "@effect-mcp/protocol/Profile"
import type * as PromptMessages from "@effect-mcp/protocol/Prompt"
import type * as Resource from "@effect-mcp/protocol/Resource"
import type * as Sampling from "@effect-mcp/protocol/Sampling"
import type * as Tool from "@effect-mcp/protocol/Tool"
import type { AccountStatus } from "@effect-mcp/transport/ClientAuthorization"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import * as Fields from "./fields.ts"

const indented = (text: string): string => text.split("\n").map((line) => `  ${line}`).join("\n")

const bytes = (base64: string): string => {
  const decoded = Base64.decode(base64)
  return Result.isSuccess(decoded) ? `${decoded.success.length} bytes` : "no valid base64"
}

/** Returns the parts in one line. A title that equals the name is shown once. */
const described = (parts: ReadonlyArray<string | undefined>): string =>
  Array.from(new Set(parts)).filter((part) => part !== undefined && part !== "").map((part) =>
    PlainText.line(part ?? "")
  ).join("  ")

/** Returns the contents of a resource. */
export const resourceContents = (contents: Resource.ResourceContents): string => {
  const head = described([`[${contents.uri}]`, contents.mimeType])
  return "text" in contents ? `${head}\n${indented(contents.text)}` : `${head}  ${bytes(contents.blob)}`
}

/** Returns a block of content. */
export const content = (block: Content.ContentBlock | Sampling.SamplingContent): string => {
  switch (block.type) {
    case "text":
      return block.text
    case "image":
    case "audio":
      return `[${block.type} ${PlainText.line(block.mimeType)}, ${bytes(block.data)}]`
    case "resource_link":
      return described([`[link ${block.uri}]`, block.mimeType, block.title ?? block.name, block.description])
    case "resource":
      return resourceContents(block.resource)
    case "tool_use":
      return `[call of ${PlainText.line(block.name)} ${PlainText.json(block.input)}]`
    case "tool_result":
      return `[result of ${PlainText.line(block.toolUseId)}]\n${indented(block.content.map(content).join("\n"))}`
  }
}

const isSame = (structured: unknown, blocks: ReadonlyArray<Content.ContentBlock>): boolean => {
  const [block] = blocks
  if (blocks.length !== 1 || block?.type !== "text") return false
  if (block.text === structured) return true
  try {
    return JSON.stringify(JSON.parse(block.text)) === JSON.stringify(structured)
  } catch {
    return false
  }
}

/** Returns the result of a tool. Text that repeats the structured content is left out. */
export const toolResult = ({ content: blocks, isError, structuredContent }: Tool.CallToolResult): string => {
  const same = structuredContent !== undefined && isSame(structuredContent, blocks)
  // A person reads a string without the quotes and escapes of JSON.
  const isText = same && typeof structuredContent === "string"
  const parts = same && !isText ? [] : blocks.map(content)
  const structured = structuredContent === undefined || isText ? [] : [PlainText.json(structuredContent, 2)]
  const lines = [...parts, ...structured]
  return `${isError === true ? "the tool failed: " : ""}${lines.length === 0 ? "(no content)" : lines.join("\n")}`
}

const parameter = (field: Fields.Field): string =>
  `${field.name}${field.isRequired ? "" : "?"}: ${Fields.describe(field)}`

const section = (title: string, lines: ReadonlyArray<string>): string =>
  [`${title} (${lines.length})`, ...lines.map((line) => `  ${line}`)].join("\n")

/** Returns the list of tools, each with its arguments. */
export const tools = (tools: ReadonlyArray<Tool.Tool>): string =>
  section(
    "tools",
    tools.map(({ description, inputSchema, name }) =>
      described([`${name}(${Fields.of(inputSchema).map(parameter).join(", ")})`, description])
    )
  )

const hints = ({ annotations = {} }: Tool.Tool): ReadonlyArray<string> =>
  [
    annotations.readOnlyHint === true ? "reads only" : undefined,
    annotations.readOnlyHint !== true && annotations.destructiveHint !== false ? "may destroy" : undefined,
    annotations.idempotentHint === true ? "idempotent" : undefined,
    annotations.openWorldHint === false ? "acts inside of the server" : undefined
  ].filter((hint) => hint !== undefined)

/** Returns everything that a person wants to know of one tool. */
export const tool = (tool: Tool.Tool): string =>
  [
    described([tool.name, tool.title ?? tool.annotations?.title]),
    ...(tool.description === undefined ? [] : [indented(tool.description)]),
    `hints of the server: ${hints(tool).join(", ")}`,
    section(
      "arguments",
      Fields.of(tool.inputSchema).map((field) => described([parameter(field), field.description ?? field.title]))
    ),
    `input schema:\n${indented(PlainText.json(tool.inputSchema, 2))}`,
    ...(tool.outputSchema === undefined ? [] : [`output schema:\n${indented(PlainText.json(tool.outputSchema, 2))}`])
  ].join("\n")

/** Returns the list of resources. */
export const resources = (resources: ReadonlyArray<Resource.Resource>): string =>
  section(
    "resources",
    resources.map(({ description, mimeType, name, title, uri }) =>
      described([uri, mimeType, title ?? name, description])
    )
  )

/** Returns the list of resource templates. */
export const templates = (templates: ReadonlyArray<Resource.ResourceTemplate>): string =>
  section(
    "resource templates",
    templates.map(({ description, mimeType, name, title, uriTemplate }) =>
      described([uriTemplate, mimeType, title ?? name, description])
    )
  )

/** Returns the list of prompts, each with its arguments. */
export const prompts = (prompts: ReadonlyArray<PromptMessages.Prompt>): string =>
  section(
    "prompts",
    prompts.map(({ arguments: parameters = [], description, name, title }) =>
      described([
        `${name}(${parameters.map(({ name, required }) => `${name}${required === true ? "" : "?"}`).join(", ")})`,
        description ?? title
      ])
    )
  )

/** Returns the contents of a resource that was read. */
export const readResult = ({ contents }: Resource.ReadResourceResult): string =>
  contents.length === 0 ? "(no contents)" : contents.map(resourceContents).join("\n")

/** Returns the messages of a prompt. */
export const promptResult = ({ description, messages }: PromptMessages.GetPromptResult): string =>
  [
    ...(description === undefined ? [] : [PlainText.line(description)]),
    ...messages.map((message) => `${message.role}: ${content(message.content)}`)
  ].join("\n")

/** Returns the values that the server offers for an argument. */
export const completion = ({ completion: { hasMore, total, values } }: Completion.CompleteResult): string => {
  const rest = (total ?? values.length) - values.length
  const more = rest > 0 ? [`(${rest} more)`] : hasMore === true ? ["(more)"] : []
  return [...(values.length === 0 ? ["(no values)"] : values.map(PlainText.line)), ...more].join("\n")
}

/** Returns a log message of the server. */
export const log = ({ data, level, logger }: Logging.LogMessageParams): string =>
  `[${level}] ${logger === undefined ? "" : `${PlainText.line(logger)}: `}${
    typeof data === "string" ? PlainText.text(data) : PlainText.json(data)
  }`

/** Returns a message of a conversation with a model. */
export const samplingMessage = ({ content: blocks, role }: Sampling.SamplingMessage): string =>
  `${role}: ${("type" in blocks ? [blocks] : blocks).map(content).join("\n")}`

/** Returns what the server has declared about itself. */
export const profile = ({ capabilities, info, instructions, revision }: Profile.ServerProfile): string =>
  [
    described([info.title ?? info.name, info.name, info.version]),
    `revision ${revision}, with ${
      Object.keys(capabilities).toSorted().map(PlainText.line).join(", ") || "no capabilities"
    }`,
    ...(instructions === undefined ? [] : [instructions])
  ].join("\n")

/** Returns until when a person is signed in. Tokens that have expired may be refreshed by the next request. */
const validity = (expiresAt: number, isRefreshable: boolean, now: number): string => {
  const time = new Date(expiresAt).toISOString()
  if (expiresAt > now) return `until ${time}`
  return isRefreshable ? `expired ${time}, refreshed by the next request` : `expired ${time}, sign in again`
}

/** Returns who is signed in. `now` is the time in milliseconds since 1970. */
export const account = (status: AccountStatus, now: number): string => {
  switch (status._tag) {
    case "SignedOut":
      return "signed out"
    case "Authorizing":
      return status.code === undefined ? "signing in" : `signing in with the code ${PlainText.line(status.code)}`
    case "SignedIn": {
      const { expiresAt, isRefreshable, issuer, scopes = [] } = status
      return [
        `signed in at ${PlainText.line(issuer)}`,
        ...(scopes.length === 0 ? [] : [`with ${PlainText.line(scopes.join(" "))}`]),
        ...(expiresAt === undefined ? [] : [validity(expiresAt, isRefreshable, now)])
      ].join(", ")
    }
  }
}
