import { JsonRpc, MethodTable, Revision, type Tool } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Check, JsonSchemaValidatorShape as Validator } from "../../JsonSchemaValidator.ts"
import * as RequestError from "../../RequestError.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import * as LeastRecentlyUsed from "../collections/LeastRecentlyUsed.ts"
import type { Request } from "../engine/Sender.ts"
import { validate } from "../engine/validation.ts"
import * as Weight from "../engine/Weight.ts"
import { trust } from "../trust.ts"

/** The revision that brought output schemas and structured content. */
const since: Revision.Revision = "2025-06-18"

/** How many bytes of memory all remembered schemas may take together. */
const maximumBytes = 32 * 1024 * 1024

/**
 * The output schemas of the tools that were listed, and the checks of what these tools return (TOOL-08).
 */
export interface OutputSchemas {
  /** Takes what the server says: that its tools have changed forgets them all. */
  readonly hear: (message: JsonRpc.Request | JsonRpc.Notification) => void
  /** A way out that remembers what is listed on it, and checks the results of what is called. */
  readonly checking: (request: Request) => Request
}

/** What was listed for a tool. A later listing that says the same leaves it as it is. */
interface Known {
  readonly schema: Tool.ObjectSchema
}

const { "tools/call": call, "tools/list": list } = MethodTable.requests

/** A schema as JSON text; `undefined` if it has none, since it is nested too deeply or contains itself. */
const textOf = (schema: Tool.ObjectSchema): string | undefined => {
  try {
    return JSON.stringify(schema)
  } catch {
    return undefined
  }
}

/** What speaks against a result. A tool with a schema owes content that fits, unless it failed. */
const problemOf = (tool: string, check: Check, result: Tool.CallToolResult): string | undefined => {
  if (result.isError === true) return undefined
  const named = `the tool ${JSON.stringify(tool)}`
  if (result.structuredContent === undefined) return `${named} has an output schema and returned no structured content`
  const problem = check(result.structuredContent)
  return problem === undefined
    ? undefined
    : `the structured content of ${named} does not fit its output schema: ${problem}`
}

export const make = (options: {
  readonly validator: Validator
  readonly capacity: number
  readonly emit: (event: SessionEvent) => void
  /** The revision that was agreed on, once one is. */
  readonly revision: () => Revision.Revision | undefined
}): OutputSchemas => {
  const { emit, revision, validator } = options

  const applies = (): boolean => {
    const agreed = revision()
    return agreed !== undefined && Revision.isAtLeast(agreed, since)
  }
  const known = LeastRecentlyUsed.make<Known>({ size: options.capacity, weight: maximumBytes })

  const remember = ({ name, outputSchema }: Tool.Tool): void => {
    if (outputSchema === undefined) return known.delete(name)
    const text = textOf(outputSchema)
    const before = known.get(name)
    if (before !== undefined && text !== undefined && text === textOf(before.schema)) return
    const bytes = text === undefined ? Number.POSITIVE_INFINITY : Weight.of(outputSchema)
    const dropped = known.set(name, { schema: outputSchema }, bytes)
    for (const tool of dropped) emit({ _tag: "OutputSchemaDropped", tool })
  }

  /** Remembers as it is read, in the order in which the server speaks: what changes behind a listing is not in it. */
  const listed = (response: JsonRpc.Response): void => {
    const page = JsonRpc.isFailure(response) ? undefined : validate(list.result)(response.result)
    if (page !== undefined && Result.isSuccess(page)) page.success.tools.forEach(remember)
  }

  return {
    hear: (message) => {
      if (message.method === "notifications/tools/list_changed") known.clear()
    },
    checking: (send) => (row, params, options) => {
      // By the row itself: a row of the user's own may have the same name, and another result.
      if (Object.is(row, list)) {
        return Effect.suspend(() => send(row, params, applies() ? { ...options, onAnswer: listed } : options))
      }
      if (!Object.is(row, call)) return send(row, params, options)
      return Effect.suspend(() => {
        // The row is that of `tools/call`: these are its params, and its result below.
        const { name: tool } = trust<Tool.CallToolParams>(params)
        const schema = known.get(tool)
        if (schema === undefined) return send(row, params, options)
        const check = validator.compile(schema.schema)
        if (Result.isFailure(check)) {
          return Effect.fail(RequestError.make(row.name, { _tag: "UnusableSchema", tool, error: check.failure }))
        }
        return Effect.tap(send(row, params, options), (result) => {
          // What was replaced or forgotten in the meantime says nothing about this result.
          if (known.get(tool) !== schema) return Effect.void
          const problem = problemOf(tool, check.success, trust<Tool.CallToolResult>(result))
          return problem === undefined
            ? Effect.void
            : Effect.fail(RequestError.make(row.name, { _tag: "InvalidResult", problem }))
        })
      })
    }
  }
}
