/** The form of a tool in `tools/list`, from its definition and its annotations, with its codecs. */

import type { Tool as Protocol } from "@effect-mcp/protocol"
import { ParameterHeader } from "@effect-mcp/protocol/internal"
import { NumericOption } from "@effect-mcp/session/internal"
import { JsonSchemaValidator } from "@effect-mcp/session/JsonSchemaValidator"
import type { ServerTasks } from "@effect-mcp/tasks"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as McpTool from "../../McpTool.ts"
import { RegistrationError } from "../registry/RegistrationError.ts"
import type { Misfit } from "../schema/Misfit.ts"
import * as RawInput from "../schema/RawInput.ts"
import { SchemaRejected } from "../schema/SchemaRejected.ts"
import * as ToolCodec from "../schema/ToolCodec.ts"

/** A tool with the conversions of its arguments and its results. */
export interface ToolDefinition {
  readonly tool: Protocol.Tool
  /** Whether its calls become tasks. */
  readonly task: ServerTasks.ToolTasks
  /** The arguments that clients of 2026-07-28 repeat in headers, because their schemas have `x-mcp-header`. */
  readonly headers: ReadonlyArray<ParameterHeader.ParameterHeader>
  readonly decode: (input: unknown) => Effect.Effect<unknown, Misfit, unknown>
  readonly encode: (value: unknown) => Effect.Effect<unknown, Misfit, unknown>
  /** Whether each success is encoded as an object, which is structured content in every revision. */
  readonly isObject: boolean
  /** Whether each success is encoded as a string. */
  readonly isText: boolean
  readonly encodeFailure: (error: unknown) => Effect.Effect<unknown, Misfit, unknown>
}

/** The names that the specification allows (TOOL-10). */
export const validName = /^[A-Za-z0-9_.-]{1,128}$/

/** The arguments of a tool: their JSON Schema, and their conversion. */
export type Input = Pick<ToolCodec.Input<unknown, unknown>, "jsonSchema" | "decode">

/** Prepares the arguments of a tool whose parameters are a JSON Schema. */
const rawInput = (
  jsonSchema: unknown,
  subject: string,
  context: Context.Context<never>
): Result.Result<Input, SchemaRejected> =>
  Result.gen(function*() {
    const schema = yield* RawInput.rawSchema(jsonSchema, subject)
    const validator = Context.getOption(context, JsonSchemaValidator)
    if (Option.isNone(validator)) {
      const problem =
        "a server validates arguments (TOOL-05), and the Layer of the group has no JsonSchemaValidator; " +
        "provide AjvValidator.layer of @effect-mcp/json-schema to it"
      return yield* Result.fail(new SchemaRejected({ subject, path: "", problem }))
    }
    const decode = yield* RawInput.checker(schema, { subject, validator: validator.value })
    return { jsonSchema: schema, decode }
  })

/**
 * The arguments of a tool without parameters. Its schema rejects every argument, whereas all others ignore those that
 * they do not have; some hosts send such an argument, because a model has to send something.
 */
const nothing: Input = { jsonSchema: { type: "object", properties: {} }, decode: () => Exit.succeed({}) }

const input = (
  tool: Tool.Any,
  subject: string,
  context: Context.Context<never>
): Result.Result<Input, SchemaRejected> => {
  if (Tool.isDynamic(tool) && tool.jsonSchema !== undefined) return rawInput(tool.jsonSchema, subject, context)
  const isStrict = Tool.getStrictMode(tool) === true
  if (tool.parametersSchema === Tool.EmptyParams && !isStrict) return Result.succeed(nothing)
  return ToolCodec.input(tool.parametersSchema, { subject, onExcessProperty: isStrict ? "error" : "ignore" })
}

/** Returns the hints of a tool that its definition sets. The others have the defaults of the specification. */
const hints = (annotations: Context.Context<never>): Protocol.ToolAnnotations | undefined => {
  const set = {
    readOnlyHint: Tool.Readonly,
    destructiveHint: Tool.Destructive,
    idempotentHint: Tool.Idempotent,
    openWorldHint: Tool.OpenWorld
  }
  const given = Object.entries(set).flatMap(([name, key]) => {
    const hint = annotations.mapUnsafe.get(key.key)
    return typeof hint === "boolean" ? [[name, hint] as const] : []
  })
  return given.length === 0 ? undefined : Object.fromEntries(given)
}

/**
 * Prepares the definition of a tool. Throws a `RegistrationError` if it cannot be served, and an `InvalidOptionError`
 * for a time of `McpTool.Task` that is none. `prepared` replaces the arguments that the parameters of the tool
 * describe.
 */
export const make = (
  group: string,
  tool: Tool.Any,
  context: Context.Context<never>,
  prepared?: Input
): ToolDefinition => {
  if (!validName.test(tool.name)) {
    throw new RegistrationError({
      group,
      problem: `the tool ${JSON.stringify(tool.name)} has a name that is not allowed; ` +
        "use 1 to 128 of the characters A-Z, a-z, 0-9, _, . and -"
    })
  }
  if (Tool.isProviderDefined(tool)) {
    throw new RegistrationError({
      group,
      problem: `the tool "${tool.name}" is defined by a provider of models, and runs there; leave it out`
    })
  }
  const accepted = <A>(result: Result.Result<A, SchemaRejected>): A => {
    if (Result.isSuccess(result)) return result.success
    throw new RegistrationError({ group, problem: result.failure.message })
  }
  const { decode, jsonSchema: inputSchema } = prepared ?? accepted(
    input(tool, `the parameters of the tool "${tool.name}"`, context)
  )
  const headers = ParameterHeader.of(inputSchema)
  if (Result.isFailure(headers)) {
    throw new RegistrationError({
      group,
      problem: `the parameters of the tool "${tool.name}" have a header that is not allowed: ${headers.failure}`
    })
  }
  const success = accepted(ToolCodec.output(tool.successSchema, { subject: `the success of the tool "${tool.name}"` }))
  const failure = accepted(ToolCodec.output(tool.failureSchema, { subject: `the failure of the tool "${tool.name}"` }))
  // A tool that returns content has no structured content.
  const isContent = tool.successSchema === McpTool.Content || tool.successSchema === McpTool.ContentWithMeta
  const outputSchema = isContent ? undefined : success.jsonSchema
  const { annotations, description } = tool
  const title = Context.getOption(annotations, Tool.Title)
  const meta = Context.getOption(annotations, Tool.Meta)
  const icons = Context.get(annotations, McpTool.Icons)
  const toolHints = hints(annotations)
  const task = Context.get(annotations, McpTool.Task)
  const tasks: ServerTasks.ToolTasks = typeof task === "string" ? { support: task } : task
  const { begins } = tasks
  if (begins !== "atOnce" && begins !== "explicitly") {
    const prefix = `McpTool.Task of the tool "${tool.name}": `
    NumericOption.check({ begins }, { begins: NumericOption.duration }, prefix)
  }
  return {
    task: tasks,
    tool: {
      name: tool.name,
      inputSchema,
      ...(outputSchema === undefined ? undefined : { outputSchema }),
      ...(Option.isNone(title) ? undefined : { title: title.value }),
      ...(description === undefined ? undefined : { description }),
      ...(toolHints === undefined ? undefined : { annotations: toolHints }),
      ...(tasks.support === "forbidden" ? undefined : { execution: { taskSupport: tasks.support } }),
      ...(icons.length === 0 ? undefined : { icons }),
      ...(Option.isNone(meta) ? undefined : { _meta: meta.value })
    },
    headers: headers.success,
    decode,
    encode: success.encode,
    isObject: success.isObject,
    isText: success.isText,
    encodeFailure: failure.encode
  }
}
