/**
 * Spans for the requests of a session, by OpenTelemetry's semantic conventions for MCP, and traces that go on at the peer: the
 * span a request is sent from stands in its `_meta`, and a span of the peer that stands there is the parent of what serves it.
 */
import { type Meta, TraceContext } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import * as OtelAttributes from "./internal/telemetry/OtelAttributes.ts"
import type { Middleware } from "./Middleware.ts"

/**
 * What may be said about tracing.
 *
 * @category models
 */
export interface Options {
  /** What every span of the session says besides, for example `{ "network.transport": "pipe" }`. */
  readonly attributes?: { readonly [name: string]: unknown }
}

/**
 * What travels with the current trace: taken from the request being served, and given to every request sent meanwhile
 * (MSG-31), by the middleware that {@link make} makes. Provide it to send something of your own. Default: nothing.
 *
 * @example
 * ```ts
 * import { type ClientSession, Tracing } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const search = (session: ClientSession.ClientSessionShape) =>
 *   Effect.provideService(session.callTool("search"), Tracing.Baggage, { baggage: "tenant=acme" })
 * ```
 *
 * @category references
 */
export const Baggage: Context.Reference<TraceContext.Baggage> = Context.Reference<TraceContext.Baggage>(
  "@effect-mcp/session/Tracing/Baggage",
  { defaultValue: () => ({}) }
)

const metaOf = (params: object): Meta.Meta | undefined =>
  "_meta" in params && typeof params._meta === "object" && params._meta !== null ? { ...params._meta } : undefined

/** Backends keep the names of spans for ever, so the name of a tool, which a peer may invent, is an attribute. */
const nameOf = (method: string): string => OtelAttributes.isMethod(method) ? method : OtelAttributes.other

const annotate = (span: Tracer.Span, attributes: OtelAttributes.Attributes): void => {
  for (const [name, value] of Object.entries(attributes)) span.attribute(name, value)
}

/** Runs within a span, which says in the end how its request ended. */
const within = <A, E, R>(span: Tracer.Span, direction: OtelAttributes.Direction, effect: Effect.Effect<A, E, R>) =>
  Effect.withParentSpan(
    Effect.onExit(effect, (exit) => Effect.sync(() => annotate(span, OtelAttributes.outcomeOf(direction, exit)))),
    span
  )

/**
 * Makes the middleware. A request that is served gets a span of kind `server`, whose parent is the span in its `_meta`, and a new
 * trace where there is none; the span that the session was made in is linked. A request that is sent gets a span of kind
 * `client`, and its receiver is told (MSG-31).
 *
 * A span is named after its method, and `_OTHER` if the method is not in the method table, because backends keep every
 * name. The method, tool or prompt (up to 256 characters) and the URI (up to 2,048) are attributes.
 *
 * @example
 * ```ts
 * import { ClientSession, Tracing } from "@effect-mcp/session"
 *
 * export const traced = ClientSession.layer({
 *   info: { name: "example", version: "1.0.0" },
 *   middleware: Tracing.make({ attributes: { "network.transport": "pipe" } })
 * })
 * ```
 *
 * @category constructors
 */
export const make = (options: Options = {}): Middleware => {
  const attributesOf = (method: string, params: object, revision: string | undefined) => ({
    ...options.attributes,
    ...OtelAttributes.attributesOf(method, OtelAttributes.targetOf(method, params), revision),
    ...OtelAttributes.resourceOf(method, params)
  })
  return {
    inbound: (request, next) =>
      Effect.flatMap(Effect.option(Effect.currentParentSpan), (ambient) => {
        const { id, method, params, profile } = request
        const meta = metaOf(params)
        const remote = TraceContext.fromMeta(meta)
        return Effect.useSpan(
          nameOf(method),
          {
            kind: "server",
            attributes: {
              ...attributesOf(method, params, profile.revision),
              "jsonrpc.request.id": OtelAttributes.idOf(id)
            },
            ...(remote === undefined ? { root: true } : { parent: Tracer.externalSpan(remote) }),
            links: Option.isSome(ambient) ? [{ span: ambient.value, attributes: {} }] : []
          },
          (span) => within(span, "inbound", Effect.provideService(next(request), Baggage, TraceContext.baggageOf(meta)))
        )
      }),
    outbound: (request, next) =>
      Effect.flatMap(Baggage, (baggage) => {
        const { method, onOpen, params, profile } = request
        return Effect.useSpan(nameOf(method), {
          kind: "client",
          attributes: attributesOf(method, params, profile?.revision)
        }, (span) =>
          within(
            span,
            "outbound",
            next({
              ...request,
              params: { ...params, _meta: { ...metaOf(params), ...baggage, ...TraceContext.toMeta(span) } },
              onOpen: (id) => {
                span.attribute("jsonrpc.request.id", OtelAttributes.idOf(id))
                onOpen?.(id)
              }
            })
          ))
      })
  }
}
