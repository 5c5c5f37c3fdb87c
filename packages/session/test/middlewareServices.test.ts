import {
  ClientSession,
  MemoryTransport,
  Middleware,
  type RequestContext,
  ServerSession,
  Transport,
  type TransportError
} from "@effect-mcp/session"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { info, text, tools } from "./support/sessions.ts"

describe("the services of middleware", () => {
  class Names extends Context.Service<Names, { readonly of: (method: string) => string }>()("test/Names") {}
  class Caller extends Context.Service<Caller, string>()("test/Caller") {}

  const tracing = (trace: Array<string>): Middleware.Middleware<Names, Names> => ({
    inbound: (request, next) =>
      Effect.flatMap(Names, (names) => {
        trace.push(names.of(request.method))
        return next(request)
      }),
    outbound: (request, next) =>
      Effect.flatMap(Names, (names) => {
        trace.push(names.of(request.method))
        return next(request)
      })
  })

  it.effect("are requirements of the session's Layer", () =>
    Effect.gen(function*() {
      const trace: Array<string> = []
      const pair = yield* MemoryTransport.make()
      const server = ServerSession.layer(tools({ x: Effect.succeed(text("x")) }), { info, middleware: tracing(trace) })
      const client = ClientSession.layer({ info, middleware: tracing(trace) })
      expectTypeOf(server).toEqualTypeOf<
        Layer.Layer<ServerSession.ServerSession, TransportError.TransportError, Transport.Transport | Names>
      >()
      const names = Layer.succeed(Names, { of: (method) => `name of ${method}` })
      yield* Effect.flatMap(ClientSession.ClientSession, (session) => session.callTool("x")).pipe(
        Effect.provide(Layer.provide(
          Layer.merge(
            Layer.provide(client, MemoryTransport.layer(pair.client)),
            Layer.provide(server, MemoryTransport.layer(pair.server))
          ),
          names
        ))
      )
      assert.deepStrictEqual(trace, ["name of tools/call", "name of tools/call"])
    }))

  it.effect("outbound, services of the caller take precedence over those of the session", () =>
    Effect.gen(function*() {
      const trace: Array<string> = []
      const pair = yield* MemoryTransport.make()
      const middleware: Middleware.Middleware<never, Caller> = {
        outbound: (request, next) =>
          Effect.flatMap(Caller, (caller) => {
            trace.push(caller)
            return next(request)
          })
      }
      yield* ServerSession.make(tools({ x: Effect.succeed(text("x")) }), { info }).pipe(
        Effect.provideService(Transport.Transport, pair.server)
      )
      const session = yield* ClientSession.make({ info, middleware }).pipe(
        Effect.provideService(Transport.Transport, pair.client),
        Effect.provideService(Caller, "the session")
      )
      yield* session.callTool("x")
      yield* Effect.provideService(session.callTool("x"), Caller, "the caller")
      assert.deepStrictEqual(trace, ["the session", "the caller"])
    }))

  it("all pieces together require the services of each one", () => {
    const one: Middleware.Middleware<Names, never> = {}
    const two: Middleware.Middleware<Caller | RequestContext.RequestContext, Caller> = {}
    const both = Middleware.all(one, two)
    expectTypeOf(both).toEqualTypeOf<
      Middleware.Middleware<Names | Caller | RequestContext.RequestContext, Caller>
    >()
  })
})
