/**
 * The server of the laws: a few tools, each of which shows one aspect of a session.
 */
import { Content, McpError, type Tool } from "@effect-mcp/protocol"
import { type Handlers, RequestContext, type ServerSession } from "@effect-mcp/session"
import * as Effect from "effect/Effect"

/**
 * The name and the capabilities of the server.
 *
 * @category constants
 */
export const options: ServerSession.Options = {
  info: { name: "law-server", version: "1.0.0" },
  instructions: "Every tool shows one side of a session."
}

/**
 * The record of the server, which its tool `report` returns.
 *
 * @category models
 */
export interface Report {
  /** The number of calls of `wait` that were started. */
  readonly waiting: number
  /** The number of them that were interrupted. */
  readonly interrupted: number
}

type Input = { readonly [name: string]: unknown }

const toWholeNumber = (value: unknown): number => typeof value === "number" && Number.isInteger(value) ? value : 0

const resultOf = (structuredContent: Input): Tool.CallToolResult => ({
  content: [Content.text(JSON.stringify(structuredContent))],
  structuredContent
})

/**
 * Creates the handlers, with a record of their own:
 *
 * - `echo {value}` returns the value; `unit {}` returns an empty result.
 * - `steps {count, gapMillis?}` reports that many steps of progress, then returns.
 * - `wait {}` never returns; `report {}` returns how many calls of it were started and how many were interrupted.
 * - `fail {code, message}` fails with that error; `die {}` dies with a secret; `throwNull {}` throws `null`.
 * - `pingClient {}` pings the client and returns after the client's response; `log {data}` logs.
 * - `lateProgress {}` returns, and continues to report progress afterwards.
 *
 * @example
 * ```ts
 * import { ClientSession, ServerSession } from "@effect-mcp/session"
 * import { LawServer } from "@effect-mcp/testing/laws"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const server = ServerSession.layerInProcess(LawServer.make(), LawServer.options)
 * const session = ClientSession.layer({ info: { name: "example", version: "1.0.0" } })
 *
 * export const echoed = Effect.gen(function*() {
 *   const session = yield* ClientSession.ClientSession
 *   return (yield* session.callTool("echo", { value: 42 })).structuredContent
 * }).pipe(Effect.provide(Layer.provide(session, server))) // => { value: 42 }
 * ```
 *
 * @category constructors
 */
export const make = (): Handlers.Handlers<"client", RequestContext.RequestContext> => {
  let waiting = 0
  let interrupted = 0
  const report = (): Report => ({ waiting, interrupted })

  const steps = Effect.fnUntraced(function*(input: Input) {
    const total = toWholeNumber(input["count"])
    for (let progress = 1; progress <= total; progress++) {
      yield* RequestContext.progress({ progress, total, message: `step ${progress}` })
      if (input["gapMillis"] !== undefined) yield* Effect.sleep(toWholeNumber(input["gapMillis"]))
    }
    return resultOf({ steps: total })
  })

  const wait = Effect.suspend(() => {
    waiting++
    return Effect.onInterrupt(Effect.never, () =>
      Effect.sync(() => {
        interrupted++
      }))
  })

  const pingClient = Effect.gen(function*() {
    const context = yield* RequestContext.RequestContext
    yield* Effect.mapError(context.request("ping", {}), (error) => McpError.invalidRequest(error.message))
    return resultOf({ answered: true })
  })

  const lateProgress = Effect.gen(function*() {
    const context = yield* RequestContext.RequestContext
    yield* Effect.forkDetach(Effect.andThen(Effect.sleep(5), context.progress({ progress: 1 })))
    return resultOf({ reportsLater: true })
  })

  const call = (name: string, input: Input): Effect.Effect<
    Tool.CallToolResult,
    McpError.McpError,
    RequestContext.RequestContext
  > => {
    switch (name) {
      case "echo":
        return Effect.succeed(resultOf({ value: input["value"] }))
      case "unit":
        return Effect.succeed({ content: [] })
      case "steps":
        return steps(input)
      case "wait":
        return wait
      case "report":
        return Effect.sync(() => resultOf({ ...report() }))
      case "fail":
        return Effect.fail(
          new McpError.McpError({ code: toWholeNumber(input["code"]), message: String(input["message"]) })
        )
      case "die":
        return Effect.die(new Error("a secret that no peer may see"))
      case "throwNull":
        throw null
      case "pingClient":
        return pingClient
      case "log":
        return Effect.as(RequestContext.log({ level: "info", data: input["data"] }), resultOf({ logged: true }))
      case "lateProgress":
        return lateProgress
      default:
        return Effect.fail(McpError.invalidParams(`Unknown tool: ${name}`))
    }
  }

  return {
    "tools/list": () => Effect.succeed({ tools: [{ name: "echo", inputSchema: { type: "object" } }] }),
    "tools/call": ({ arguments: input, name }) => call(name, input ?? {})
  }
}
