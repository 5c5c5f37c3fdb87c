import { Revision } from "@effect-mcp/protocol"
import { ClientSession, MemoryTransport, RequestContext, ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { closedFor, peerEnded, requested, serving } from "./support/closing.ts"
import {
  call,
  connected,
  forms,
  info,
  initialize,
  introduce,
  logMessage,
  names,
  reasonOf,
  settled,
  start,
  text,
  tools,
  traced,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

describe("the peer's end", () => {
  it.effect("with how its process exited", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawServer()
      const waiting = yield* start(session.callTool("x"))
      const exit = { exitCode: undefined, signal: "SIGKILL", stderr: ["out of memory"] }
      link.endReading(exit)
      assert.deepStrictEqual(yield* reasonOf(waiting), closedFor({ _tag: "PeerEnded", exit }))
      assert.deepStrictEqual(yield* session.closed, { _tag: "PeerEnded", exit })
    }))

  for (const { form, pair } of forms) {
    it.effect(`law 2: one side's end is the other side's end (${form})`, () =>
      Effect.gen(function*() {
        const { client, server } = yield* connected({ handlers: tools({ wait: Effect.never }), pair })
        const waiting = yield* start(client.callTool("wait"))
        yield* server.close
        assert.deepStrictEqual(yield* reasonOf(waiting), closedFor(peerEnded))
        assert.deepStrictEqual(yield* client.closed, peerEnded)
        assert.deepStrictEqual(yield* server.closed, requested)
      }))
  }

  it.effect("[STD-10] it is a half-close: handlers finish, and what they say still gets out", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({
          slow: Effect.gen(function*() {
            yield* Effect.sleep(3000)
            yield* RequestContext.progress({ progress: 1 })
            yield* RequestContext.log({ level: "info", data: "nearly" })
            return text("done")
          })
        }),
        server: { capabilities: { logging: {} }, limits: { gracefulCloseTimeout: "5 seconds" } }
      })
      yield* settled
      link.deliver(initialize())
      link.deliver(call(1, "slow", { _meta: { progressToken: "t" } }))
      link.endReading()
      yield* settled
      assert.deepStrictEqual(yield* session.state, { _tag: "Closing", reason: peerEnded })
      assert.deepStrictEqual(names(yield* raw.pending), [0])
      yield* TestClock.adjust(3000)
      assert.deepStrictEqual(names(yield* raw.pending), ["notifications/progress", "notifications/message", 1])
      assert.deepStrictEqual(yield* session.closed, peerEnded)
      assert.isFalse(link.isOpen())
    }))

  it.effect("[STD-10] printf '<initialize>\\n<call>\\n' | server answers", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* settled
      link.deliver(initialize())
      link.deliver(call(1, "x"))
      link.endReading()
      yield* session.closed
      assert.deepStrictEqual(names(yield* raw.pending), [0, 1])
    }))

  it.effect("[STD-10] replies that wait for a slow transport get out, too", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        server: { limits: { gracefulCloseTimeout: "5 seconds" } }
      })
      yield* introduce(raw)
      link.stall()
      for (const id of [1, 2, 3]) link.deliver(call(id, "x"))
      link.endReading()
      yield* TestClock.adjust(3000)
      assert.strictEqual((yield* session.state)._tag, "Closing")
      link.recover()
      yield* session.closed
      assert.deepStrictEqual(names(yield* raw.pending), [1, 2, 3])
    }))

  it.effect("law 1: handlers that need the peer fail at once, those that do not may finish", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const ask = (words: string) =>
        Effect.gen(function*() {
          const { request } = yield* RequestContext.RequestContext
          const { reason } = yield* Effect.orDie(Effect.flip(request("ping", {})))
          asked.push([words, reason])
        })
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({
          asks: Effect.as(ask("before"), text("asked")),
          "asks later": Effect.as(Effect.andThen(Effect.sleep(1000), ask("after")), text("asked later"))
        }),
        server: { limits: { gracefulCloseTimeout: "5 seconds" } }
      })
      yield* introduce(raw)
      link.deliver(call(1, "asks"))
      link.deliver(call(2, "asks later"))
      yield* settled
      assert.deepStrictEqual(names(yield* raw.pending), ["ping"])
      link.endReading()
      yield* settled
      assert.deepStrictEqual(asked, [["before", closedFor(peerEnded)]])
      assert.deepStrictEqual(names(yield* raw.pending), [1])
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(asked.slice(1), [["after", closedFor(peerEnded)]])
      assert.deepStrictEqual(names(yield* raw.pending), [2])
      yield* session.closed
    }))

  it.effect("[STD-10] a handler that takes too long is interrupted", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.sleep("1 minute"))
      const { link, raw, session } = yield* serving(effect)
      link.endReading()
      yield* TestClock.adjust(4999)
      assert.deepStrictEqual(seen, ["began"])
      yield* TestClock.adjust(1)
      yield* settled
      assert.deepStrictEqual(seen, ["began", "interrupted"])
      assert.deepStrictEqual(yield* session.closed, peerEnded)
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("to close a session whose peer has ended hurries it, and the reason stays", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.never)
      const { link, session } = yield* serving(effect)
      link.endReading()
      yield* settled
      assert.deepStrictEqual(yield* session.close, peerEnded)
      assert.deepStrictEqual(seen, ["began", "interrupted"])
    }))

  it.effect("the last words of a server are heard: what is told already is handled to the end", () =>
    Effect.gen(function*() {
      const heard: Array<unknown> = []
      const { raw, session } = yield* withRawServer({
        client: {
          handlers: {
            "notifications/message": ({ data }) =>
              Effect.andThen(Effect.sleep(100), Effect.sync(() => heard.push(data)))
          },
          limits: { gracefulCloseTimeout: "5 seconds" }
        }
      })
      yield* raw.say(logMessage("the disk is full"), logMessage("good bye"))
      yield* raw.end
      yield* TestClock.adjust(200)
      assert.deepStrictEqual(yield* session.closed, peerEnded)
      assert.deepStrictEqual(heard, ["the disk is full", "good bye"])
    }))

  it.effect("ServerSession.serve runs until the session has closed, and says why", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const serving = yield* start(
        ServerSession.serve(tools({ x: Effect.succeed(text("x")) }), { info }).pipe(
          Effect.provide(MemoryTransport.layer(pair.server))
        )
      )
      yield* Effect.gen(function*() {
        const session = yield* ClientSession.ClientSession
        yield* session.callTool("x")
        assert.strictEqual(session.profile.revision, Revision.latest)
      }).pipe(Effect.provide(Layer.provide(ClientSession.layer({ info }), MemoryTransport.layer(pair.client))))
      assert.deepStrictEqual(yield* Fiber.join(serving), { _tag: "PeerEnded", exit: undefined })
    }))
})
