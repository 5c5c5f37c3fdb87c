/**
 * Properties of every tool: arguments that fit its input schema lead to a result instead of a protocol error, and
 * structured content fits its output schema.
 *
 * @stability unstable
 */
import type { Tool } from "@effect-mcp/protocol"
import type { ClientSession, JsonSchemaValidator, RequestError, UnsupportedSchemaError } from "@effect-mcp/session"
import * as Arbitrary from "effect/Arbitrary"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as JsonSchemaArbitrary from "./arbitrary/JsonSchemaArbitrary.ts"
import { isMembers } from "./internal/arbitrary/jsonValues.ts"

/**
 * The arguments of a call, as in `tools/call`.
 *
 * @category models
 */
export interface Arguments {
  readonly [name: string]: unknown
}

/**
 * Options for {@link check} and {@link checkAll}.
 *
 * @category models
 */
export interface Options {
  /**
   * Decides which arguments fit the input schema, and which results fit the output schema: `AjvValidator`, or another
   * validator.
   */
  readonly validator: JsonSchemaValidator.JsonSchemaValidatorShape
  /** The number of calls. Default: 100, or the setting of `Arbitrary.configureGlobal`. */
  readonly runs?: number
  /** The size of the arguments. Default: that of `Arbitrary`. */
  readonly size?: number
  /** The seed of the generator. Default: another one in each run. */
  readonly seed?: string | number
  /** The `replay` of a failure: checks this call and no other. */
  readonly replay?: Arbitrary.Replay
  /** The time limit for each call, on the `Clock`. Default: that of the session. */
  readonly timeout?: Duration.Input
}

/**
 * The result for a tool that has the properties.
 *
 * @category models
 */
export interface CheckedTool {
  readonly tool: string
  /** The number of calls. */
  readonly runs: number
  /** The number of results with `isError`. If all results have it, the check shows little. */
  readonly toolErrors: number
}

/**
 * The fault of one call.
 *
 * - `NoResult`: the call failed with an error, or timed out.
 * - `NoStructuredContent`: the tool has an output schema, and the result had no structured content.
 * - `InvalidStructuredContent`: the structured content does not fit the output schema; `problem` states the place and
 *   the reason.
 *
 * @category models
 */
export type Fault =
  | { readonly _tag: "NoResult"; readonly error: RequestError.RequestError }
  | { readonly _tag: "NoStructuredContent" }
  | { readonly _tag: "InvalidStructuredContent"; readonly structuredContent: unknown; readonly problem: string }

/**
 * The reasons of a {@link ToolPropertyError}.
 *
 * - `Falsified`: a call has a fault. `arguments` are the simplest that cause it, and `initialArguments` the first that
 *   were found. `replay` repeats the call.
 * - `UnsupportedKeywordError`: no arguments can be generated from the input schema.
 * - `UnsupportedSchemaError`: the validator does not support this schema of the tool.
 * - `Exhausted`: too few of the generated arguments fit the input schema, as with a `multipleOf` in a narrow range.
 * - `ReplayMismatch`: the replayed call no longer has a fault, or has other arguments.
 *
 * @category models
 */
export type ToolPropertyErrorReason =
  | {
    readonly _tag: "Falsified"
    readonly arguments: Arguments
    readonly initialArguments: Arguments
    readonly fault: Fault
    readonly runs: number
    readonly shrinks: number
    readonly replay: Arbitrary.Replay
  }
  | { readonly _tag: "UnsupportedKeywordError"; readonly error: JsonSchemaArbitrary.UnsupportedKeywordError }
  | {
    readonly _tag: "UnsupportedSchemaError"
    readonly schema: "inputSchema" | "outputSchema"
    readonly error: UnsupportedSchemaError.UnsupportedSchemaError
  }
  | { readonly _tag: "Exhausted"; readonly runs: number; readonly discards: number; readonly seed: string | number }
  | { readonly _tag: "ReplayMismatch"; readonly mismatch: Arbitrary.ReplayMismatch["reason"] }

const describeFault = (fault: Fault): string => {
  switch (fault._tag) {
    case "NoResult":
      return fault.error.message
    case "NoStructuredContent":
      return "its result has no structured content, though the tool has an output schema"
    case "InvalidStructuredContent":
      return `its structured content ${JSON.stringify(fault.structuredContent)} does not fit: ${fault.problem}`
  }
}

const describe = (reason: ToolPropertyErrorReason): string => {
  switch (reason._tag) {
    case "Falsified":
      return `called with ${JSON.stringify(reason.arguments)}: ${describeFault(reason.fault)}\n` +
        `found in run ${reason.runs}, shrunk ${reason.shrinks} times; to reproduce it, pass replay: ${
          JSON.stringify(reason.replay)
        }`
    case "UnsupportedKeywordError":
      return `inputSchema: ${reason.error.message}`
    case "UnsupportedSchemaError":
      return `${reason.schema}: ${reason.error.message}`
    case "Exhausted":
      return `only ${reason.runs} of ${reason.runs + reason.discards} values fitted the input schema ` +
        `(seed ${JSON.stringify(reason.seed)})`
    case "ReplayMismatch":
      return `the replay does not match: ${reason.mismatch}`
  }
}

/**
 * The error of a tool that does not have the properties, or that cannot be checked.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 * import { AjvValidator } from "@effect-mcp/json-schema"
 * import { TestSession, ToolProperties } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * export const problem = Effect.gen(function*() {
 *   const { client } = yield* TestSession.make({
 *     "tools/call": () => Effect.fail(McpError.invalidParams("not today"))
 *   })
 *   const tool = { name: "broken", inputSchema: { type: "object", additionalProperties: false } } as const
 *   const error = yield* Effect.flip(ToolProperties.check(client, tool, { validator: AjvValidator.make() }))
 *   return error.message.split("\n")[0]
 * }).pipe(Effect.scoped)
 * // => "the tool \"broken\" called with {}: tools/call: the peer replied with error -32602: not today"
 * ```
 *
 * @category errors
 */
export class ToolPropertyError extends Data.TaggedError("ToolPropertyError")<{
  readonly tool: string
  readonly reason: ToolPropertyErrorReason
}> {
  override get message(): string {
    return `the tool ${JSON.stringify(this.tool)} ${describe(this.reason)}`
  }
}

/** Returns whether the session can carry no further calls. */
const isLost = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "Closed" ||
  (reason._tag === "SendFailed" &&
    (reason.error.reason._tag === "PeerEnded" || reason.error.reason._tag === "WriteFailed"))

/**
 * Calls a tool repeatedly with arguments that `JsonSchemaArbitrary` generates from its input schema. Fails with the
 * simplest arguments that lead to a fault. A result with `isError` is counted and is not a fault. If a call ends the
 * session, its arguments are not made simpler, because no further call is possible.
 *
 * The calls are real: the effects of the tool happen each time. The handlers of the client answer the requests of the
 * tool.
 *
 * @example
 * ```ts
 * import type { Tool } from "@effect-mcp/protocol"
 * import { AjvValidator } from "@effect-mcp/json-schema"
 * import { TestSession, ToolProperties } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * const double: Tool.Tool = {
 *   name: "double",
 *   inputSchema: { type: "object", properties: { of: { type: "integer", minimum: 0 } }, required: ["of"] },
 *   outputSchema: { type: "object", properties: { double: { type: "integer", maximum: 20 } }, required: ["double"] }
 * }
 *
 * export const simplest = Effect.gen(function*() {
 *   const { client } = yield* TestSession.make({
 *     "tools/call": ({ arguments: input }) =>
 *       Effect.succeed({ content: [], structuredContent: { double: 2 * Number(input?.["of"]) } })
 *   })
 *   const { reason } = yield* Effect.flip(ToolProperties.check(client, double, { validator: AjvValidator.make() }))
 *   return reason._tag === "Falsified" ? reason.arguments : reason._tag
 * }).pipe(Effect.scoped) // => { of: 11 }
 * ```
 *
 * @category running
 */
export const check = Effect.fnUntraced(function*(
  session: ClientSession.ClientSessionShape,
  tool: Tool.Tool,
  options: Options
): Effect.fn.Return<CheckedTool, ToolPropertyError> {
  const { replay, runs, seed, size, timeout, validator } = options
  const fail = (reason: ToolPropertyErrorReason) => new ToolPropertyError({ tool: tool.name, reason })
  const compile = (schema: "inputSchema" | "outputSchema", of: JsonSchemaValidator.JsonSchema) =>
    Effect.mapError(
      Effect.fromResult(validator.compile(of)),
      (error) => fail({ _tag: "UnsupportedSchemaError", schema, error })
    )
  const input = yield* compile("inputSchema", tool.inputSchema)
  const output = tool.outputSchema === undefined ? undefined : yield* compile("outputSchema", tool.outputSchema)
  const values = yield* Effect.mapError(
    Effect.fromResult(JsonSchemaArbitrary.make(tool.inputSchema)),
    (error) => fail({ _tag: "UnsupportedKeywordError", error })
  )
  const fitting = Arbitrary.filter(
    values,
    (value): value is Arguments => isMembers(value) && input(value) === undefined
  )

  let toolErrors = 0
  let lost = false
  const property = (given: Arguments): Effect.Effect<boolean, Fault> => {
    // After the end of the session no other arguments can be checked.
    if (lost) return Effect.succeed(true)
    return Effect.matchEffect(session.callTool(tool.name, given, timeout === undefined ? undefined : { timeout }), {
      onFailure: (error) => {
        lost = isLost(error)
        return Effect.fail<Fault>({ _tag: "NoResult", error })
      },
      onSuccess: ({ isError, structuredContent }): Effect.Effect<boolean, Fault> => {
        if (isError === true) {
          toolErrors++
          return Effect.succeed(true)
        }
        if (output === undefined) return Effect.succeed(true)
        if (structuredContent === undefined) return Effect.fail({ _tag: "NoStructuredContent" })
        const problem = output(structuredContent)
        return problem === undefined
          ? Effect.succeed(true)
          : Effect.fail({ _tag: "InvalidStructuredContent", structuredContent, problem })
      }
    })
  }
  const result = yield* Arbitrary.checkEffect(fitting, property, { runs, size, seed, replay })
  switch (result._tag) {
    case "Passed":
      return { tool: tool.name, runs: result.runs, toolErrors }
    case "Exhausted":
      return yield* fail({ _tag: "Exhausted", runs: result.runs, discards: result.discards, seed: result.seed })
    case "ReplayMismatch":
      return yield* fail({ _tag: "ReplayMismatch", mismatch: result.reason })
    case "Falsified": {
      const { failure, initialInput, replay, runs, shrinks, shrunkInput } = result
      // The property above never returns `false`.
      if (failure._tag === "ReturnedFalse") return yield* Effect.die("a property without a fault")
      return yield* fail({
        _tag: "Falsified",
        arguments: shrunkInput,
        initialArguments: initialInput,
        fault: failure.error,
        runs,
        shrinks,
        replay
      })
    }
  }
})

/**
 * Checks every tool that the server lists, one after the other. Fails with the first tool that does not have the
 * properties, or with a `RequestError` if listing fails.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { AjvValidator } from "@effect-mcp/json-schema"
 * import { TestSession, ToolProperties } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * const properties = { name: { type: "string" } } as const
 * const inputSchema = { type: "object", properties, additionalProperties: false } as const
 *
 * export const kept = Effect.gen(function*() {
 *   const { client } = yield* TestSession.make({
 *     "tools/list": () => Effect.succeed({ tools: [{ name: "greet", inputSchema }] }),
 *     "tools/call": ({ arguments: input }) =>
 *       Effect.succeed({ content: [Content.text(`hello ${input?.["name"] ?? "you"}`)] })
 *   })
 *   return yield* ToolProperties.checkAll(client, { validator: AjvValidator.make(), runs: 20 })
 * }).pipe(Effect.scoped) // => [{ tool: "greet", runs: 20, toolErrors: 0 }]
 * ```
 *
 * @category running
 */
export const checkAll = (
  session: ClientSession.ClientSessionShape,
  options: Options
): Effect.Effect<ReadonlyArray<CheckedTool>, ToolPropertyError | RequestError.RequestError> =>
  Effect.flatMap(
    Stream.runCollect(session.tools),
    (tools) => Effect.forEach(tools, (tool) => check(session, tool, options))
  )
