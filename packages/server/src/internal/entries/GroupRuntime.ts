/** Runs the handlers of a group: with the services of its Layer and of the request, inside of its middleware. */

import type { McpError } from "@effect-mcp/protocol"
import { ForeignCall } from "@effect-mcp/session/internal"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as McpMiddleware from "../../McpMiddleware.ts"
import * as LayerServices from "../LayerServices.ts"
import { hidden, type Served, type ServerContext } from "../registry/Entry.ts"
import { trust } from "../trust.ts"
import { KeptResult } from "./KeptResult.ts"

/** A handler of any type, whose services the Layer of its group, the middleware and the request provide. */
export type Handler<A, E = McpError.McpError> = Effect.Effect<A, E, unknown>

/** The time that an effect has to decide whether a member is visible. */
const visibleMillis = 5_000

/**
 * The time that a group has for its part of a list, its middleware included. It is longer than that of one decision, so
 * that a decision that hangs hides its own member only.
 */
const listMillis = 10_000

/** The parts of a target that a member knows. */
type MemberTarget = Omit<McpMiddleware.Target, "group" | "mount" | "isConditional">

type Middleware = McpMiddleware.McpMiddleware<unknown, unknown>

/** The services and the middleware that all handlers of a group share. */
export class GroupRuntime {
  readonly id: string
  /** The beginning that `McpMount` gives the names. */
  readonly #mount: string
  readonly #middlewares: ReadonlyArray<Middleware>
  /** The handlers with `visible`. A set, because middleware gets effects of which it sees no part. */
  readonly #conditional = new WeakSet<Handler<unknown>>()
  /** The services of the Layer of the group. */
  readonly layer: Context.Context<never>
  /** The services of a request of the server that was served last; a group mostly has one server. */
  #last:
    | { readonly server: ServerContext; readonly services: ReturnType<typeof LayerServices.ofGroup> }
    | undefined

  constructor(id: string, mount: string, middlewares: ReadonlyArray<Middleware>, layer: Context.Context<never>) {
    this.id = id
    this.#mount = mount
    this.#middlewares = middlewares
    this.layer = layer
  }

  /** Runs a handler for a request. The last middleware of the group is the outermost. */
  run<A>(handler: Handler<A>, target: MemberTarget, server: ServerContext): Served<A> {
    const effect = this.#middlewares.length === 0
      ? handler
      // A middleware that throws is a defect of the request.
      : Effect.suspend(() => this.#around(handler, this.#targetOf(target, handler)))
    // The type of the group's Layer states that these services are all that the handlers need.
    return trust<Served<A>>(
      Effect.updateContext(effect, (request: Context.Context<never>) => trust(this.#services(server, request)))
    )
  }

  /** Runs the middleware for a subscription. Returns whether it lets the client subscribe. */
  permits(uri: string, server: ServerContext): Effect.Effect<boolean, never, McpMiddleware.RequestServices> {
    const target = { method: "resources/subscribe", name: uri, arguments: undefined }
    return Effect.orElseSucceed(this.run(Effect.succeed(true), target, server), () => false)
  }

  /** Runs the part of a list that is this group's. Fails if it takes too long, because the other groups wait for it. */
  runList<A>(
    part: Handler<A>,
    method: string,
    server: ServerContext
  ): Effect.Effect<A, McpError.McpError | ForeignCall.TimedOut, McpMiddleware.RequestServices> {
    const run = () => this.run(part, { method, name: undefined, arguments: undefined }, server)
    return ForeignCall.within(
      `the group "${this.id}" in ${method}`,
      listMillis,
      // The services of the request are in the context in which it runs.
      () => trust<Effect.Effect<A, McpError.McpError>>(Effect.suspend(run))
    )
  }

  #around(handler: Handler<unknown>, target: McpMiddleware.Target): Handler<unknown> {
    let effect = handler
    for (const middleware of this.#middlewares) {
      // A middleware passes the result of the handler on, whatever its type is.
      effect = middleware(
        trust<Effect.Effect<McpMiddleware.HandlerResult, McpError.McpError, unknown>>(effect),
        target
      )
    }
    return effect
  }

  /** Whether a member of the group is served to every client: it has no `visible`, and no middleware is around it. */
  isForAll(visible: unknown): boolean {
    return visible === undefined && this.#middlewares.length === 0
  }

  #targetOf(target: MemberTarget, handler: Handler<unknown>): McpMiddleware.Target {
    return { group: this.id, mount: this.#mount, isConditional: this.#conditional.has(handler), ...target }
  }

  /**
   * Decides whether the client of the request sees a member. An effect of the program that dies, or does not end in
   * time, hides it.
   */
  isVisible(visible: Effect.Effect<boolean, never, unknown>): Handler<boolean, never> {
    return Effect.matchCauseEffect(
      // The services of the effect are in the context in which it runs.
      ForeignCall.within("visible", visibleMillis, () => trust<Effect.Effect<boolean>>(visible)),
      {
        onSuccess: (isVisible) => Effect.succeed(isVisible === true),
        onFailure: (cause) =>
          Effect.as(
            Effect.logWarning(`a member of the group "${this.id}" is hidden, because visible failed`, cause),
            false
          )
      }
    )
  }

  /** Runs an effect if the member is visible, and otherwise another one. */
  ifVisible<A>(
    visible: Effect.Effect<boolean, never, unknown> | undefined,
    served: Handler<A>,
    otherwise: Handler<A | typeof hidden> = Effect.succeed(hidden)
  ): Handler<A | typeof hidden> {
    if (visible === undefined) return served
    // A kept result is that of the same member, so it has the same type.
    const result = Effect.flatMap(KeptResult, (kept) => kept === undefined ? served : Effect.succeed(trust<A>(kept)))
    const conditional = Effect.flatMap(
      this.isVisible(visible),
      (isVisible): Handler<A | typeof hidden> => isVisible ? result : otherwise
    )
    this.#conditional.add(conditional)
    return conditional
  }

  /** Returns the services of the Layer with those of the request. */
  #services(server: ServerContext, request: Context.Context<never>): Context.Context<never> {
    if (this.#last?.server !== server) this.#last = { server, services: LayerServices.ofGroup(this.layer, server) }
    return this.#last.services(request)
  }
}
