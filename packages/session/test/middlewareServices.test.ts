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

  const naming = (said: Array<string>): Middleware.Middleware<Names, Names> => ({
    inbound: (request, next) =>
      Effect.flatMap(Names, (names) => {
        said.push(names.of(request.method))
        return next(request)
      }),
    outbound: (request, next) =>
      Effect.flatMap(Names, (names) => {
        said.push(names.of(request.method))
        return next(request)
      })
  })

  it.effect("are requirements of the session's Layer, and given to it there", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const pair = yield* MemoryTransport.make()
      const server = ServerSession.layer(tools({ x: Effect.succeed(text("x")) }), { info, middleware: naming(said) })
      const client = ClientSession.layer({ info, middleware: naming(said) })
      expectTypeOf(server).toEqualTypeOf<
        Layer.Layer<ServerSession.ServerSession, TransportError.TransportError, Transport.Transport | Names>
      >()
      const names = Layer.succeed(Names, { of: (method) => `it is ${method}` })
      yield* Effect.flatMap(ClientSession.ClientSession, (session) => session.callTool("x")).pipe(
        Effect.provide(Layer.provide(
          Layer.merge(
            Layer.provide(client, MemoryTransport.layer(pair.client)),
            Layer.provide(server, MemoryTransport.layer(pair.server))
          ),
          names
        ))
      )
      assert.deepStrictEqual(said, ["it is tools/call", "it is tools/call"])
    }))

  it.effect("on the way out, what the caller provides comes before what the session was made with", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const pair = yield* MemoryTransport.make()
      const middleware: Middleware.Middleware<never, Caller> = {
        outbound: (request, next) =>
          Effect.flatMap(Caller, (caller) => {
            said.push(caller)
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
      assert.deepStrictEqual(said, ["the session", "the caller"])
    }))

  it("each piece's are those of all of them", () => {
    const one: Middleware.Middleware<Names, never> = {}
    const two: Middleware.Middleware<Caller | RequestContext.RequestContext, Caller> = {}
    const both = Middleware.all(one, two)
    expectTypeOf(both).toEqualTypeOf<
      Middleware.Middleware<Names | Caller | RequestContext.RequestContext, Caller>
    >()
  })
})
