/**
 * What holds of a tool whatever it is called with: arguments that fit its input schema bring a result, never a protocol error, and
 * what is structured in the result fits the output schema.
 */
import type { Tool } from "@effect-mcp/protocol"
import type { ClientSession, JsonSchemaValidator, RequestError, UnsupportedSchema } from "@effect-mcp/session"
import * as Arbitrary from "effect/Arbitrary"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as JsonSchemaArbitrary from "./arbitrary/JsonSchemaArbitrary.ts"
import { isMembers } from "./internal/arbitrary/members.ts"

/**
 * What the tool is called with, as `tools/call` has it.
 *
 * @category models
 */
export interface Arguments {
  readonly [name: string]: unknown
}

/**
 * How a tool is put to the test.
 *
 * @category models
 */
export interface Options {
  /** Says which arguments fit the input schema, and which results the output schema: `AjvValidator`, or another. */
  readonly validator: JsonSchemaValidator.JsonSchemaValidatorShape
  /** How many times the tool is called. Default 100, or what `Arbitrary.configureGlobal` says. */
  readonly runs?: number
  /** How large the arguments become. Default: that of `Arbitrary`. */
  readonly size?: number
  /** Where the generator begins. Default: somewhere else in each run. */
  readonly seed?: string | number
  /** The `replay` of a failure, to see it again and nothing else. */
  readonly replay?: Arbitrary.Replay
  /** How long each call may take, by the `Clock`. Default: that of the session. */
  readonly timeout?: Duration.Input
}

/**
 * A tool that kept what is asked of it.
 *
 * @category models
 */
export interface Kept {
  readonly tool: string
  /** How many calls were made. */
  readonly runs: number
  /** How many of them the tool answered with `isError`. If it is all of them, little has been shown. */
  readonly toolErrors: number
}

/**
 * What was wrong with one call.
 *
 * - `NoResult`: it brought an error and no result, or none in time.
 * - `NoStructuredContent`: the tool has an output schema, and there was nothing structured in the result.
 * - `Misfit`: what was structured in it does not fit the output schema; `problem` says what, and where.
 *
 * @category models
 */
export type Fault =
  | { readonly _tag: "NoResult"; readonly error: RequestError.RequestError }
  | { readonly _tag: "NoStructuredContent" }
  | { readonly _tag: "Misfit"; readonly structuredContent: unknown; readonly problem: string }

/**
 * The kinds of {@link ToolPropertyError}.
 *
 * - `Falsified`: a call went wrong. `arguments` is the simplest that does, `initially` the one that was found first; `replay` shows it again.
 * - `UnsupportedKeyword`: no arguments can be generated from the input schema.
 * - `UnsupportedSchema`: the validator cannot check against this schema of the tool.
 * - `Exhausted`: too little of what was generated fits the input schema, as with a `multipleOf` in a narrow range.
 * - `ReplayMismatch`: the call that is to be replayed does not go wrong any more, or is not the one it was.
 *
 * @category models
 */
export type ToolPropertyErrorReason =
  | {
    readonly _tag: "Falsified"
    readonly arguments: Arguments
    readonly initially: Arguments
    readonly fault: Fault
    readonly runs: number
    readonly shrinks: number
    readonly replay: Arbitrary.Replay
  }
  | { readonly _tag: "UnsupportedKeyword"; readonly error: JsonSchemaArbitrary.UnsupportedKeyword }
  | {
    readonly _tag: "UnsupportedSchema"
    readonly schema: "inputSchema" | "outputSchema"
    readonly error: UnsupportedSchema.UnsupportedSchema
  }
  | { readonly _tag: "Exhausted"; readonly runs: number; readonly discards: number; readonly seed: string | number }
  | { readonly _tag: "ReplayMismatch"; readonly mismatch: Arbitrary.ReplayMismatch["reason"] }

const describeFault = (fault: Fault): string => {
  switch (fault._tag) {
    case "NoResult":
      return fault.error.message
    case "NoStructuredContent":
      return "its result has no structured content, though the tool has an output schema"
    case "Misfit":
      return `its structured content ${JSON.stringify(fault.structuredContent)} does not fit: ${fault.problem}`
  }
}

const describe = (reason: ToolPropertyErrorReason): string => {
  switch (reason._tag) {
    case "Falsified":
      return `called with ${JSON.stringify(reason.arguments)}: ${describeFault(reason.fault)}\n` +
        `found in run ${reason.runs}, shrunk ${reason.shrinks} times; to see it again: replay ${
          JSON.stringify(reason.replay)
        }`
    case "UnsupportedKeyword":
      return `inputSchema: ${reason.error.message}`
    case "UnsupportedSchema":
      return `${reason.schema}: ${reason.error.message}`
    case "Exhausted":
      return `only ${reason.runs} of ${reason.runs + reason.discards} values fitted the input schema ` +
        `(seed ${JSON.stringify(reason.seed)})`
    case "ReplayMismatch":
      return `the replay is of something else: ${reason.mismatch}`
  }
}

/**
 * A tool does not keep what is asked of it, or it could not be found out.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 * import * as AjvValidator from "@effect-mcp/session/AjvValidator"
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
 * // => "the tool \"broken\" called with {}: tools/call: the peer answered with error -32602: not today"
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

/** Can nothing be learnt of a tool from its session any more? */
const isLost = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "Closed" ||
  (reason._tag === "SendFailed" &&
    (reason.error.reason._tag === "PeerEnded" || reason.error.reason._tag === "WriteFailed"))

/**
 * Calls a tool over and over, with arguments generated from its input schema as `JsonSchemaArbitrary` does, and fails with the
 * simplest ones that bring anything but a result that fits. A result that says `isError` is the tool's own word and is counted,
 * not blamed. A call that ends the session is not made simpler, since no other can be made.
 *
 * The calls are real: a tool that changes something changes it as often. What it asks is answered by the handlers of the client.
 *
 * @example
 * ```ts
 * import type { Tool } from "@effect-mcp/protocol"
 * import * as AjvValidator from "@effect-mcp/session/AjvValidator"
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
): Effect.fn.Return<Kept, ToolPropertyError> {
  const { replay, runs, seed, size, timeout, validator } = options
  const fail = (reason: ToolPropertyErrorReason) => new ToolPropertyError({ tool: tool.name, reason })
  const compile = (schema: "inputSchema" | "outputSchema", of: JsonSchemaValidator.JsonSchema) =>
    Effect.mapError(
      Effect.fromResult(validator.compile(of)),
      (error) => fail({ _tag: "UnsupportedSchema", schema, error })
    )
  const input = yield* compile("inputSchema", tool.inputSchema)
  const output = tool.outputSchema === undefined ? undefined : yield* compile("outputSchema", tool.outputSchema)
  const values = yield* Effect.mapError(
    Effect.fromResult(JsonSchemaArbitrary.make(tool.inputSchema)),
    (error) => fail({ _tag: "UnsupportedKeyword", error })
  )
  const fitting = Arbitrary.filter(
    values,
    (value): value is Arguments => isMembers(value) && input(value) === undefined
  )

  let toolErrors = 0
  let lost = false
  const property = (given: Arguments): Effect.Effect<boolean, Fault> => {
    // Where the session has ended, nothing more can be said of any other arguments.
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
          : Effect.fail({ _tag: "Misfit", structuredContent, problem })
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
        initially: initialInput,
        fault: failure.error,
        runs,
        shrinks,
        replay
      })
    }
  }
})

/**
 * Checks every tool that the server lists, one after the other, and fails with the first that does not keep what is asked of it, or
 * with a `RequestError` if they cannot be listed.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import * as AjvValidator from "@effect-mcp/session/AjvValidator"
 * import { TestSession, ToolProperties } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * const inputSchema = { type: "object", properties: { name: { type: "string" } }, additionalProperties: false } as const
 *
 * export const kept = Effect.gen(function*() {
 *   const { client } = yield* TestSession.make({
 *     "tools/list": () => Effect.succeed({ tools: [{ name: "greet", inputSchema }] }),
 *     "tools/call": ({ arguments: input }) => Effect.succeed({ content: [Content.text(`hello ${input?.["name"] ?? "you"}`)] })
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
): Effect.Effect<ReadonlyArray<Kept>, ToolPropertyError | RequestError.RequestError> =>
  Effect.flatMap(
    Stream.runCollect(session.tools),
    (tools) => Effect.forEach(tools, (tool) => check(session, tool, options))
  )
