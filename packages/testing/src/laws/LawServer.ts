/**
 * The server of the laws: a few tools, each of which shows one aspect of a session.
 *
 * @stability unstable
 */
import { Content, McpError, type MethodTable, type Resource, type Subscription, type Tool } from "@effect-mcp/protocol"
import { Listener, RequestContext, type ServerSession } from "@effect-mcp/session"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"

/**
 * The name and the capabilities of the server.
 *
 * @category constants
 */
export const options: ServerSession.Options = {
  info: { name: "law-server", version: "1.0.0" },
  capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
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
  /** The number of streams of `subscriptions/listen` that are open. */
  readonly listening: number
}

type Input = { readonly [name: string]: unknown }

/**
 * The handlers of the server.
 *
 * @category models
 */
export interface LawHandlers {
  readonly "tools/list": () => Effect.Effect<Tool.ListToolsResult>
  readonly "tools/call": (
    params: MethodTable.ParamsOf<"tools/call">
  ) => Effect.Effect<Tool.CallToolResult, McpError.McpError, RequestContext.RequestContext>
  readonly "resources/list": () => Effect.Effect<Resource.ListResourcesResult>
  readonly "resources/subscribe": () => Effect.Effect<object>
  readonly "resources/unsubscribe": () => Effect.Effect<object>
  readonly "subscriptions/listen": () => Effect.Effect<
    { readonly notifications: Subscription.SubscriptionFilter },
    never,
    Listener.Listener | Scope.Scope
  >
}

/** Returns the filter that the server serves: changes of its tools, and of every resource. */
const servedOf = ({ resourceSubscriptions = [] }: Subscription.SubscriptionFilter) => ({
  toolsListChanged: true,
  resourceSubscriptions
})

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
 * - `wait {}` never returns. `report {}` returns how many calls of it were started and how many were interrupted, and
 *   how many streams of `subscriptions/listen` are open.
 * - `gate {value}` returns the value after the next call of `open {}`.
 * - `ask {message, count?, thenWait?}` asks the client's user, as often as `count` says, and returns the answers. With
 *   `thenWait` it then waits like `wait`.
 * - `era {}` returns the revision of its request, the name of its client, and whether it belongs to a session.
 * - `change {uri?}` notifies the clients that listen, and the client of a session, that the tools have changed, or that
 *   this resource has.
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
 * const server = ServerSession.layerMemory(LawServer.make(), LawServer.options)
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
export const make = (): LawHandlers => {
  let waiting = 0
  let interrupted = 0
  let gate = Deferred.makeUnsafe<void>()
  const listeners = new Set<Listener.ListenerShape>()
  const report = (): Report => ({ waiting, interrupted, listening: listeners.size })

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

  const open = Effect.sync(() => {
    Deferred.doneUnsafe(gate, Exit.void)
    gate = Deferred.makeUnsafe()
    return resultOf({ opened: true })
  })

  const ask = Effect.fnUntraced(function*(input: Input) {
    const answers: Array<unknown> = []
    for (let number = 1; number <= Math.max(toWholeNumber(input["count"]), 1); number++) {
      // A handler that dies for a missing capability is answered with the error for it.
      const { content } = yield* Effect.orDie(RequestContext.elicit({
        message: `${String(input["message"])} ${number}`,
        requestedSchema: { type: "object", properties: { value: { type: "string" } } }
      }))
      answers.push(content?.["value"])
    }
    return input["thenWait"] === true ? yield* wait : resultOf({ answers })
  })

  const era = Effect.map(
    RequestContext.RequestContext,
    ({ profile, session }) =>
      resultOf({ revision: profile.revision, client: profile.info?.name, inSession: session !== undefined })
  )

  const change = Effect.fnUntraced(function*({ uri }: Input) {
    for (const listener of listeners) {
      yield* typeof uri === "string" ? listener.resourceUpdated(uri) : listener.toolListChanged
    }
    const context = yield* RequestContext.RequestContext
    if (context.session !== undefined) {
      yield* Effect.orDie(
        typeof uri === "string"
          ? context.notify("notifications/resources/updated", { uri })
          : context.notify("notifications/tools/list_changed", {})
      )
    }
    return resultOf({ changed: true })
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
      case "gate":
        return Effect.as(Effect.suspend(() => Deferred.await(gate)), resultOf({ value: input["value"] }))
      case "open":
        return open
      case "ask":
        return ask(input)
      case "era":
        return era
      case "change":
        return change(input)
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
    "tools/call": ({ arguments: input, name }) => call(name, input ?? {}),
    // The server has no resources that could be read, but a client may subscribe to any of them.
    "resources/list": () => Effect.succeed({ resources: [] }),
    "resources/subscribe": () => Effect.succeed({}),
    "resources/unsubscribe": () => Effect.succeed({}),
    "subscriptions/listen": Effect.fnUntraced(function*() {
      const listener = yield* Listener.Listener
      yield* Effect.acquireRelease(
        Effect.sync(() => listeners.add(listener)),
        () => Effect.sync(() => listeners.delete(listener))
      )
      return { notifications: servedOf(listener.requested) }
    })
  }
}
