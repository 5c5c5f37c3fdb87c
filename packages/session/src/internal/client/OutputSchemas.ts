/** The output schemas of listed tools, and the checks of results against them. */

import { JsonRpc, MethodTable, Revision, type Tool } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Check, JsonSchemaValidatorShape as Validator } from "../../JsonSchemaValidator.ts"
import * as RequestError from "../../RequestError.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import * as LeastRecentlyUsed from "../collections/LeastRecentlyUsed.ts"
import type { RequestLayer } from "../engine/Layers.ts"
import * as Tolerance from "../engine/Tolerance.ts"
import { validate } from "../engine/validation.ts"
import * as Weight from "../engine/Weight.ts"
import { trust } from "../trust.ts"

/** The revision that brought output schemas and structured content. */
const since: Revision.Revision = "2025-06-18"

/** The bytes of memory that all stored schemas may take together. */
const maxBytes = 32 * 1024 * 1024

/** The output schemas of the tools that the program has listed, and the checks of the results of these (TOOL-08). */
export interface OutputSchemas {
  /** Observes a message of the server. The notification that its tools have changed removes all schemas. */
  readonly observe: (message: JsonRpc.Request | JsonRpc.Notification) => void
  /** Wraps the sending of requests: stores the schemas of listed tools, and checks the results of called ones. */
  readonly layer: RequestLayer
  /** Checks the result of a tool that arrives in another way than by its call. */
  readonly checked: <A, R>(
    tool: string,
    receive: Effect.Effect<A, RequestError.RequestError, R>
  ) => Effect.Effect<A, RequestError.RequestError, R>
}

/** The stored schema of a tool. A later listing with an equal schema does not replace it. */
interface Stored {
  readonly schema: Tool.OutputSchema
  /** Whether it is reported that results are checked against a part of the schema only. */
  isReported: boolean
}

const { "tools/call": call, "tools/list": list } = MethodTable.requests

/** Returns a schema as JSON text; `undefined` if it is nested too deeply or contains itself. */
const textOf = (schema: Tool.OutputSchema): string | undefined => {
  try {
    return JSON.stringify(schema)
  } catch {
    return undefined
  }
}

/**
 * Returns why a result does not match the output schema of its tool. A tool that fails needs no structured content.
 */
const problemOf = (tool: string, check: Check, result: Tool.CallToolResult): string | undefined => {
  if (result.isError === true) return undefined
  const named = `the tool ${JSON.stringify(tool)}`
  if (result.structuredContent === undefined) return `${named} has an output schema and returned no structured content`
  const problem = check(result.structuredContent)
  return problem === undefined
    ? undefined
    : `the structured content of ${named} does not fit its output schema: ${problem}`
}

/** The session of the schemas. */
export interface OutputSchemasDependencies {
  readonly capacity: number
  readonly emit: (event: SessionEvent) => void
  /** Returns a listed page in the form that the program receives. */
  readonly read: (result: unknown) => unknown
  /** Called once, before the first request for tools. From then on, changes of tools matter. */
  readonly onList: () => void
}

/** Returns the schemas of a session; `undefined` if it has no validator, or its revision has no output schemas. */
export const make = (
  revision: Revision.Revision,
  validator: Validator | undefined,
  dependencies: OutputSchemasDependencies
): OutputSchemas | undefined =>
  validator !== undefined && Revision.isAtLeast(revision, since) ? makeWith(validator, dependencies) : undefined

const makeWith = (validator: Validator, options: OutputSchemasDependencies): OutputSchemas => {
  const { emit, onList } = options
  const stored = LeastRecentlyUsed.make<Stored>({ size: options.capacity, weight: maxBytes })

  const store = ({ name, outputSchema }: Tool.Tool): void => {
    if (outputSchema === undefined) return stored.delete(name)
    const text = textOf(outputSchema)
    const before = stored.get(name)
    if (before !== undefined && text !== undefined && text === textOf(before.schema)) return
    const bytes = text === undefined ? Number.POSITIVE_INFINITY : Weight.of(outputSchema)
    const dropped = stored.set(name, { schema: outputSchema, isReported: false }, bytes)
    for (const tool of dropped) emit({ _tag: "OutputSchemaDropped", tool })
  }

  let hasListed = false
  // Stores the schemas in the step in which the response is read, so that a notification that follows removes them.
  const storeListed = (response: JsonRpc.Response): void => {
    const given = JsonRpc.isFailure(response) ? undefined : options.read(response.result)
    const page = given === undefined
      ? undefined
      : validate(list.result)(Tolerance.tolerate(list, given)?.result ?? given)
    if (page !== undefined && Result.isSuccess(page)) page.success.tools.forEach(store)
  }

  const checked: OutputSchemas["checked"] = (tool, receive) =>
    Effect.suspend(() => {
      const listed = stored.get(tool)
      if (listed === undefined) return receive
      const compiled = validator.compile(listed.schema)
      let check: Check
      if (Result.isSuccess(compiled)) {
        check = compiled.success
      } else {
        const { failure: error } = compiled
        if (error.rest === undefined) {
          return Effect.fail(RequestError.make(call.name, { _tag: "UnusableSchema", tool, error }))
        }
        check = error.rest
        if (!listed.isReported) emit({ _tag: "OutputSchemaPartlyChecked", tool, error })
        listed.isReported = true
      }
      return Effect.tap(receive, (result) => {
        // A schema that was replaced or removed meanwhile may not be that of this result.
        if (stored.get(tool) !== listed) return Effect.void
        // Only calls of tools are checked here.
        const problem = problemOf(tool, check, trust<Tool.CallToolResult>(result))
        return problem === undefined
          ? Effect.void
          : Effect.fail(RequestError.make(call.name, { _tag: "InvalidResult", problem }))
      })
    })

  return {
    checked,
    observe: (message) => {
      if (message.method === "notifications/tools/list_changed") stored.clear()
    },
    layer: (send) => (row, params, options) => {
      // Compares rows and not names: a row of the program may have the same name and another result.
      if (Object.is(row, list)) {
        return Effect.suspend(() => {
          if (!hasListed) onList()
          hasListed = true
          return send(row, params, {
            ...options,
            onResponse: (response) => {
              options?.onResponse?.(response)
              storeListed(response)
            }
          })
        })
      }
      if (!Object.is(row, call)) return send(row, params, options)
      // The row is that of `tools/call`, so the params, and the result, have its types.
      return Effect.suspend(() => checked(trust<Tool.CallToolParams>(params).name, send(row, params, options)))
    }
  }
}
