/** Messages to all sessions of a host, and its functions for opened and closed sessions. */
import { CloseReason } from "@effect-mcp/protocol"
import { MemoryTransport, type SessionHost } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"
import { handshakeMessages, makeHost, openOperating, openSession, store, withStore } from "./support/hosts.ts"
import { names, settled, start } from "./support/sessions.ts"

const listChanged = "notifications/tools/list_changed"

const notifyingHost = (options: Partial<SessionHost.Options> = {}) =>
  makeHost({}, { capabilities: { tools: { listChanged: true } }, ...options })

describe("a broadcast", () => {
  it.effect("reaches every client whose handshake is finished, once", () =>
    Effect.gen(function*() {
      const host = yield* notifyingHost()
      const clients = [yield* openOperating(host), yield* openOperating(host)]
      const early = yield* openSession(host)
      const counts = yield* host.broadcast(({ session }) => session.toolListChanged)
      assert.deepStrictEqual(counts, { sent: 2, failed: 0, timedOut: 0 })
      yield* settled
      for (const { raw } of clients) assert.deepStrictEqual(names(yield* raw.pending), [listChanged])
      assert.deepStrictEqual(yield* early.raw.pending, [])
    }))

  it.effect("a client that does not read delays no other, and is counted after the timeout", () =>
    Effect.gen(function*() {
      const host = yield* notifyingHost()
      const stalled = yield* openOperating(host)
      const reading = yield* openOperating(host)
      stalled.link.stall()
      const never = ({ id, session }: SessionHost.Hosted) =>
        id === stalled.hosted.id ? Effect.never : session.toolListChanged
      const broadcast = yield* start(host.broadcast(never, { timeout: "3 seconds" }))
      yield* settled
      assert.deepStrictEqual(names(yield* reading.raw.pending), [listChanged])
      yield* TestClock.adjust("2999 millis")
      assert.isUndefined(broadcast.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* settled
      assert.deepStrictEqual(
        broadcast.pollUnsafe(),
        yield* Effect.exit(Effect.succeed({ sent: 1, failed: 0, timedOut: 1 }))
      )
    }))

  it.effect("a failure or a defect for one session affects no other", () =>
    Effect.gen(function*() {
      const host = yield* notifyingHost()
      const clients = [yield* openOperating(host), yield* openOperating(host), yield* openOperating(host)]
      const ids = clients.map(({ hosted }) => hosted.id)
      const counts = yield* host.broadcast(({ id, session }) => {
        if (id === ids[0]) throw new Error("thrown")
        return id === ids[1] ? Effect.fail("failed") : session.toolListChanged
      })
      assert.deepStrictEqual(counts, { sent: 1, failed: 2, timedOut: 0 })
      yield* settled
      assert.deepStrictEqual(names(yield* clients[2]?.raw.pending ?? Effect.succeed([])), [listChanged])
    }))

  it.effect("its interruption interrupts what it runs", () =>
    Effect.gen(function*() {
      const host = yield* notifyingHost()
      yield* openOperating(host)
      let interrupted = 0
      const hanging = Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      const broadcast = yield* start(host.broadcast(() => hanging))
      yield* settled
      broadcast.interruptUnsafe()
      yield* settled
      assert.strictEqual(interrupted, 1)
    }))
})

describe("onOpened and onClosed", () => {
  it.effect("are called once for each session, in this order, with the reason", () =>
    Effect.gen(function*() {
      const calls: Array<string> = []
      const host = yield* notifyingHost({
        onOpened: ({ id }) => void calls.push(`opened ${id}`),
        onClosed: ({ id }, { _tag }) => void calls.push(`closed ${id} ${_tag}`)
      })
      const { hosted } = yield* openSession(host, { id: "a" })
      yield* openOperating(host, { id: "b" })
      assert.deepStrictEqual(calls, ["opened a", "opened b"])
      yield* hosted.close(CloseReason.requested)
      yield* host.drain
      assert.deepStrictEqual(calls, ["opened a", "opened b", "closed a Requested", "closed b Requested"])
    }))

  it.effect("are called for restored sessions, and not for sessions that could not be opened", () =>
    Effect.gen(function*() {
      const { service } = store()
      const opened: Array<string> = []
      const closed: Array<string> = []
      const options: Partial<SessionHost.Options> = {
        sessions: { max: 1 },
        onOpened: ({ id }) => void opened.push(id),
        onClosed: ({ id }) => void closed.push(id)
      }
      const first = yield* notifyingHost(options).pipe(withStore(service))
      const { hosted } = yield* openOperating(first, { id: "a" })
      yield* first.remember(hosted, handshakeMessages)
      yield* first.drain
      yield* Effect.flip(openSession(first, { id: "late" }))
      assert.deepStrictEqual([opened, closed], [["a"], ["a"]])
      const second = yield* notifyingHost(options).pipe(withStore(service))
      const pair = yield* MemoryTransport.make()
      const outcome = yield* second.restore("a", pair.server, { kind: "memory" })
      assert.strictEqual(outcome._tag, "Restored")
      assert.deepStrictEqual([opened, closed], [["a", "a"], ["a"]])
      yield* second.drain
      assert.deepStrictEqual([opened, closed], [["a", "a"], ["a", "a"]])
    }))

  it.effect("an exception in them is logged, and the host continues", () =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ message }) => logged.push(message))
      yield* Effect.gen(function*() {
        const host = yield* notifyingHost({
          onOpened: () => {
            throw new Error("onOpened")
          },
          onClosed: () => {
            throw new Error("onClosed")
          }
        })
        const { hosted } = yield* openOperating(host)
        yield* hosted.close(CloseReason.requested)
        assert.deepStrictEqual((yield* host.health).sessions, 0)
        yield* settled
      }).pipe(Effect.scoped, Effect.provide(Logger.layer([logger])))
      assert.deepStrictEqual(logged.flat().filter((part) => typeof part === "string"), [
        "the option onOpened of a host threw",
        "the option onClosed of a host threw"
      ])
    }))
})
