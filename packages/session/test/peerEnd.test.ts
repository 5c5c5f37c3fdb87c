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
  logMessage,
  names,
  performHandshake,
  reasonOf,
  settled,
  start,
  text,
  tools,
  traced,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

describe("a session whose peer ends", () => {
  it.effect("closes with the exit of the peer's process", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawServer()
      const waiting = yield* start(session.callTool("x"))
      const exit = { exitCode: undefined, signal: "SIGKILL", stderr: ["out of memory"] }
      link.endReading(exit)
      assert.deepStrictEqual(yield* reasonOf(waiting), closedFor({ _tag: "PeerEnded", exit }))
      assert.deepStrictEqual(yield* session.closed, { _tag: "PeerEnded", exit })
    }))

  for (const { form, pair } of forms) {
    it.effect(`law 2: closes after the other side has closed (${form})`, () =>
      Effect.gen(function*() {
        const { client, server } = yield* connected({ handlers: tools({ wait: Effect.never }), pair })
        const waiting = yield* start(client.callTool("wait"))
        yield* server.close
        assert.deepStrictEqual(yield* reasonOf(waiting), closedFor(peerEnded))
        assert.deepStrictEqual(yield* client.closed, peerEnded)
        assert.deepStrictEqual(yield* server.closed, requested)
      }))
  }

  it.effect("[STD-10] waits for handlers to finish, and sends their messages and replies", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({
          slow: Effect.gen(function*() {
            yield* Effect.sleep(3000)
            yield* RequestContext.progress({ progress: 1 })
            yield* RequestContext.log({ level: "info", data: "almost done" })
            return text("done")
          })
        }),
        server: { capabilities: { logging: {} }, limits: { gracefulTimeout: "5 seconds" } }
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

  it.effect("interrupts its handlers sooner after a half-close, if its transport wants that, with finalizers", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const connect = Effect.map(pair.server.connect, (connection) => ({ ...connection, halfCloseMillis: 500 }))
      let finalized = 0
      const { link, raw, session } = yield* withRawClient({
        pair: Effect.succeed({ ...pair, server: { connect } }),
        server: { limits: { gracefulTimeout: "5 seconds" } },
        handlers: tools({
          never: Effect.ensuring(Effect.never, Effect.sync(() => finalized++)),
          soon: Effect.as(Effect.sleep(499), text("soon"))
        })
      })
      yield* settled
      link.deliver(initialize())
      link.deliver(call(1, "never"))
      link.deliver(call(2, "soon"))
      link.endReading()
      yield* settled
      yield* TestClock.adjust(499)
      assert.deepStrictEqual([names(yield* raw.pending), finalized], [[0, 2], 0])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* session.closed, peerEnded)
      assert.deepStrictEqual([names(yield* raw.pending), finalized], [[], 1])
    }))

  it.effect("[STD-10] answers `printf '<initialize>\\n<call>\\n' | server`", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* settled
      link.deliver(initialize())
      link.deliver(call(1, "x"))
      link.endReading()
      yield* session.closed
      assert.deepStrictEqual(names(yield* raw.pending), [0, 1])
    }))

  it.effect("[STD-10] sends replies that wait for a slow transport", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        server: { limits: { gracefulTimeout: "5 seconds" } }
      })
      yield* performHandshake(raw)
      link.stall()
      for (const id of [1, 2, 3]) link.deliver(call(id, "x"))
      link.endReading()
      yield* TestClock.adjust(3000)
      assert.strictEqual((yield* session.state)._tag, "Closing")
      link.resume()
      yield* session.closed
      assert.deepStrictEqual(names(yield* raw.pending), [1, 2, 3])
    }))

  it.effect("law 1: fails requests of handlers at once, and waits for other handlers to finish", () =>
    Effect.gen(function*() {
      const failures: Array<unknown> = []
      const ping = (when: string) =>
        Effect.gen(function*() {
          const { request } = yield* RequestContext.RequestContext
          const { reason } = yield* Effect.orDie(Effect.flip(request("ping", {})))
          failures.push([when, reason])
        })
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({
          pings: Effect.as(ping("before"), text("failed")),
          "pings later": Effect.as(Effect.andThen(Effect.sleep(1000), ping("after")), text("failed later"))
        }),
        server: { limits: { gracefulTimeout: "5 seconds" } }
      })
      yield* performHandshake(raw)
      link.deliver(call(1, "pings"))
      link.deliver(call(2, "pings later"))
      yield* settled
      assert.deepStrictEqual(names(yield* raw.pending), ["ping"])
      link.endReading()
      yield* settled
      assert.deepStrictEqual(failures, [["before", closedFor(peerEnded)]])
      assert.deepStrictEqual(names(yield* raw.pending), [1])
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(failures.slice(1), [["after", closedFor(peerEnded, false)]])
      assert.deepStrictEqual(names(yield* raw.pending), [2])
      yield* session.closed
    }))

  it.effect("[STD-10] interrupts a handler after gracefulTimeout", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.sleep("1 minute"))
      const { link, raw, session } = yield* serving(effect)
      link.endReading()
      yield* TestClock.adjust(4999)
      assert.deepStrictEqual(seen, ["started"])
      yield* TestClock.adjust(1)
      yield* settled
      assert.deepStrictEqual(seen, ["started", "interrupted"])
      assert.deepStrictEqual(yield* session.closed, peerEnded)
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("ends at once if this side closes it, and keeps its reason", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.never)
      const { link, session } = yield* serving(effect)
      link.endReading()
      yield* settled
      assert.deepStrictEqual(yield* session.close, peerEnded)
      assert.deepStrictEqual(seen, ["started", "interrupted"])
    }))

  it.effect("handles notifications that arrived before the end", () =>
    Effect.gen(function*() {
      const handled: Array<unknown> = []
      const { raw, session } = yield* withRawServer({
        client: {
          handlers: {
            "notifications/message": ({ data }) =>
              Effect.andThen(Effect.sleep(100), Effect.sync(() => handled.push(data)))
          },
          limits: { gracefulTimeout: "5 seconds" }
        }
      })
      yield* raw.send(logMessage("first"), logMessage("last"))
      yield* raw.end
      yield* TestClock.adjust(200)
      assert.deepStrictEqual(yield* session.closed, peerEnded)
      assert.deepStrictEqual(handled, ["first", "last"])
    }))

  it.effect("ends ServerSession.serve, which returns the close reason", () =>
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
        assert.strictEqual(session.profile.revision, Revision.latestLegacy)
      }).pipe(
        Effect.provide(
          Layer.provide(ClientSession.layer({ info, revisions: Revision.legacy }), MemoryTransport.layer(pair.client))
        )
      )
      assert.deepStrictEqual(yield* Fiber.join(serving), { _tag: "PeerEnded", exit: undefined })
    }))
})
