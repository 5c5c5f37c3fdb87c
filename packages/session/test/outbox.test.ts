import { CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { RequestContext } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import {
  call,
  codeOf,
  connected,
  forms,
  names,
  performHandshake,
  settled,
  start,
  text,
  tools,
  upTo,
  withRawClient
} from "./support/sessions.ts"

/** Returns the data of log messages. */
const logged = (messages: ReadonlyArray<JsonRpc.Message>) =>
  messages.flatMap((message) =>
    "method" in message && message.method === "notifications/message" ? [message.params?.["data"]] : []
  )

describe("a request whose reply waits to be sent", () => {
  it.effect("[MSG-05] law 5: is in flight, and another request with its id is rejected", () =>
    Effect.gen(function*() {
      let ran = 0
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({ x: Effect.sync(() => text(`${++ran}`)) })
      })
      yield* performHandshake(raw)
      link.stall()
      yield* raw.send(JsonRpc.request("first", "ping", undefined))
      yield* raw.send(call(1, "x"))
      yield* raw.send(call(1, "x"))
      assert.strictEqual(ran, 1)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
      link.resume()
      yield* settled
      const [, ...replies] = yield* raw.pending
      assert.deepStrictEqual(replies.map((reply) => [codeOf(reply), names([reply])[0]]), [[undefined, 1], [-32600, 1]])
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual(yield* raw.response, JsonRpc.success(1, text("2")))
    }))
})

describe("a full outbox", () => {
  const open = Effect.fnUntraced(function*(outgoing: number, maxOutgoingBytes?: number) {
    const all = yield* withRawClient({
      handlers: tools({ x: Effect.succeed(text("x")), wait: Effect.never }),
      server: {
        capabilities: { logging: {} },
        limits: {
          maxOutgoingMessages: outgoing,
          ...(maxOutgoingBytes === undefined ? undefined : { maxOutgoingBytes })
        }
      }
    })
    yield* performHandshake(all.raw)
    yield* settled
    yield* all.raw.pending
    return { ...all, log: (data: unknown) => all.session.log({ level: "info", data }) }
  })

  it.effect("law 12: the sender of a log message waits until there is room", () =>
    Effect.gen(function*() {
      const { link, log, raw } = yield* open(2)
      link.stall()
      yield* log("in the transport")
      yield* log("first in the outbox")
      yield* log("second in the outbox")
      const waiting = yield* start(log("waiting"))
      yield* settled
      assert.isUndefined(waiting.pollUnsafe())
      link.resume()
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(logged(yield* raw.pending), [
        "in the transport",
        "first in the outbox",
        "second in the outbox",
        "waiting"
      ])
    }))

  it.effect("[PING-01] law 12: replies and cancellations do not wait for room", () =>
    Effect.gen(function*() {
      const { link, log, raw, record, session } = yield* open(1)
      link.stall()
      yield* log(1)
      yield* log(2)
      const waiting = yield* start(log(3))
      const ping = yield* start(session.ping())
      yield* settled
      link.deliver(JsonRpc.request("p", "ping", undefined))
      link.deliver(call("x", "x"))
      link.deliver(call("w", "wait"))
      link.deliver(JsonRpc.notification("notifications/cancelled", { requestId: "w" }))
      link.deliver(call("unknown", "unknown"))
      assert.deepStrictEqual(record.of("Cancelled").map(({ id }) => id), ["w"])
      // Two replies are not sent yet; until then, their requests are in flight.
      assert.deepStrictEqual(yield* session.inFlight, { sent: 1, served: 2 })
      yield* Fiber.interrupt(ping)
      link.resume()
      yield* Fiber.join(waiting)
      // The ping was withdrawn before it was sent.
      assert.deepStrictEqual(names(yield* raw.pending), [
        "notifications/message",
        "notifications/message",
        "notifications/message",
        "p",
        "x",
        "unknown"
      ])
    }))

  it.effect("law 12: a waiting log message whose sender is interrupted is not sent", () =>
    Effect.gen(function*() {
      const { link, log, raw } = yield* open(1)
      link.stall()
      yield* log(1)
      yield* log(2)
      const waiting = yield* start(log(3))
      const other = yield* start(log(4))
      yield* Fiber.interrupt(waiting)
      link.resume()
      yield* Fiber.join(other)
      assert.deepStrictEqual(logged(yield* raw.pending), [1, 2, 4])
    }))

  it.effect("law 12: the sender of a log message waits while waiting messages take too much memory", () =>
    Effect.gen(function*() {
      const { link, log, raw } = yield* open(1024, 25_000)
      const long = "x".repeat(20_000)
      link.stall()
      yield* log(`1${long}`)
      yield* log(`2${long}`)
      const interrupted = yield* start(log(`3${long}`))
      const waiting = yield* start(log("4"))
      yield* settled
      assert.isUndefined(waiting.pollUnsafe())
      // Neither a withdrawn nor a sent message takes room.
      yield* Fiber.interrupt(interrupted)
      link.releaseOne()
      yield* settled
      yield* log("5")
      link.resume()
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(logged(yield* raw.pending), [`1${long}`, `2${long}`, "4", "5"])
    }))

  it.effect("law 12: a message that is withdrawn before it is sent takes no room", () =>
    Effect.gen(function*() {
      const { link, log } = yield* open(1)
      link.stall()
      yield* log(1)
      yield* log(2)
      yield* Fiber.interrupt(yield* start(log(3)))
      // Now the transport has the second, and no message waits.
      link.releaseOne()
      yield* settled
      const fourth = yield* start(log(4))
      yield* settled
      assert.isDefined(fourth.pollUnsafe())
    }))

  it.effect("law 12: the session of a peer that reads nothing ends as PeerStalled, and waiting senders fail", () =>
    Effect.gen(function*() {
      const { link, log, session } = yield* open(1)
      link.stall()
      yield* log(1)
      yield* log(2)
      const waiting = yield* start(Effect.flip(log(3)))
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* session.closed)._tag, "PeerStalled")
      yield* settled
      assert.isDefined(waiting.pollUnsafe())
    }))

  it.effect("law 12: a handler waits for room for progress and log messages, and can be cancelled while it waits", () =>
    Effect.gen(function*() {
      let interrupted = 0
      const flood = Effect.gen(function*() {
        for (let progress = 1;; progress++) {
          yield* RequestContext.progress({ progress })
          yield* RequestContext.log({ level: "info", data: progress })
        }
      })
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({ flood: Effect.onInterrupt(flood, () => Effect.sync(() => interrupted++)) }),
        server: { capabilities: { logging: {} }, limits: { maxOutgoingMessages: 10 } }
      })
      yield* performHandshake(raw)
      link.stall()
      yield* raw.send(call(1, "flood", { _meta: { progressToken: 1 } }))
      yield* settled
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* settled
      assert.strictEqual(interrupted, 1)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      link.resume()
      yield* settled
      const sent = yield* raw.pending
      assert.isAtLeast(sent.length, 10)
      assert.isAtMost(sent.length, 12)
    }))

  for (
    const [what, requestOf] of [
      ["requests that are served", (id: number) => call(id, "x")],
      ["requests that are rejected", (id: number) => call(id, "unknown")],
      ["pings", (id: number) => JsonRpc.request(id, "ping", undefined)]
    ] as const
  ) {
    it.effect(`law 12: a peer that sends ${what} and reads no replies does not fill the memory`, () =>
      Effect.gen(function*() {
        const { link, session } = yield* open(16)
        const handed = link.sent.length
        link.stall()
        for (const id of upTo(20_000)) link.deliver(requestOf(id))
        yield* settled
        if ((yield* session.state)._tag !== "Operating") return
        link.resume()
        yield* settled
        assert.isBelow(link.sent.length - handed, 5000, "replies that were stored")
      }))
  }

  it.effect("law 12: one reply more than maxOutgoingReplies ends the session as RepliesOverflow", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({ server: { limits: { maxOutgoingReplies: 3 } } })
      yield* performHandshake(raw)
      link.stall()
      // The transport has the first, so it does not wait.
      for (const id of upTo(4)) link.deliver(JsonRpc.request(id, "ping", undefined))
      assert.strictEqual((yield* session.state)._tag, "Operating")
      link.deliver(JsonRpc.request(5, "ping", undefined))
      const reason = yield* session.closed
      assert.deepInclude(reason, { _tag: "RepliesOverflow", waiting: 4, limit: "maxOutgoingReplies" })
      assert.include(CloseReason.describe(reason), "4 replies")
      assert.isFalse(link.isOpen())
    }))

  const long = "i".repeat(4000)

  it.effect("law 12: replies of more than maxOutgoingBytes end the session as RepliesOverflow", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({ server: { limits: { maxOutgoingBytes: 6000 } } })
      yield* performHandshake(raw)
      link.stall()
      // The transport has the first. Each takes 4,000 bytes and its members.
      for (const id of upTo(2)) link.deliver(JsonRpc.request(`${long}${id}`, "ping", undefined))
      assert.strictEqual((yield* session.state)._tag, "Operating")
      link.deliver(JsonRpc.request("third", "ping", undefined))
      const reason = yield* session.closed
      assert.deepInclude(reason, { _tag: "RepliesOverflow", waiting: 2, limit: "maxOutgoingBytes" })
      assert.match(
        CloseReason.describe(reason),
        /2 replies of [89]\d\d\d bytes waited for it \(limit: maxOutgoingBytes\)$/
      )
      assert.isFalse(link.isOpen())
    }))

  it.effect("law 12: the session of a peer that reads too few replies ends", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({ big: Effect.succeed(text("x".repeat(10_000))) }),
        server: { limits: { maxOutgoingBytes: 100_000 } }
      })
      yield* performHandshake(raw)
      link.stall()
      let id = 0
      while ((yield* session.state)._tag === "Operating" && id < 1000) {
        for (let count = 0; count < 2; count++) link.deliver(call(id++, "big"))
        yield* TestClock.adjust("29 seconds")
        link.releaseOne()
        yield* settled
      }
      const reason = yield* session.closed
      assert.strictEqual(reason._tag, "RepliesOverflow")
      assert.isBelow(id, 30)
    }))

  it.effect("law 12: one reply of any size can wait, and a sent reply takes no room", () =>
    Effect.gen(function*() {
      const huge = text("x".repeat(1_000_000))
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({ huge: Effect.succeed(huge) }),
        server: { limits: { maxOutgoingBytes: 10_000 } }
      })
      yield* performHandshake(raw)
      for (const round of upTo(5)) {
        link.stall()
        link.deliver(JsonRpc.request(`ping ${round}`, "ping", undefined))
        link.deliver(call(round, "huge"))
        link.resume()
        yield* settled
        assert.deepStrictEqual(yield* raw.pending, [
          JsonRpc.success(`ping ${round}`, {}),
          JsonRpc.success(round, huge)
        ])
      }
      assert.strictEqual((yield* session.state)._tag, "Operating")
    }))

  it.effect("law 12: requests of this side do not count as replies", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({ server: { limits: { maxOutgoingBytes: 10_000 } } })
      yield* performHandshake(raw)
      link.stall()
      const message = { role: "user" as const, content: { type: "text" as const, text: "x".repeat(100_000) } }
      yield* start(Effect.exit(session.ping({ meta: { message } })))
      yield* start(Effect.exit(session.ping({ meta: { message } })))
      link.deliver(JsonRpc.request("p", "ping", undefined))
      assert.strictEqual((yield* session.state)._tag, "Operating")
      link.resume()
      yield* settled
      assert.deepStrictEqual(names(yield* raw.pending), ["ping", "ping", "p"])
    }))

  for (const { form, pair } of forms) {
    it.effect(`law 12: a peer that sends many requests and reads the replies keeps its session (${form})`, () =>
      Effect.gen(function*() {
        const { client, server } = yield* connected({
          pair,
          handlers: tools({ delayed: Effect.as(Effect.sleep(10), text("x")), x: Effect.succeed(text("x")) }),
          server: { limits: { maxOutgoingReplies: 8 } }
        })
        const calling = yield* start(
          Effect.andThen(
            client.callTool("delayed"),
            Effect.flatMap(Effect.forEach(upTo(3000), () => start(client.ping())), Fiber.joinAll)
          )
        )
        yield* TestClock.adjust(10)
        yield* settled
        yield* Fiber.join(calling)
        assert.strictEqual((yield* server.state)._tag, "Operating")
      }))
  }

  it.effect("law 2: no fiber or entry remains after a session with thousands of unsent messages ends", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const { link, raw, session } = yield* census.count(withRawClient({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        server: { capabilities: { logging: {} } }
      }))
      yield* performHandshake(raw)
      link.stall()
      for (const data of upTo(1000)) yield* session.log({ level: "info", data })
      const pings = yield* Effect.forEach(upTo(1000), () => start(Effect.exit(session.ping())))
      for (const id of upTo(1000)) link.deliver(call(id, "x"))
      const state = yield* session.state
      if (state._tag === "Operating") yield* start(session.close)
      yield* TestClock.adjust("10 seconds")
      yield* settled
      assert.strictEqual((yield* session.state)._tag, "Closed")
      yield* Fiber.joinAll(pings)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  for (const { form, pair } of forms) {
    it.effect(`law 9: two peers that flood each other over links that stall make progress (${form})`, () =>
      Effect.gen(function*() {
        const count = 200
        const received: Array<unknown> = []
        const { client, links, server } = yield* connected({
          pair,
          handlers: tools({
            ping: Effect.gen(function*() {
              const { log, request } = yield* RequestContext.RequestContext
              yield* log({ level: "info", data: "before" })
              yield* Effect.orDie(request("ping", {}))
              yield* log({ level: "info", data: "after" })
              return text("done")
            })
          }),
          client: {
            handlers: { "notifications/message": ({ data }) => Effect.sync(() => received.push(data)) },
            limits: { maxOutgoingMessages: 2 }
          },
          server: { capabilities: { logging: {} }, limits: { maxOutgoingMessages: 2 } }
        })
        links.client.stall()
        links.server.stall()
        const calls = yield* start(
          Effect.forEach(upTo(count), () => client.callTool("ping"), { concurrency: "unbounded" })
        )
        const logs = yield* start(Effect.forEach(upTo(count), (data) => server.log({ level: "info", data })))
        const pings = yield* start(
          Effect.forEach(upTo(count), () => server.ping(), { concurrency: "unbounded", discard: true })
        )
        const more = yield* start(
          Effect.forEach(upTo(count), () => client.ping(), { concurrency: "unbounded", discard: true })
        )
        for (let round = 0; round < 20; round++) {
          yield* settled
          for (let step = 0; step < 10; step++) {
            links.client.releaseOne()
            links.server.releaseOne()
            yield* Effect.yieldNow
          }
          links.server.resume()
          yield* settled
          links.server.stall()
          links.client.resume()
          yield* settled
          links.client.stall()
        }
        links.client.resume()
        links.server.resume()
        assert.deepStrictEqual(yield* Fiber.join(calls), upTo(count).map(() => text("done")))
        yield* Fiber.joinAll([pings, more])
        yield* Fiber.join(logs)
        yield* settled
        assert.deepStrictEqual(received.filter((data) => typeof data === "number"), upTo(count))
        assert.strictEqual(received.length, 3 * count)
        assert.deepStrictEqual([yield* client.inFlight, yield* server.inFlight], [
          { sent: 0, served: 0 },
          { sent: 0, served: 0 }
        ])
      }))
  }

  it.effect("law 12: a slow peer slows only its own session", () =>
    Effect.gen(function*() {
      const slow = yield* open(1)
      const quick = yield* open(1)
      slow.link.stall()
      yield* start(Effect.forEach(upTo(10), slow.log))
      yield* Effect.forEach(upTo(10), quick.log)
      assert.deepStrictEqual(logged(yield* quick.raw.pending), upTo(10))
      assert.deepStrictEqual(yield* slow.raw.pending, [])
    }))
})
