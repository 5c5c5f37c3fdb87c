import { Content, Revision } from "@effect-mcp/protocol"
import {
  ClientSession,
  type Limits,
  MemoryTransport,
  Metrics,
  Middleware,
  ServerSession,
  Tracing,
  Transport
} from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { fromEffects, type Peer } from "./Peer.ts"
import { info, numberIn, sum } from "./tools.ts"

const nextTurn = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

const bare = "Effect MCP"

const passing: Middleware.Middleware = {
  inbound: (request, next) => next(request),
  outbound: (request, next) => next(request)
}

/** The middleware of a program, on both sides. */
const observing: { readonly [name: string]: Middleware.Middleware } = {
  [bare]: {},
  "with middleware that does nothing": passing,
  "with spans": Tracing.make(),
  "with metrics": Metrics.middleware,
  "with spans and metrics": Middleware.all(Tracing.make(), Metrics.middleware)
}

/** Connects a client and a server for each middleware. */
export const connectObserved = (): Promise<ReadonlyArray<Peer>> =>
  Promise.all(Object.keys(observing).map((name) => connect("none", { name })))

interface Options {
  readonly name?: string
  /** The revision of the client. Default: the newest with a handshake, which is that of the official packages. */
  readonly revision?: Revision.Revision
  /** The limits of the server. */
  readonly limits?: Limits.Options
}

/** Connects both sides in the revision without a handshake. */
export const connectModern = (serialization: "json" | "none"): Promise<Peer> =>
  connect(serialization, { name: `${bare}, ${Revision.latest}`, revision: Revision.latest })

/** Connects both sides of Effect MCP. */
export const connect = (
  serialization: "json" | "none",
  { limits = {}, name = bare, revision = Revision.latestLegacy }: Options = {}
): Promise<Peer> =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const middleware = observing[name] ?? {}
    const pair = yield* MemoryTransport.make({ serialization })
    yield* ServerSession.make({
      "tools/call": (params) => {
        const result = { content: [Content.text(sum(params.arguments))] }
        return params.name === "add" ? Effect.succeed(result) : Effect.as(nextTurn, result)
      }
    }, { info, middleware, limits }).pipe(Effect.provideService(Transport.Transport, pair.server), Scope.provide(scope))
    const client = yield* ClientSession.make({ info, middleware, revisions: [revision] }).pipe(
      Effect.provideService(Transport.Transport, pair.client),
      Scope.provide(scope)
    )
    return fromEffects({
      name,
      add: (tool, a, b) => Effect.map(client.callTool(tool, { a, b }), numberIn),
      close: Scope.close(scope, Exit.void)
    })
  }).pipe(Effect.runPromise)
