/**
 * A bridge from groups of `effect/rpc`: their procedures as tools, in the same process. An entry point of its own,
 * because `effect/rpc` is unstable.
 *
 * @stability unstable
 */
import type { McpError } from "@effect-mcp/protocol"
import { ForeignCall } from "@effect-mcp/session/internal"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Tool from "effect/ai/Tool"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import * as Layer from "effect/Layer"
import * as Rpc from "effect/rpc/Rpc"
import type * as RpcGroup from "effect/rpc/RpcGroup"
import { RequestId } from "effect/rpc/RpcMessage"
import * as RpcSchema from "effect/rpc/RpcSchema"
import * as Schema from "effect/Schema"
import * as GroupRegistration from "./internal/entries/GroupRegistration.ts"
import * as LayerServices from "./internal/LayerServices.ts"
import { RegistrationError } from "./internal/registry/RegistrationError.ts"
import { trust } from "./internal/trust.ts"
import type * as McpGroup from "./McpGroup.ts"
import type * as McpMiddleware from "./McpMiddleware.ts"
import { McpServer } from "./McpServer.ts"

/** The procedures that do not stream. */
type Unary<R extends Rpc.Any> = R extends Rpc.Any ? true extends Rpc.IsStream<R, R["_tag"]> ? never : R : never

/**
 * Options of {@link layer}.
 *
 * @category models
 */
export interface Options<R extends Rpc.Any, Tag extends Unary<R>["_tag"], RH> {
  /** The procedures to serve. Not all that a backend offers its own programs is for models, so there is no default. */
  readonly only: ReadonlyArray<Tag>
  /** The descriptions of the tools. */
  readonly describe?: { readonly [T in Tag]?: string }
  /** Returns the name of the tool. Default: that of the procedure, with `_` for characters that tools do not have. */
  readonly rename?: (tag: Tag) => string
  /**
   * Makes the headers of each call, for example from the principal, for middleware of the procedures that identifies
   * the caller by them. Default: none. The headers of the MCP client are never passed on. An effect that takes more
   * than 30 seconds, or dies, fails the call with −32603.
   */
  readonly headers?: Effect.Effect<Headers.Input, McpError.McpError, RH>
  /** The id of the group in errors. Default: `rpc`. */
  readonly id?: string
}

/** Returns the tool that describes a procedure. */
const toolOf = (group: string, rpc: Rpc.AnyWithProps, name: string, description: string | undefined): Tool.Any => {
  if (RpcSchema.isStreamSchema(rpc.successSchema)) {
    const problem = `the procedure "${rpc._tag}" returns a stream, which is no result of a tool; leave it out of "only"`
    throw new RegistrationError({ group, problem })
  }
  const hasPayload = rpc.payloadSchema.ast._tag !== "Void"
  // `Tool.Any` hides the schemas, whose types the erased procedure does not have.
  return trust(
    Tool.make(name, {
      ...(description === undefined ? undefined : { description }),
      ...(hasPayload ? { parameters: rpc.payloadSchema } : undefined),
      success: rpc.successSchema,
      failure: Schema.Union([rpc.errorSchema, ...[...rpc.middlewares].map(({ error }) => error)])
    }).annotateMerge(rpc.annotations)
  )
}

/** The handler of a procedure, with the services of its Layer. */
interface RpcHandler {
  readonly context: Context.Context<never>
  readonly handler: (payload: unknown, options: unknown) => unknown
}

/**
 * Returns the result of what a handler of a procedure has returned. As in `RpcServer`, a handler may say that it cannot
 * be interrupted, and may succeed with a `Deferred` of its result.
 */
const effectOf = (returned: unknown): Effect.Effect<unknown, unknown, unknown> => {
  const wrapper = typeof returned === "object" && returned !== null && Rpc.isWrapper(returned) ? returned : undefined
  const effect = trust<Effect.Effect<unknown, unknown, unknown>>(wrapper === undefined ? returned : wrapper.value)
  return wrapper?.uninterruptible === true ? Effect.uninterruptible(effect) : effect
}

/** Returns the function that finds the client of a request: one for each session, because a client has annotations. */
const clients = (): (session: object | undefined) => Rpc.ServerClient => {
  const bySession = new WeakMap<object, Rpc.ServerClient>()
  let lastId = 0
  return (session) => {
    const known = session === undefined ? undefined : bySession.get(session)
    if (known !== undefined) return known
    const client = new Rpc.ServerClient(++lastId)
    if (session !== undefined) bySession.set(session, client)
    return client
  }
}

/** The time that the option `headers` has, in milliseconds. */
const headersMillis = 30_000

/** Returns the handler of a tool: that of the procedure, inside of the middleware of the procedure. */
const handlerOf = (
  group: string,
  rpc: Rpc.AnyWithProps,
  context: Context.Context<never>,
  headers: Effect.Effect<Headers.Input, McpError.McpError, unknown>,
  clientOf: (session: object | undefined) => Rpc.ServerClient
) => {
  const provided = context.mapUnsafe.get(rpc.key)
  if (provided === undefined) {
    const problem = `the procedure "${rpc._tag}" has no handler; provide the Layer of its RpcGroup`
    throw new RegistrationError({ group, problem })
  }
  // The type of the Layer states that its context has the handlers of `RpcGroup.toLayer`.
  const { context: own, handler } = trust<RpcHandler>(provided)
  const services = LayerServices.insideGroup(own)
  return (payload: unknown): Effect.Effect<unknown, unknown, unknown> =>
    Effect.gen(function*() {
      const { id, session } = yield* RequestContext.RequestContext
      const made = yield* ForeignCall.within(
        "headers",
        headersMillis,
        // The services of the effect are in the context in which it runs.
        () => trust<Effect.Effect<Headers.Input, McpError.McpError>>(headers)
      ).pipe(Effect.catchTag("TimedOut", Effect.die))
      const options = {
        client: clientOf(session),
        requestId: RequestId(String(id)),
        headers: Headers.fromInput(made),
        rpc,
        payload
      }
      let effect: Effect.Effect<unknown, unknown, unknown> = Effect.updateContext(
        Effect.suspend(() => effectOf(handler(payload, options))),
        // The type of the Layer states that these are the services of the handler.
        (request: Context.Context<never>) => trust(services(request))
      )
      for (const key of rpc.middlewares) {
        // The type of the Layer states that its context has the middleware.
        const middleware = trust<(effect: unknown, options: unknown) => unknown>(context.mapUnsafe.get(key.key))
        effect = trust(middleware(effect, options))
      }
      const result = yield* effect
      return Deferred.isDeferred(result) ? yield* Deferred.await(result) : result
    })
}

const toolName = (tag: string): string => tag.replaceAll(/[^A-Za-z0-9_.-]/g, "_")

/**
 * Serves procedures of an `RpcGroup` as tools. The Layer needs their handlers (`group.toLayer`), the middleware of
 * these procedures, and the services of their schemas. The payload is the arguments of the tool, so it has to be a
 * struct or a class. Errors are declared failures: results with `isError`. A procedure that streams does not compile.
 *
 * Annotations of a procedure, such as `Tool.Title` and `Tool.Readonly`, are those of its tool.
 *
 * The middleware of the procedures runs for each call, with the headers that the option `headers` makes. Each
 * session is a client of its own; without sessions, each call is.
 *
 * @example
 * ```ts
 * import * as McpRpcGroup from "@effect-mcp/server/McpRpcGroup"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import * as Rpc from "effect/rpc/Rpc"
 * import * as RpcGroup from "effect/rpc/RpcGroup"
 * import * as Schema from "effect/Schema"
 *
 * const Tasks = RpcGroup.make(
 *   Rpc.make("complete", { payload: { id: Schema.Int }, success: Schema.Struct({ done: Schema.Boolean }) })
 * )
 *
 * const handlers = Tasks.toLayer({ complete: () => Effect.succeed({ done: true }) })
 *
 * export const TasksLive = McpRpcGroup.layer(Tasks, {
 *   only: ["complete"],
 *   describe: { complete: "Marks a task as done" }
 * }).pipe(Layer.provide(handlers))
 * ```
 *
 * @category layers
 */
export const layer = <R extends Rpc.Any, const Tag extends Unary<R>["_tag"], RH = never>(
  group: RpcGroup.RpcGroup<R>,
  options: Options<R, Tag, RH>
): Layer.Layer<
  never,
  never,
  | McpServer
  | Rpc.ToHandler<Extract<R, { readonly _tag: Tag }>>
  | Rpc.Middleware<Extract<R, { readonly _tag: Tag }>>
  | McpGroup.Remaining<Rpc.ServicesServer<Extract<R, { readonly _tag: Tag }>> | RH, readonly []>
> => {
  const { describe, headers = Effect.succeed({}), id = "rpc", only, rename = toolName } = options
  // The type above states the services that the erased effect needs.
  return trust(Layer.effectDiscard(Effect.gen(function*() {
    const server = yield* McpServer
    const context = yield* Effect.context<never>()
    const clientOf = clients()
    const served = only.map((tag) => {
      // Each procedure of a group has these properties. The type parameter does not say so.
      const rpc = trust<Rpc.AnyWithProps | undefined>(group.requests.get(tag))
      if (rpc === undefined) throw new RegistrationError({ group: id, problem: `there is no procedure "${tag}"` })
      const tool = toolOf(id, rpc, rename(tag), describe?.[tag])
      return { tool, handler: handlerOf(id, rpc, context, headers, clientOf) }
    })
    yield* server.register(GroupRegistration.make({
      id,
      mount: server.mount,
      context,
      middlewares: [] satisfies ReadonlyArray<McpMiddleware.AnyService>,
      members: served.map(({ tool }) => tool),
      handlers: served.map(({ handler, tool }) => ({ kind: "tool" as const, name: tool.name, handler }))
    }))
  })))
}
