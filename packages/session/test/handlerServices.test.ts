import { ClientSession, type Handlers, MemoryTransport, RequestContext, ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { connected, info, text, tools } from "./support/sessions.ts"

class Greeting extends Context.Service<Greeting, { readonly words: string }>()("test/Greeting") {}

class Received extends Context.Service<Received, Array<unknown>>()("test/Received") {}

describe("services", () => {
  const handlers = {
    "tools/call": () =>
      Effect.gen(function*() {
        const { words } = yield* Greeting
        const { id } = yield* RequestContext.RequestContext
        return text(`${words} ${id}`)
      })
  }

  it.effect("a handler uses the services of the Layer that made its session", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const server: Layer.Layer<ServerSession.ServerSession, unknown> = ServerSession.layer(handlers, { info }).pipe(
        Layer.provide(MemoryTransport.layer(pair.server)),
        Layer.provide(Layer.succeed(Greeting, { words: "hello" }))
      )
      const program = Effect.gen(function*() {
        yield* ServerSession.ServerSession
        const session = yield* ClientSession.ClientSession
        const result = yield* session.callTool("x")
        assert.deepStrictEqual(result, text("hello 1"))
      })
      yield* program.pipe(
        // The services of the program that uses the session do not count.
        Effect.provideService(Greeting, { words: "from elsewhere" }),
        Effect.provide(
          Layer.provideMerge(
            Layer.provide(ClientSession.layer({ info }), MemoryTransport.layer(pair.client)),
            server
          )
        )
      )
    }))

  it.effect("a handler of notifications uses those of its session, a consumer of progress those of its caller", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const received: Array<unknown> = []
      const client = ClientSession.layer({
        info,
        handlers: {
          "notifications/message": ({ data }) => Effect.flatMap(Received, (list) => Effect.sync(() => list.push(data)))
        }
      }).pipe(Layer.provide(MemoryTransport.layer(pair.client)), Layer.provide(Layer.succeed(Received, received)))
      const server = ServerSession.layer(
        tools({
          x: Effect.gen(function*() {
            yield* RequestContext.log({ level: "info", data: "log" })
            yield* RequestContext.progress({ progress: 1 })
            return text("x")
          })
        }),
        { info, capabilities: { logging: {} } }
      ).pipe(Layer.provide(MemoryTransport.layer(pair.server)))
      const ofCaller: Array<unknown> = []
      yield* Effect.gen(function*() {
        const session = yield* ClientSession.ClientSession
        yield* session.callTool("x", {}, {
          onProgress: ({ progress }) => Effect.flatMap(Received, (list) => Effect.sync(() => list.push(progress)))
        })
      }).pipe(Effect.provideService(Received, ofCaller), Effect.provide(Layer.merge(client, server)))
      assert.deepStrictEqual([received, ofCaller], [["log"], [1]])
    }))

  it.effect("the types require missing services, but not the context that the session provides", () =>
    Effect.gen(function*() {
      type Needs = Handlers.ServicesOf<typeof handlers, "client">
      const needs: Greeting extends Needs ? Needs extends Greeting ? true : false : false = true
      const none: [Handlers.ServicesOf<ReturnType<typeof tools>, "client">] extends [never] ? true : false = true
      assert.isTrue(needs && none)
      const typed: Handlers.Handlers<"client"> = {
        "tools/list": ({ cursor }) => Effect.succeed({ tools: [], nextCursor: `after ${cursor ?? "the start"}` })
      }
      const { client } = yield* connected({ handlers: typed })
      const { nextCursor } = yield* client.listTools({ cursor: "x" })
      assert.strictEqual(nextCursor, "after x")
    }))
})
