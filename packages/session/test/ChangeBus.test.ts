import { ChangeBus, Metrics } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"

type Connection = ChangeBus.ChangeConnection
type Receiver = ChangeBus.ChangeReceiver

/** The end of a connection. */
type End = (exit: Exit.Exit<unknown, unknown>) => void

/** A connection that does what the test decides, and a record of its calls. */
const scripted = (own: Partial<Connection> = {}) => {
  const sent: Array<string> = []
  const attempts: Array<{ readonly receiver: Receiver; readonly end: End }> = []
  const state = { closed: 0, opens: true }
  const connection: Connection = {
    messageBytes: 500,
    receive: (receiver) =>
      Effect.callback((resume) => {
        attempts.push({ receiver, end: resume })
        if (state.opens) receiver.onOpen()
        return Effect.sync(() => state.closed++)
      }),
    send: (text) => Effect.sync(() => void sent.push(text)),
    ...own
  }
  const last = () => {
    const attempt = attempts.at(-1)
    assert.isDefined(attempt)
    return attempt
  }
  return { connection, sent, attempts, state, last }
}

const change = (key: string, scope = "s"): ChangeBus.Change => ({ scope, kind: "k", key })

/** Returns a message of another bus. */
const message = (changes: ReadonlyArray<ChangeBus.Change>, lost: ReadonlyArray<string> | null = []) =>
  JSON.stringify({
    version: 1,
    from: "other",
    lost,
    changes: changes.map(({ key, kind, scope }) => [scope, kind, key])
  })

const listen = Effect.fnUntraced(function*(bus: ChangeBus.ChangeBus["Service"], scope = "s") {
  const heard: { readonly keys: Array<string>; gaps: number } = { keys: [], gaps: 0 }
  yield* bus.subscribe({ scope, onChange: ({ key }) => void heard.keys.push(key), onGap: () => void heard.gaps++ })
  return heard
})

/** Returns the scopes that a message reports as lost, and the keys of its changes. */
const contents = (text: string | undefined): unknown => {
  const { changes, lost } = JSON.parse(text ?? "{}")
  return { lost, keys: changes.map(([, , key]: ReadonlyArray<string>) => key) }
}

/** Collects the log of an effect. */
const logging = () => {
  const logs: Array<string> = []
  const layer = Logger.layer([
    Logger.make(({ message }) => {
      logs.push(Array.isArray(message) ? String(message[0]) : String(message))
    })
  ])
  return { logs, layer }
}

const turn = TestClock.adjust(0)

describe("ChangeBus: sending", () => {
  it.effect("changes that are published together are one message, and equal ones are one change", () =>
    Effect.gen(function*() {
      const { connection, sent } = scripted()
      const bus = yield* ChangeBus.make(connection)
      for (const key of ["a", "b", "a", "b", "a"]) yield* bus.publish(change(key))
      yield* turn
      assert.deepStrictEqual(sent.map(contents), [{ lost: [], keys: ["a", "b"] }])
      yield* bus.publish(change("a"))
      yield* turn
      assert.deepStrictEqual(sent.slice(1).map(contents), [{ lost: [], keys: ["a"] }])
    }))

  it.effect("no message has more bytes than the connection permits, and each change is sent once", () =>
    Effect.gen(function*() {
      const { connection, sent } = scripted()
      const bus = yield* ChangeBus.make(connection)
      const keys = Array.from({ length: 60 }, (_, index) => `${index} ${"é".repeat(index)}`)
      for (const key of keys) yield* bus.publish(change(key))
      yield* turn
      for (const text of sent) assert.isAtMost(new TextEncoder().encode(text).length, 500)
      assert.deepStrictEqual(
        sent.flatMap((text) => JSON.parse(text).changes.map((item: Array<string>) => item[2])),
        keys
      )
    }))

  it.effect("a change that fills a message exactly is sent, and one that is larger is a gap", () =>
    Effect.gen(function*() {
      const sentFor = Effect.fnUntraced(function*(length: number) {
        const { connection, sent } = scripted()
        const bus = yield* ChangeBus.make(connection)
        yield* bus.publish(change("x".repeat(length)))
        yield* turn
        return sent
      })
      let length = 300
      while (JSON.parse((yield* sentFor(length + 1))[0] ?? "").lost.length === 0) length++
      const [largest] = yield* sentFor(length)
      assert.isAtLeast(largest?.length ?? 0, 495)
      assert.deepStrictEqual((yield* sentFor(length + 1)).map(contents), [{ lost: ["s"], keys: [] }])
    }))

  it.effect("more changes than the bound are a gap of their scopes, and later ones wait for no room", () =>
    Effect.gen(function*() {
      const { connection, sent } = scripted()
      const bus = yield* ChangeBus.make(connection, { maxChanges: 3 })
      for (const key of ["a", "b", "c"]) yield* bus.publish(change(key))
      yield* bus.publish(change("d", "t"))
      yield* bus.publish(change("e", "t"))
      yield* bus.publish(change("f", "u"))
      yield* turn
      assert.deepStrictEqual(sent.map(contents), [{ lost: ["s", "t"], keys: ["f"] }])
    }))

  it.effect("more bytes than the bound are a gap", () =>
    Effect.gen(function*() {
      const { connection, sent } = scripted()
      const bus = yield* ChangeBus.make(connection, { maxBytes: 100 })
      for (const key of ["a", "b"]) yield* bus.publish(change(key.repeat(60)))
      yield* turn
      assert.deepStrictEqual(sent.map(contents), [{ lost: ["s"], keys: [] }])
    }))

  it.effect("gaps of many scopes, or of a long one, are a gap of all", () =>
    Effect.gen(function*() {
      const scopes = Array.from({ length: 9 }, (_, index) => String(index))
      for (const lost of [scopes, ["x".repeat(600)]]) {
        const { connection, sent } = scripted()
        const bus = yield* ChangeBus.make(connection)
        for (const scope of lost) yield* bus.publish(change("x".repeat(500), scope))
        yield* turn
        assert.deepStrictEqual(sent.map(contents), [{ lost: null, keys: [] }])
      }
    }))

  const ways: ReadonlyArray<readonly [string, number, () => Effect.Effect<never, string>]> = [
    ["fails", 0, () => Effect.fail("no connection")],
    ["throws", 0, () => {
      throw new Error("no connection")
    }],
    ["dies", 0, () => Effect.die("no connection")],
    ["hangs", 5_000, () => Effect.never],
    ["hangs and cannot be interrupted", 5_000, () => Effect.uninterruptible(Effect.never)]
  ]

  for (const [name, millis, way] of ways) {
    it.effect(`a message whose sending ${name} is sent as a gap, at most once, and logged once`, () => {
      const { logs, layer } = logging()
      return Effect.gen(function*() {
        const state = { isAway: true, calls: 0 }
        const sent: Array<string> = []
        const { connection } = scripted({
          send: (text) => {
            if (!state.isAway) return Effect.sync(() => void sent.push(text))
            state.calls++
            return way()
          }
        })
        const bus = yield* ChangeBus.make(connection)
        yield* bus.publish(change("a"))
        yield* bus.publish(change("b", "t"))
        yield* TestClock.adjust(Duration.millis(millis + 300))
        assert.isAtLeast(state.calls, 1)
        yield* bus.publish(change("c"))
        yield* TestClock.adjust("30 seconds")
        assert.isAtLeast(state.calls, millis === 0 ? 10 : 4)
        assert.isAtMost(state.calls, 40)
        state.isAway = false
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(sent.map(contents), [{ lost: ["s", "t"], keys: [] }])
        yield* bus.publish(change("d"))
        yield* turn
        assert.deepStrictEqual(sent.slice(1).map(contents), [{ lost: [], keys: ["d"] }])
        assert.lengthOf(logs, 1)
        // The next outage has a line of its own.
        state.isAway = true
        yield* bus.publish(change("e"))
        yield* TestClock.adjust("10 seconds")
        assert.lengthOf(logs, 2)
      }).pipe(Effect.provide(layer))
    })
  }

  it.effect("a bus that ends sends what waits, waits for it at most a second, and leaves no fiber", () =>
    Effect.gen(function*() {
      const fibers = FiberCount.make()
      yield* fibers.count(Effect.gen(function*() {
        const { connection, sent, state } = scripted({ probeInterval: "10 seconds" })
        const scope = yield* Scope.make()
        const bus = yield* Scope.provide(ChangeBus.make(connection), scope)
        yield* bus.publish(change("a"))
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(sent.map(contents), [{ lost: [], keys: ["a"] }])
        assert.strictEqual(state.closed, 1)
        yield* bus.publish(change("b"))
        yield* turn
        assert.lengthOf(sent, 1)
        assert.isFalse(yield* bus.isConnected)

        const hanging = scripted({ send: () => Effect.never })
        const other = yield* Scope.make()
        yield* Effect.flatMap(
          Scope.provide(ChangeBus.make(hanging.connection), other),
          ({ publish }) => publish(change("a"))
        )
        const closing = yield* Effect.forkChild(Scope.close(other, Exit.void), { startImmediately: true })
        yield* TestClock.adjust(999)
        assert.isUndefined(closing.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.isDefined(closing.pollUnsafe())
        assert.strictEqual(fibers.living(), 0)
      }))
    }))
})

describe("ChangeBus: receiving", () => {
  it.effect("changes of other buses reach the listeners of their scopes, and own ones no listener", () =>
    Effect.gen(function*() {
      const { connection, last, sent } = scripted()
      const bus = yield* ChangeBus.make(connection)
      const [s, t] = [yield* listen(bus), yield* listen(bus, "t")]
      last().receiver.onMessage(message([change("a"), change("b", "t"), change("c", "u")]))
      yield* bus.publish(change("own"))
      yield* turn
      for (const text of sent) last().receiver.onMessage(text)
      assert.deepStrictEqual([s, t], [{ keys: ["a"], gaps: 0 }, { keys: ["b"], gaps: 0 }])
    }))

  it.effect("lost scopes are gaps of their listeners, and all scopes those of all listeners", () =>
    Effect.gen(function*() {
      const { connection, last } = scripted()
      const bus = yield* ChangeBus.make(connection)
      const [s, t] = [yield* listen(bus), yield* listen(bus, "t")]
      last().receiver.onMessage(message([], ["s", "u"]))
      assert.deepStrictEqual([s.gaps, t.gaps], [1, 0])
      yield* TestClock.adjust("1 second")
      last().receiver.onMessage(message([], null))
      assert.deepStrictEqual([s.gaps, t.gaps], [2, 1])
      yield* TestClock.adjust("1 second")
      last().receiver.onGap()
      assert.deepStrictEqual([s.gaps, t.gaps], [3, 2])
      assert.strictEqual((yield* Metric.value(Metrics.changeBusGaps)).count, 3)
    }).pipe((effect) => Effect.provideService(effect, Metric.MetricRegistry, new Map())))

  const malformed: ReadonlyArray<readonly [string, string]> = [
    ["no JSON", "{"],
    ["no object", "1"],
    ["another version", JSON.stringify({ version: 2, from: "x", lost: [], changes: [] })],
    ["no sender", JSON.stringify({ version: 1, lost: [], changes: [] })],
    ["no changes", JSON.stringify({ version: 1, from: "x", lost: [] })],
    ["a change without a key", JSON.stringify({ version: 1, from: "x", lost: [], changes: [["s", "k"]] })],
    ["a key that is no text", JSON.stringify({ version: 1, from: "x", lost: [], changes: [["s", "k", 1]] })],
    ["scopes that are no texts", JSON.stringify({ version: 1, from: "x", lost: [1], changes: [] })],
    ["no scopes", JSON.stringify({ version: 1, from: "x", changes: [] })],
    ["too many bytes", message([change("x".repeat(500))])]
  ]

  for (const [name, text] of malformed) {
    it.effect(`a malformed message is a gap: ${name}`, () =>
      Effect.gen(function*() {
        const { connection, last } = scripted()
        const bus = yield* ChangeBus.make(connection)
        const heard = yield* listen(bus)
        last().receiver.onMessage(text)
        assert.deepStrictEqual(heard, { keys: [], gaps: 1 })
      }))
  }

  it.effect("gaps are reported at most once a second, and the last one is not lost", () =>
    Effect.gen(function*() {
      const { connection, last } = scripted()
      const bus = yield* ChangeBus.make(connection)
      const heard = yield* listen(bus)
      for (let index = 0; index < 100; index++) last().receiver.onMessage("malformed")
      assert.strictEqual(heard.gaps, 1)
      yield* TestClock.adjust(999)
      assert.strictEqual(heard.gaps, 1)
      yield* TestClock.adjust(1)
      assert.strictEqual(heard.gaps, 2)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(heard.gaps, 2)
    }))

  const endings: ReadonlyArray<readonly [string, Exit.Exit<unknown, unknown>]> = [
    ["fails", Exit.fail("broken")],
    ["ends", Exit.void],
    ["dies", Exit.die(new Error("broken"))],
    ["interrupts itself", Exit.interrupt()]
  ]

  for (const [name, exit] of endings) {
    it.effect(`a connection that ${name} is replaced, and the listeners learn of a gap`, () => {
      const { logs, layer } = logging()
      return Effect.gen(function*() {
        const { attempts, connection, last, state } = scripted()
        const bus = yield* ChangeBus.make(connection)
        const heard = yield* listen(bus)
        yield* TestClock.adjust("1 minute")
        state.opens = false
        const first = last()
        first.end(exit)
        yield* turn
        assert.isFalse(yield* bus.isConnected)
        assert.strictEqual(heard.gaps, 0)
        yield* TestClock.adjust("1 second")
        assert.isAtLeast(attempts.length, 2)
        assert.strictEqual(heard.gaps, 0)
        last().receiver.onOpen()
        assert.isTrue(yield* bus.isConnected)
        assert.strictEqual(heard.gaps, 1)
        // The old connection does not count any longer.
        first.receiver.onMessage(message([change("late")]))
        first.receiver.onGap()
        first.receiver.onOpen()
        last().receiver.onMessage(message([change("new")]))
        assert.deepStrictEqual(heard, { keys: ["new"], gaps: 1 })
        assert.lengthOf(logs, 1)
      }).pipe(Effect.provide(layer))
    })
  }

  it.effect("a connection that throws, or is not open within 5 seconds, is tried again and logged once", () => {
    const { logs, layer } = logging()
    return Effect.gen(function*() {
      const { attempts, connection, last, state } = scripted()
      state.opens = false
      let throws = false
      const making = yield* Effect.forkChild(
        ChangeBus.make({
          ...connection,
          receive: (receiver) => {
            if (throws) throw new Error("no address")
            return connection.receive(receiver)
          }
        }),
        { startImmediately: true }
      )
      yield* TestClock.adjust(4_999)
      assert.isUndefined(making.pollUnsafe())
      assert.lengthOf(attempts, 1)
      yield* TestClock.adjust(1)
      const bus = yield* Fiber.join(making)
      const heard = yield* listen(bus)
      assert.strictEqual(state.closed, 1)
      yield* TestClock.adjust("1 minute")
      assert.isAtLeast(attempts.length, 8)
      assert.isAtMost(attempts.length, 13)
      throws = true
      yield* TestClock.adjust("1 minute")
      throws = false
      yield* TestClock.adjust("2 seconds")
      last().receiver.onOpen()
      assert.deepStrictEqual(heard, { keys: [], gaps: 1 })
      assert.lengthOf(logs, 1)
    }).pipe(Effect.provide(layer), Effect.scoped)
  })

  it.effect("a connection that breaks whenever it is open is tried again with growing delays", () =>
    Effect.gen(function*() {
      const { attempts, connection } = scripted()
      yield* ChangeBus.make({
        ...connection,
        receive: (receiver) =>
          Effect.andThen(connection.receive(receiver).pipe(Effect.timeoutOption("10 millis")), Effect.fail("x"))
      })
      yield* TestClock.adjust("1 minute")
      assert.isAtLeast(attempts.length, 30)
      assert.isAtMost(attempts.length, 70)
    }).pipe(Effect.provide(logging().layer)))

  it.effect("a connection that cannot be interrupted is left after a second", () =>
    Effect.gen(function*() {
      const { attempts, connection, state } = scripted()
      let isFirst = true
      const scope = yield* Scope.make()
      state.opens = false
      const making = yield* Effect.forkChild(
        Scope.provide(
          ChangeBus.make({
            ...connection,
            receive: (receiver) => {
              if (!isFirst) return connection.receive(receiver)
              isFirst = false
              return Effect.uninterruptible(Effect.never)
            }
          }),
          scope
        )
      )
      state.opens = true
      yield* TestClock.adjust("7 seconds")
      assert.isTrue(yield* (yield* Fiber.join(making)).isConnected)
      assert.lengthOf(attempts, 1)
      yield* Scope.close(scope, Exit.void)
    }).pipe(Effect.provide(logging().layer)))

  it.effect("a listener that throws is logged, and affects no other", () => {
    const { logs, layer } = logging()
    return Effect.gen(function*() {
      const { connection, last } = scripted()
      const bus = yield* ChangeBus.make(connection)
      const fail = () => {
        throw new Error("a listener")
      }
      yield* bus.subscribe({ scope: "s", onChange: fail, onGap: fail })
      const heard = yield* listen(bus)
      last().receiver.onMessage(message([change("a")], ["s"]))
      assert.deepStrictEqual(heard, { keys: ["a"], gaps: 1 })
      assert.lengthOf(logs, 2)
    }).pipe(Effect.provide(layer))
  })
})

describe("ChangeBus: probes", () => {
  it.effect("a connection without messages is tested by a message, which reaches no listener", () =>
    Effect.gen(function*() {
      const { attempts, connection, last, sent } = scripted({ probeInterval: "10 seconds" })
      const bus = yield* ChangeBus.make({
        ...connection,
        send: (text) => Effect.andThen(connection.send(text), Effect.sync(() => last().receiver.onMessage(text)))
      })
      const heard = yield* listen(bus)
      yield* TestClock.adjust("1 minute")
      assert.isAtLeast(sent.length, 6)
      assert.isAtMost(sent.length, 12)
      assert.deepStrictEqual(contents(sent[0]), { lost: [], keys: [] })
      assert.lengthOf(attempts, 1)
      assert.deepStrictEqual(heard, { keys: [], gaps: 0 })
    }))

  it.effect("a connection that loses its test, or cannot send it, is replaced", () => {
    const { logs, layer } = logging()
    return Effect.gen(function*() {
      for (const isAway of [false, true]) {
        const { attempts, connection } = scripted({ probeInterval: "10 seconds" })
        const bus = yield* ChangeBus.make({
          ...connection,
          send: (text) => isAway ? Effect.fail("no connection") : connection.send(text)
        })
        const heard = yield* listen(bus)
        yield* TestClock.adjust("16 seconds")
        assert.isAtLeast(attempts.length, 2)
        assert.isAtLeast(heard.gaps, 1)
        assert.isAtLeast(logs.length, 1)
      }
    }).pipe(Effect.provide(layer), Effect.scoped)
  })

  it.effect("no test is sent while messages arrive", () =>
    Effect.gen(function*() {
      const { connection, last, sent } = scripted({ probeInterval: "10 seconds" })
      yield* ChangeBus.make(connection)
      for (let second = 0; second < 60; second++) {
        last().receiver.onMessage(message([]))
        yield* TestClock.adjust("1 second")
      }
      assert.deepStrictEqual(sent, [])
    }))

  it.effect("an option that is no count is rejected", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(ChangeBus.make(scripted().connection, { maxChanges: 0 }))
      assert.isTrue(Exit.isFailure(exit))
    }).pipe(Effect.scoped))
})
