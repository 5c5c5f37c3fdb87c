/**
 * Middleware that records who used which member, and with which outcome.
 *
 * @stability unstable
 */
import { McpError } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import { ForeignCall } from "@effect-mcp/session/internal"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as OutcomeOf from "./internal/middleware/Outcome.ts"
import type * as McpMiddleware from "./McpMiddleware.ts"

/**
 * A record of one request.
 *
 * @category models
 */
export interface Entry {
  /** The time at which the request began, in milliseconds since 1970. */
  readonly time: number
  readonly durationMillis: number
  /** The id of the principal; `undefined` if the client is anonymous. */
  readonly principal: string | undefined
  /** The name of the client, as it calls itself. */
  readonly client: string | undefined
  readonly group: string
  /** The beginning that `McpMount` gives the name, such as `work_`. Absent without a mount. */
  readonly mount?: string
  readonly method: string
  /** The name of the tool or the prompt, or the URI of the resource. */
  readonly name: string
  /** The arguments, as the option `arguments` returned them. */
  readonly arguments?: unknown
  /**
   * `success`; `failure`, a result with `isError`; `error`, an error response; `defect`; `interrupted`, such as by a
   * cancellation; or `hidden`, a member that the client does not see.
   */
  readonly outcome: OutcomeOf.Outcome
  /** The message of an error response. */
  readonly message?: string
}

/**
 * Options of {@link layer}.
 *
 * @category models
 */
export interface Options<R> {
  /** Stores a record. Default: logs it with the level `Info`. */
  readonly record?: (entry: Entry) => Effect.Effect<void, unknown, R>
  /** Returns what is recorded of the arguments, which may contain secrets. Default: nothing. */
  readonly arguments?: (target: McpMiddleware.Target) => unknown
  /** The time that `record` has. Default 5 seconds. */
  readonly timeout?: Duration.Input
  /**
   * `true` sends a result only after it was recorded: if `record` fails, the client gets −32603, although the handler
   * has run. Default: a failure of `record` is logged.
   */
  readonly required?: boolean
}

/**
 * Logs an entry, with its texts on one line each: the client chooses its name and, behind a proxy, URIs, and a proxied
 * server chooses the messages of errors.
 */
const toLog = ({ client, message, name, ...entry }: Entry): Effect.Effect<void> =>
  Effect.logInfo("audit", {
    ...entry,
    client: client === undefined ? undefined : Excerpt.line(client),
    name: Excerpt.line(name),
    ...(message === undefined ? undefined : { message: Excerpt.line(message) })
  })

/** Returns the record of a request that has ended. */
const entryOf = (
  target: McpMiddleware.Target & { readonly name: string },
  request: RequestContext.RequestContext["Service"],
  times: { readonly began: number; readonly ended: number },
  exit: Exit.Exit<McpMiddleware.HandlerResult, McpError.McpError>,
  recorded: unknown
): Entry => {
  const { group, method, mount, name } = target
  const error = Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : undefined
  return {
    time: times.began,
    durationMillis: times.ended - times.began,
    principal: request.principal?.id,
    client: request.profile.info?.name,
    group,
    ...(mount === "" ? undefined : { mount }),
    method,
    name,
    ...(recorded === undefined ? undefined : { arguments: recorded }),
    outcome: OutcomeOf.of(exit),
    ...(error?._tag === "Some" ? { message: error.value.message } : undefined)
  }
}

/**
 * Implements a middleware that records each use of a member, after it has ended. Lists are not recorded. A `record`
 * that dies or does not end in time has failed.
 *
 * @example
 * ```ts
 * import { McpAuditLog, McpGroup, McpMiddleware } from "@effect-mcp/server"
 * import * as Tool from "effect/ai/Tool"
 * import * as Console from "effect/Console"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * class Audit extends McpMiddleware.Service<Audit>()("Audit") {}
 *
 * const Admin = McpGroup.make("admin", Tool.make("shut_down")).middleware(Audit)
 *
 * export const AdminLive = Admin.toLayer((handlers) => handlers.tool("shut_down", () => Effect.void)).pipe(
 *   Layer.provide(McpAuditLog.layer(Audit, {
 *     record: ({ name, outcome, principal }) => Console.error(`${principal}: ${name}: ${outcome}`),
 *     required: true
 *   }))
 * )
 * ```
 *
 * @category layers
 */
export const layer = <Self extends McpMiddleware.AnyId, R = never>(
  middleware: Context.Key<Self, McpMiddleware.McpMiddleware<never, never>>,
  options: Options<R> = {}
): Layer.Layer<Self, never, R> => {
  const { arguments: recorded = () => undefined, record = toLog, required = false, timeout = "5 seconds" } = options
  const millis = Duration.toMillis(Duration.fromInputUnsafe(timeout))
  return Layer.effect(
    middleware,
    Effect.map(Effect.context<R>(), (context): McpMiddleware.McpMiddleware<never, never> => (handler, target) => {
      const { name } = target
      if (name === undefined) return handler
      return Effect.gen(function*() {
        const request = yield* RequestContext.RequestContext
        const began = yield* Clock.currentTimeMillis
        const recording = (exit: Exit.Exit<McpMiddleware.HandlerResult, McpError.McpError>) =>
          Effect.flatMap(
            Clock.currentTimeMillis,
            (ended) =>
              ForeignCall.within("McpAuditLog.record", millis, () =>
                Effect.provideContext(
                  record(entryOf({ ...target, name }, request, { began, ended }, exit, recorded(target))),
                  context
                ))
          )
        return yield* Effect.onExit(handler, (exit) =>
          Effect.catchCause(recording(exit), (cause) =>
            Effect.andThen(
              Effect.logError(`the use of ${Excerpt.name(name)} was not recorded`, cause),
              required ? Effect.fail(McpError.internalError) : Effect.void
            )))
      })
    })
  )
}
