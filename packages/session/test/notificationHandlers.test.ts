import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { ClientSession, MemoryTransport, Transport } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { closedEvents } from "./support/closing.ts"
import * as RawServer from "./support/RawServer.ts"
import { info, logMessage, names, settled, start, upTo, withRawServer } from "./support/sessions.ts"

describe("handlers of notifications", () => {
  it.effect("law 12: run one at a time, in order; a full queue drops the oldest notification, with an event", () =>
    Effect.gen(function*() {
      const handled: Array<unknown> = []
      let running = 0
      const { raw, record } = yield* withRawServer({
        client: {
          handlers: {
            "notifications/message": ({ data }) =>
              Effect.gen(function*() {
                assert.strictEqual(++running, 1)
                yield* Effect.sleep(10)
                handled.push(data)
                running--
              })
          },
          limits: { maxNotifications: 3 }
        }
      })
      yield* raw.send(...upTo(8).map(logMessage))
      assert.deepStrictEqual(record.of("NotificationIgnored").map(({ method }) => method), [
        "notifications/message",
        "notifications/message",
        "notifications/message",
        "notifications/message"
      ])
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(handled, [1, 6, 7, 8])
      yield* raw.send(logMessage(9))
      yield* TestClock.adjust(10)
      assert.deepStrictEqual(handled, [1, 6, 7, 8, 9])
    }))

  it.effect("law 9: one that dies is reported, and the next notification is handled", () =>
    Effect.gen(function*() {
      const handled: Array<unknown> = []
      const { raw, record } = yield* withRawServer({
        client: {
          handlers: {
            "notifications/message": ({ data }) => {
              if (data === "throw") throw new Error("a bug")
              return data === "die" ? Effect.die("a bug") : Effect.sync(() => handled.push(data))
            }
          }
        }
      })
      yield* raw.send(...["throw", 1, "die", 2].map(logMessage))
      yield* settled
      assert.deepStrictEqual(handled, [1, 2])
      assert.deepStrictEqual(record.of("HandlerFailed").map(({ method }) => method), [
        "notifications/message",
        "notifications/message"
      ])
    }))

  it.effect("law 9: one can send requests while the peer sends more notifications", () =>
    Effect.gen(function*() {
      const handled: Array<unknown> = []
      let session: ClientSession.ClientSessionShape | undefined
      const made = yield* withRawServer({
        script: RawServer.replyToPings,
        client: {
          handlers: {
            "notifications/message": ({ data }) =>
              Effect.gen(function*() {
                if (session !== undefined) yield* Effect.orDie(session.ping())
                handled.push(data)
              })
          }
        }
      })
      session = made.session
      yield* made.raw.send(...upTo(50).map(logMessage))
      yield* settled
      assert.deepStrictEqual(handled, upTo(50))
    }))

  it.effect("law 9: one that never returns delays only other notifications", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({
        script: RawServer.replyToPings,
        client: { handlers: { "notifications/message": () => Effect.never } }
      })
      yield* raw.send(...upTo(5).map(logMessage), JsonRpc.request("p", "ping", undefined))
      yield* session.ping()
      assert.include(names(raw.received), "p")
    }))

  it.effect("[LOG-04] notifications without a handler or with invalid params are ignored, with an event", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawServer()
      yield* raw.send(
        logMessage("no handler"),
        JsonRpc.notification("no/such/notification"),
        JsonRpc.notification("__proto__"),
        JsonRpc.notification("constructor", {}),
        JsonRpc.notification("notifications/initialized")
      )
      assert.deepStrictEqual(record.of("NotificationIgnored").map(({ method, problem }) => [method, problem]), [
        ["notifications/message", "no handler"],
        ["no/such/notification", "unknown method"],
        ["__proto__", "unknown method"],
        ["constructor", "unknown method"],
        ["notifications/initialized", "unknown method"]
      ])
      const handling = yield* withRawServer({ client: { handlers: { "notifications/message": () => Effect.void } } })
      yield* handling.raw.send(
        JsonRpc.notification("notifications/message", { level: "loud", data: 1 }),
        JsonRpc.notification("notifications/message")
      )
      assert.strictEqual(handling.record.of("NotificationIgnored").length, 2)
    }))
})

describe("a resource that a handler of notifications acquires", () => {
  it.effect("law 2: is released after the notification is handled, and not with the session", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawServer.make(pair.server, RawServer.replyToInitialize())
      yield* ClientSession.make({
        info,
        revisions: Revision.legacy,
        handlers: {
          "notifications/message": ({ data }) =>
            Effect.andThen(
              Effect.acquireRelease(
                Effect.sync(() => events.push(`acquired ${data}`)),
                () => Effect.sync(() => events.push(`released ${data}`))
              ),
              Effect.yieldNow
            )
        }
      }).pipe(Effect.provideService(Transport.Transport, pair.client))
      yield* settled
      yield* raw.send(logMessage(1), logMessage(2))
      yield* settled
      assert.deepStrictEqual(events, ["acquired 1", "released 1", "acquired 2", "released 2"])
    }))
})

describe("handlers of notifications at the end of the session", () => {
  it.effect("law 2: the session waits for their finalizers", () =>
    Effect.gen(function*() {
      const handled: Array<string> = []
      const census = FiberCount.make()
      const { raw, session } = yield* census.count(withRawServer({
        client: {
          handlers: {
            "notifications/message": () =>
              Effect.onInterrupt(Effect.never, () =>
                Effect.andThen(Effect.sleep(300), Effect.sync(() => handled.push("cleaned up"))))
          }
        }
      }))
      yield* raw.send(logMessage("x"))
      const close = yield* start(session.close)
      yield* TestClock.adjust(1000)
      yield* Fiber.join(close)
      assert.deepStrictEqual(handled, ["cleaned up"])
    }))

  it.effect("law 2: close does not return while a finalizer runs", () =>
    Effect.gen(function*() {
      let cleaned = false
      const { raw, session } = yield* withRawServer({
        client: {
          handlers: {
            "notifications/message": () =>
              Effect.onInterrupt(Effect.never, () =>
                Effect.andThen(
                  Effect.sleep(300),
                  Effect.sync(() => {
                    cleaned = true
                  })
                ))
          }
        }
      })
      yield* raw.send(logMessage("x"))
      const close = yield* start(session.close)
      yield* settled
      assert.strictEqual(close.pollUnsafe() !== undefined, cleaned)
      yield* TestClock.adjust(1000)
      yield* Fiber.join(close)
    }))

  it.effect("law 2: one that cannot be interrupted is reported", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer({
        client: {
          handlers: { "notifications/message": () => Effect.uninterruptible(Effect.sleep("1 hour")) },
          limits: { gracefulTimeout: 1000 }
        }
      })
      yield* raw.send(logMessage("x"), logMessage("y"))
      const close = yield* start(session.close)
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(close)
      assert.deepStrictEqual(closedEvents(record).map(({ unfinished }) => unfinished), [
        [{ method: "notifications/message", count: 1 }]
      ])
      yield* TestClock.adjust("1 hour")
    }))

  it.effect("law 2: none starts while the last messages are written", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      let started = 0
      const { link, session } = yield* census.count(withRawServer({
        client: {
          handlers: {
            "notifications/message": () =>
              Effect.suspend(() => {
                started++
                return Effect.never
              })
          },
          limits: { gracefulTimeout: "5 seconds" }
        }
      }))
      link.stall()
      yield* start(Effect.exit(session.ping()))
      yield* settled
      const close = yield* start(session.close)
      yield* settled
      link.deliver(logMessage("too late"))
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(close)
      yield* settled
      assert.deepStrictEqual([started, census.living()], [0, 0])
    }))
})
