/** Calls of one tool by its definition. */
import type { Tool as Protocol } from "@effect-mcp/protocol"
import * as McpTool from "@effect-mcp/server/McpTool"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { CallOptions, McpCalls } from "../../McpCall.ts"
import { InvalidArgumentsError, ToolFailedError, UnexpectedResultError } from "../../TypedCallError.ts"
import { JsonCodec } from "./JsonCodec.ts"

type Arguments = { readonly [name: string]: unknown }

const isMembers = (value: unknown): value is Arguments => Predicate.isObject(value) && !Array.isArray(value)

type Decoded = Effect.Effect<unknown, string, unknown>

/** Returns the JSON value of a text, unless it is a string: a string is sent as it is, and not as JSON. */
const valueOfText = (text: string): { readonly json: unknown } | undefined => {
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === "string" ? undefined : { json }
  } catch {
    return undefined
  }
}

/** A tool, with the codecs of its definition. */
export class ToolMember {
  readonly #tool: Tool.Any
  /** `undefined` if the parameters are a JSON Schema, so that the server alone checks arguments. */
  readonly #parameters: JsonCodec | undefined
  readonly #success: JsonCodec
  /** `undefined` if the definition declares no failure. */
  readonly #failure: JsonCodec | undefined

  constructor(tool: Tool.Any) {
    this.#tool = tool
    this.#parameters = Tool.isDynamic(tool) && tool.jsonSchema !== undefined
      ? undefined
      : new JsonCodec(tool.parametersSchema)
    this.#success = new JsonCodec(tool.successSchema)
    this.#failure = tool.failureSchema.ast._tag === "Never" ? undefined : new JsonCodec(tool.failureSchema)
  }

  call(
    client: Pick<McpCalls, "callTool">,
    name: string,
    input: unknown = {},
    options: CallOptions<unknown> = {}
  ): Effect.Effect<unknown, unknown, unknown> {
    return Effect.flatMap(
      this.#encoded(name, input),
      (encoded) =>
        Effect.flatMap(
          client.callTool(name, encoded, options),
          (result) =>
            result.isError === true ? this.#failed(name, result) : this.#fitting(name, result, this.#valueOf(result))
        )
    )
  }

  #encoded(name: string, input: unknown): Effect.Effect<Arguments, InvalidArgumentsError, unknown> {
    const invalid = (problem: string) => new InvalidArgumentsError({ member: member(name), problem })
    const encoded = this.#parameters === undefined
      ? Effect.succeed(input)
      : Effect.mapError(this.#parameters.encode(input), invalid)
    return Effect.flatMap(
      encoded,
      (encoded) => isMembers(encoded) ? Effect.succeed(encoded) : Effect.fail(invalid("arguments are an object"))
    )
  }

  #fitting<A>(name: string, result: Protocol.CallToolResult, decoded: Effect.Effect<A, string, unknown>) {
    return Effect.mapError(decoded, (problem) => new UnexpectedResultError({ member: member(name), problem, result }))
  }

  #failed(name: string, result: Protocol.CallToolResult): Effect.Effect<never, unknown, unknown> {
    const { _meta: meta = {} } = result
    return this.#failure === undefined || !Object.hasOwn(meta, McpTool.failureKey)
      ? Effect.fail(new ToolFailedError({ tool: name, result }))
      : Effect.flatMap(this.#fitting(name, result, this.#failure.decode(meta[McpTool.failureKey])), Effect.fail)
  }

  #valueOf({ _meta: meta, content, structuredContent }: Protocol.CallToolResult): Decoded {
    const { successSchema } = this.#tool
    if (successSchema === McpTool.Content) return Effect.succeed(content)
    if (successSchema === McpTool.ContentWithMeta) {
      return Effect.succeed(meta === undefined ? { content } : { content, _meta: meta })
    }
    if (structuredContent !== undefined) return this.#ofStructure(structuredContent)
    if (meta !== undefined && Object.hasOwn(meta, McpTool.successKey)) {
      return this.#success.decode(meta[McpTool.successKey])
    }
    const [block, ...others] = content
    if (block === undefined) return this.#success.decode(null)
    return block.type === "text" && others.length === 0
      ? this.#ofText(block.text)
      : Effect.fail("it has no structured content, and its content is not one text")
  }

  /** Decodes structured content. Some servers wrap a value that is no object as `{ result: value }`. */
  #ofStructure(structure: unknown): Decoded {
    const decoded = this.#success.decode(structure)
    return isMembers(structure) && "result" in structure && Object.keys(structure).length === 1
      ? Effect.catch(decoded, (problem) => Effect.mapError(this.#success.decode(structure["result"]), () => problem))
      : decoded
  }

  /** Decodes a text: JSON, or a string as it is. A server marks a string that could be JSON of another type. */
  #ofText(text: string): Decoded {
    const value = this.#success.isText ? undefined : valueOfText(text)
    return value === undefined
      ? this.#success.decode(text)
      : Effect.catch(
        this.#success.decode(value.json),
        (problem) => Effect.mapError(this.#success.decode(text), () => problem)
      )
  }
}

const member = (name: string): string => `the tool ${JSON.stringify(name)}`
