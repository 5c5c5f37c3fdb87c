/**
 * Spans of requests, by OpenTelemetry's semantic conventions for MCP. A trace continues at the peer: a request carries
 * the span that it is sent from in its `_meta`, and that span is the parent of the span that serves the request.
 *
 * @stability unstable
 */
import { type Meta, type RequestId, TraceContext } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import * as OtelAttributes from "./internal/telemetry/OtelAttributes.ts"
import type { Middleware } from "./Middleware.ts"

/**
 * Options for tracing.
 *
 * @category models
 */
export interface Options {
  /** Further attributes of every span of the session, for example `{ "network.transport": "pipe" }`. Default: none. */
  readonly attributes?: { readonly [name: string]: unknown }
}

/**
 * The baggage of the current trace: its `tracestate` and `baggage`. The middleware of {@link make} reads it from
 * the `_meta` of the request that a handler serves, and adds it to every request that the handler sends (MSG-31). A
 * program provides it to send baggage of its own. Default: none.
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

const isMeta = (value: unknown): value is Meta.Meta => typeof value === "object" && value !== null

const metaOf = (params: object): Meta.Meta | undefined =>
  "_meta" in params && isMeta(params._meta) ? params._meta : undefined

/**
 * Returns the name of a span. Backends keep every name of a span, and a peer can invent names, so that the name of a
 * tool is an attribute.
 */
const nameOf = (method: string): string => OtelAttributes.isMethod(method) ? method : OtelAttributes.other

const annotate = (span: Tracer.Span, attributes: OtelAttributes.Attributes): void => {
  for (const name in attributes) span.attribute(name, attributes[name])
}

const noLocation = (): undefined => undefined

/**
 * Runs an effect within a span, and adds the outcome to its attributes. `Effect.withParentSpan` would change the
 * context twice, and capture a stack that shows this line only; together they doubled the time of a call.
 */
const within = <A, E, R>(
  span: Tracer.Span,
  direction: OtelAttributes.Direction,
  effect: Effect.Effect<A, E, R>,
  baggage?: TraceContext.Baggage
): Effect.Effect<A, E, R> =>
  Effect.onExitPrimitive(
    Effect.updateContext(effect, (context: Context.Context<R>) => {
      const parent = Context.get(context, References.CurrentStackFrame)
      const frame = { name: span.name, stack: noLocation, parent }
      const inner = context.pipe(
        Context.add(Tracer.ParentSpan, span),
        Context.add(References.CurrentStackFrame, frame)
      )
      return baggage === undefined || isSame(baggage, Context.get(context, Baggage))
        ? inner
        : Context.add(inner, Baggage, baggage)
    }),
    (exit) => {
      annotate(span, OtelAttributes.outcomeOf(direction, exit))
      return undefined
    }
  )

const isSame = (one: TraceContext.Baggage, other: TraceContext.Baggage): boolean =>
  one.baggage === other.baggage && one.tracestate === other.tracestate

/**
 * Creates middleware that gives each request a span. The span of a served request is of kind `server`. Its parent is
 * the span in the `_meta` of the request; without one it starts a new trace. It links to the span in which the session
 * was created. The span of a sent request is of kind `client`, and is added to the `_meta` of the request (MSG-31).
 *
 * The name of a span is its method, or `_OTHER` if the method is not in the method table, because backends keep every
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
  const { attributes } = options
  const describe = (span: Tracer.Span, method: string, params: object, revision: string | undefined): void => {
    annotate(span, OtelAttributes.attributesOf(method, OtelAttributes.targetOf(method, params), revision))
    const uri = OtelAttributes.resourceOf(method, params)
    if (uri !== undefined) span.attribute("mcp.resource.uri", uri)
  }
  return {
    inbound: (request, next) =>
      Effect.withFiber((fiber) => {
        const { id, method, params, profile } = request
        const sessionSpan = Context.getOption(fiber.context, Tracer.ParentSpan)
        const meta = metaOf(params)
        const remote = TraceContext.fromMeta(meta)
        return Effect.useSpan(
          nameOf(method),
          {
            kind: "server",
            attributes,
            ...(remote === undefined ? { root: true } : { parent: Tracer.externalSpan(remote) }),
            links: Option.isSome(sessionSpan) ? [{ span: sessionSpan.value, attributes: {} }] : []
          },
          (span) => {
            describe(span, method, params, profile.revision)
            span.attribute("jsonrpc.request.id", OtelAttributes.idOf(id))
            return within(span, "inbound", next(request), TraceContext.baggageOf(meta))
          }
        )
      }),
    outbound: (request, next) =>
      Effect.flatMap(Baggage, (baggage) => {
        const { method, onOpen, params, profile } = request
        return Effect.useSpan(nameOf(method), { kind: "client", attributes }, (span) => {
          describe(span, method, params, profile?.revision)
          const sent = {
            ...request,
            params: { ...params, _meta: { ...metaOf(params), ...baggage, ...TraceContext.toMeta(span) } },
            onOpen: (id: RequestId.RequestId) => {
              span.attribute("jsonrpc.request.id", OtelAttributes.idOf(id))
              onOpen?.(id)
            }
          }
          return within(span, "outbound", next(sent))
        })
      })
  }
}
