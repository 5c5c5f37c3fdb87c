import { CloseReason, ErrorCode, JsonRpc, McpError, type Tool } from "@effect-mcp/protocol"
import { type ClientSession, MemoryTransport, RequestContext } from "@effect-mcp/session"
import { Census } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"
import * as RawServer from "./support/RawServer.ts"
import {
  call,
  codeOf,
  connected,
  forms,
  introduce,
  logMessage,
  names,
  server,
  settled,
  start,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

/** What log messages say. */
const logged = (messages: ReadonlyArray<JsonRpc.Message>) =>
  messages.flatMap((message) =>
    "method" in message && message.method === "notifications/message" ? [message.params?.["data"]] : []
  )

describe("too many requests", () => {
  for (const { form, pair } of forms) {
    it.effect(`law 12: one more than the limit is Overloaded, and says what the limit is (${form})`, () =>
      Effect.gen(function*() {
        const { raw, record, session } = yield* withRawClient({
          pair,
          handlers: tools({ wait: Effect.never, x: Effect.succeed(text("x")) }),
          server: { limits: { incoming: 2 } }
        })
        yield* introduce(raw)
        yield* raw.send(call(1, "wait"))
        yield* raw.send(call(2, "wait"))
        yield* raw.send(call(3, "x"))
        assert.deepStrictEqual<unknown>(yield* raw.response, {
          jsonrpc: "2.0",
          id: 3,
          error: { code: -32010, message: "Overloaded: 2 requests are in flight" }
        })
        assert.deepStrictEqual(record.of("Refused"), [
          { _tag: "Refused", method: "tools/call", id: 3, code: ErrorCode.Overloaded }
        ])
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 2 })
        yield* raw.send(JsonRpc.request(4, "ping", undefined))
        assert.isFalse(JsonRpc.isFailure(yield* raw.response))
        yield* raw.send(call(1, "x"))
        assert.strictEqual(codeOf(yield* raw.response), ErrorCode.InvalidRequest)
        yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 2 }))
        yield* raw.send(call(5, "x"))
        assert.deepStrictEqual<unknown>(yield* raw.response, JsonRpc.success(5, text("x")))
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
      }))
  }

  it.effect("law 12: the limit is 256 by default", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({ handlers: tools({ wait: Effect.never }) })
      yield* introduce(raw)
      for (const id of upTo(258)) yield* raw.send(call(id, "wait"))
      assert.deepStrictEqual((yield* raw.pending).map((message) => [names([message])[0], codeOf(message)]), [
        [257, -32010],
        [258, -32010]
      ])
    }))

  it.effect("law 12: a cancelled handler that goes on still counts", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        handlers: tools({ stubborn: Effect.uninterruptible(Effect.as(Effect.sleep(100), text("x"))) }),
        server: { limits: { incoming: 1 } }
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "stubborn"))
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* raw.send(call(2, "stubborn"))
      assert.strictEqual(codeOf(yield* raw.response), -32010)
      yield* TestClock.adjust(100)
      yield* raw.send(call(3, "stubborn"))
      yield* TestClock.adjust(100)
      assert.strictEqual((yield* raw.response).id, 3)
    }))
})

describe("a full outbox", () => {
  const open = Effect.fnUntraced(function*(outgoing: number) {
    const all = yield* withRawClient({
      handlers: tools({ x: Effect.succeed(text("x")), wait: Effect.never }),
      server: { capabilities: { logging: {} }, limits: { outgoing } }
    })
    yield* introduce(all.raw)
    yield* settled
    yield* all.raw.pending
    return { ...all, log: (data: unknown) => all.session.log({ level: "info", data }) }
  })

  it.effect("law 12: who logs waits, and goes on when there is room", () =>
    Effect.gen(function*() {
      const { link, log, raw } = yield* open(2)
      link.stall()
      yield* log("with the transport")
      yield* log("first in the room")
      yield* log("second in the room")
      const waiting = yield* start(log("outside"))
      yield* settled
      assert.isUndefined(waiting.pollUnsafe())
      link.recover()
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(logged(yield* raw.pending), [
        "with the transport",
        "first in the room",
        "second in the room",
        "outside"
      ])
    }))

  it.effect("[PING-01] [CAN-04] law 12: replies, pongs and cancellations wait for nobody", () =>
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
      // Two replies are not on their way yet; until they are, their requests count.
      assert.deepStrictEqual(yield* session.inFlight, { sent: 1, served: 2 })
      yield* Fiber.interrupt(ping)
      link.recover()
      yield* Fiber.join(waiting)
      // The ping was taken back before it was sent.
      assert.deepStrictEqual(names(yield* raw.pending), [
        "notifications/message",
        "notifications/message",
        "notifications/message",
        "p",
        "x",
        "unknown"
      ])
    }))

  it.effect("law 12: a waiting log whose caller leaves is not sent", () =>
    Effect.gen(function*() {
      const { link, log, raw } = yield* open(1)
      link.stall()
      yield* log(1)
      yield* log(2)
      const waiting = yield* start(log(3))
      const other = yield* start(log(4))
      yield* Fiber.interrupt(waiting)
      link.recover()
      yield* Fiber.join(other)
      assert.deepStrictEqual(logged(yield* raw.pending), [1, 2, 4])
    }))

  it.effect("law 12: what was taken back takes no room", () =>
    Effect.gen(function*() {
      const { link, log } = yield* open(1)
      link.stall()
      yield* log(1)
      yield* log(2)
      yield* Fiber.interrupt(yield* start(log(3)))
      // The second is with the transport now, and nothing waits.
      link.letOne()
      yield* settled
      const fourth = yield* start(log(4))
      yield* settled
      assert.isDefined(fourth.pollUnsafe())
    }))

  it.effect("law 12: in the end a peer that takes nothing is given up, and who waits is told", () =>
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

  it.effect("law 12: a handler's progress and log wait, too, and its cancellation finds it", () =>
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
        server: { capabilities: { logging: {} }, limits: { outgoing: 10 } }
      })
      yield* introduce(raw)
      link.stall()
      yield* raw.send(call(1, "flood", { _meta: { progressToken: 1 } }))
      yield* settled
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* settled
      assert.strictEqual(interrupted, 1)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      link.recover()
      yield* settled
      const said = yield* raw.pending
      assert.isAtLeast(said.length, 10)
      assert.isAtMost(said.length, 12)
    }))

  for (
    const [what, question] of [
      ["requests that are served", (id: number) => call(id, "x")],
      ["requests that are refused", (id: number) => call(id, "unknown")],
      ["pings", (id: number) => JsonRpc.request(id, "ping", undefined)]
    ] as const
  ) {
    it.effect(`law 12: a peer that sends ${what} and takes no replies does not fill the memory`, () =>
      Effect.gen(function*() {
        const { link, session } = yield* open(16)
        const handed = link.handed.length
        link.stall()
        for (const id of upTo(20_000)) link.deliver(question(id))
        yield* settled
        if ((yield* session.state)._tag !== "Operating") return
        link.recover()
        yield* settled
        assert.isBelow(link.handed.length - handed, 5000, "replies that were kept")
      }))
  }

  it.effect("law 12: RepliesOverflow: one reply more than may wait ends the session, and says how many did", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({ server: { limits: { replies: 3 } } })
      yield* introduce(raw)
      link.stall()
      // The first is with the transport, and does not wait.
      for (const id of upTo(4)) link.deliver(JsonRpc.request(id, "ping", undefined))
      assert.strictEqual((yield* session.state)._tag, "Operating")
      link.deliver(JsonRpc.request(5, "ping", undefined))
      const reason = yield* session.closed
      assert.deepStrictEqual(reason, { _tag: "RepliesOverflow", waiting: 4 })
      assert.include(CloseReason.describe(reason), "4 replies")
      assert.isFalse(link.isOpen())
    }))

  for (const { form, pair } of forms) {
    it.effect(`law 12: a peer that asks a lot as soon as it is answered, and takes every reply, is not given up (${form})`, () =>
      Effect.gen(function*() {
        const { client, server } = yield* connected({
          pair,
          handlers: tools({ later: Effect.as(Effect.sleep(10), text("x")), x: Effect.succeed(text("x")) }),
          server: { limits: { replies: 8 } }
        })
        const asking = yield* start(
          Effect.andThen(
            client.callTool("later"),
            Effect.flatMap(Effect.forEach(upTo(3000), () => start(client.ping())), Fiber.joinAll)
          )
        )
        yield* TestClock.adjust(10)
        yield* settled
        yield* Fiber.join(asking)
        assert.strictEqual((yield* server.state)._tag, "Operating")
      }))
  }

  it.effect("law 2: giving up a peer that owes a thousand readings leaves nothing", () =>
    Effect.gen(function*() {
      const census = Census.make()
      const { link, raw, session } = yield* census.count(withRawClient({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        server: { capabilities: { logging: {} } }
      }))
      yield* introduce(raw)
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
    it.effect(`law 9: two peers that flood each other over links that stall for a while get through (${form})`, () =>
      Effect.gen(function*() {
        const count = 200
        const heard: Array<unknown> = []
        const { client, links, server } = yield* connected({
          pair,
          handlers: tools({
            ask: Effect.gen(function*() {
              const { log, request } = yield* RequestContext.RequestContext
              yield* log({ level: "info", data: "asking" })
              yield* Effect.orDie(request("ping", {}))
              yield* log({ level: "info", data: "asked" })
              return text("asked")
            })
          }),
          client: {
            handlers: { "notifications/message": ({ data }) => Effect.sync(() => heard.push(data)) },
            limits: { outgoing: 2 }
          },
          server: { capabilities: { logging: {} }, limits: { outgoing: 2 } }
        })
        links.client.stall()
        links.server.stall()
        const calls = yield* start(
          Effect.forEach(upTo(count), () => client.callTool("ask"), { concurrency: "unbounded" })
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
            links.client.letOne()
            links.server.letOne()
            yield* Effect.yieldNow
          }
          links.server.recover()
          yield* settled
          links.server.stall()
          links.client.recover()
          yield* settled
          links.client.stall()
        }
        links.client.recover()
        links.server.recover()
        assert.deepStrictEqual(yield* Fiber.join(calls), upTo(count).map(() => text("asked")))
        yield* Fiber.joinAll([pings, more])
        yield* Fiber.join(logs)
        yield* settled
        assert.deepStrictEqual(heard.filter((data) => typeof data === "number"), upTo(count))
        assert.strictEqual(heard.length, 3 * count)
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

describe("slow handlers of notifications", () => {
  it.effect("law 12: one at a time, in order; the oldest makes room, and that is seen", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      let running = 0
      const { raw, record } = yield* withRawServer({
        client: {
          handlers: {
            "notifications/message": ({ data }) =>
              Effect.gen(function*() {
                assert.strictEqual(++running, 1)
                yield* Effect.sleep(10)
                seen.push(data)
                running--
              })
          },
          limits: { notifications: 3 }
        }
      })
      yield* raw.say(...upTo(8).map(logMessage))
      assert.deepStrictEqual(record.of("NotificationIgnored").map(({ method }) => method), [
        "notifications/message",
        "notifications/message",
        "notifications/message",
        "notifications/message"
      ])
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(seen, [1, 6, 7, 8])
      yield* raw.say(logMessage(9))
      yield* TestClock.adjust(10)
      assert.deepStrictEqual(seen, [1, 6, 7, 8, 9])
    }))

  it.effect("law 9: one that dies is seen, and the next one handled", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const { raw, record } = yield* withRawServer({
        client: {
          handlers: {
            "notifications/message": ({ data }) => {
              if (data === "throw") throw new Error("a bug")
              return data === "die" ? Effect.die("a bug") : Effect.sync(() => seen.push(data))
            }
          }
        }
      })
      yield* raw.say(...["throw", 1, "die", 2].map(logMessage))
      yield* settled
      assert.deepStrictEqual(seen, [1, 2])
      assert.deepStrictEqual(record.of("HandlerFailed").map(({ method }) => method), [
        "notifications/message",
        "notifications/message"
      ])
    }))

  it.effect("law 9: one may ask the peer something, while the peer goes on talking", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      let session: ClientSession.Shape | undefined
      const made = yield* withRawServer({
        script: RawServer.pongs,
        client: {
          handlers: {
            "notifications/message": ({ data }) =>
              Effect.gen(function*() {
                if (session !== undefined) yield* Effect.orDie(session.ping())
                seen.push(data)
              })
          }
        }
      })
      session = made.session
      yield* made.raw.say(...upTo(50).map(logMessage))
      yield* settled
      assert.deepStrictEqual(seen, upTo(50))
    }))

  it.effect("law 9: one that never returns makes only other notifications wait", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({
        script: RawServer.pongs,
        client: { handlers: { "notifications/message": () => Effect.never } }
      })
      yield* raw.say(...upTo(5).map(logMessage), JsonRpc.request("p", "ping", undefined))
      yield* session.ping()
      assert.include(names(raw.received), "p")
    }))

  it.effect("[LOG-04] those that nobody handles, or that do not fit, are ignored and seen", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawServer()
      yield* raw.say(
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
      const fussy = yield* withRawServer({ client: { handlers: { "notifications/message": () => Effect.void } } })
      yield* fussy.raw.say(
        JsonRpc.notification("notifications/message", { level: "loud", data: 1 }),
        JsonRpc.notification("notifications/message")
      )
      assert.strictEqual(fussy.record.of("NotificationIgnored").length, 2)
    }))
})

describe("too much progress", () => {
  const flooded = Effect.fnUntraced(function*(progress: number | undefined, steps: number) {
    const seen: Array<number> = []
    const { raw, record, session } = yield* withRawServer({
      client: progress === undefined ? {} : { limits: { progress } }
    })
    const calling = yield* start(
      session.callTool("x", {}, {
        onProgress: (step) =>
          Effect.andThen(
            Effect.sync(() => seen.push(step.progress)),
            step.progress === 1 ? Effect.sleep(50) : Effect.void
          )
      })
    )
    yield* settled
    yield* raw.say(
      ...upTo(steps).map((step) =>
        JsonRpc.notification("notifications/progress", { progressToken: 1, progress: step })
      ),
      JsonRpc.success(1, text("x"))
    )
    yield* TestClock.adjust(50)
    assert.deepStrictEqual(yield* Fiber.join(calling), text("x"))
    return { seen, dropped: record.of("ProgressDropped").map(({ reason }) => reason) }
  })

  it.effect("[PRG-06] law 4: 256 steps wait for a slow sink; then the oldest makes room, and is counted", () =>
    Effect.gen(function*() {
      const { dropped, seen } = yield* flooded(undefined, 300)
      assert.deepStrictEqual(dropped, Array.from({ length: 300 - 1 - 256 }, () => "Overflow" as const))
      assert.deepStrictEqual(seen, [1, ...upTo(300).slice(300 - 256)])
    }))

  it.effect("[PRG-06] law 4: as many as the limits say, and none is dropped before", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* flooded(4, 5), { seen: [1, 2, 3, 4, 5], dropped: [] })
      assert.deepStrictEqual(yield* flooded(4, 7), { seen: [1, 4, 5, 6, 7], dropped: ["Overflow", "Overflow"] })
    }))

  it.effect("[PRG-04] law 4: a thousand steps and the response in one chunk, and a quick sink misses none", () =>
    Effect.gen(function*() {
      const seen: Array<number> = []
      const { raw, record, session } = yield* withRawServer()
      const calling = yield* start(
        session.callTool("x", {}, { onProgress: (step) => Effect.sync(() => seen.push(step.progress)) })
      )
      yield* settled
      for (const batch of upTo(10)) {
        yield* raw.say(
          ...upTo(100).map((step) =>
            JsonRpc.notification("notifications/progress", { progressToken: 1, progress: batch * 100 + step })
          )
        )
        yield* settled
      }
      yield* raw.say(JsonRpc.success(1, text("x")))
      yield* Fiber.join(calling)
      assert.deepStrictEqual(record.of("ProgressDropped"), [])
      assert.deepStrictEqual(seen, Array.from({ length: 1000 }, (_, index) => 101 + index))
    }))
})

describe("too many complaints", () => {
  it.effect("law 12: what is malformed is answered at most 10 times a second", () =>
    Effect.gen(function*() {
      const { link, raw, record } = yield* withRawClient()
      yield* introduce(raw)
      for (const id of upTo(15)) link.deliver({ jsonrpc: "1.0", id, method: "ping" })
      for (const text of ["a", "b", "c"]) link.deliverBad({ _tag: "NotJson", text })
      assert.deepStrictEqual(names(yield* raw.pending), upTo(10))
      assert.deepStrictEqual([record.of("Malformed").length, record.of("BadFrame").length], [15, 3])
      yield* raw.send(JsonRpc.request("p", "ping", undefined))
      yield* raw.send(JsonRpc.request("u", "unknown", undefined))
      assert.deepStrictEqual(names(yield* raw.pending), ["p", "u"])
      yield* TestClock.adjust(999)
      link.deliverBad({ _tag: "NotJson", text: "d" })
      assert.deepStrictEqual(yield* raw.pending, [])
      yield* TestClock.adjust(1)
      for (const text of upTo(12)) link.deliverBad({ _tag: "NotJson", text: `${text}` })
      assert.strictEqual((yield* raw.pending).length, 10)
    }))

  it.effect("law 12: as many as the limits say, also none", () =>
    Effect.gen(function*() {
      for (const malformedReplies of [0, 3]) {
        const { link, raw } = yield* withRawClient({ server: { limits: { malformedReplies } } })
        yield* introduce(raw)
        for (const id of upTo(5)) link.deliver({ jsonrpc: "1.0", id, method: "ping" })
        assert.strictEqual((yield* raw.pending).length, malformedReplies)
      }
    }))

  it.effect("law 12: a client that complains is held to it, too", () =>
    Effect.gen(function*() {
      const { link, raw } = yield* withRawServer()
      for (const id of upTo(20)) link.deliver({ jsonrpc: "1.0", id, method: "ping" })
      yield* settled
      assert.deepStrictEqual(names(raw.received).slice(2), upTo(10))
    }))

  it.effect("law 12: on a transport with streams, those that are not answered are closed", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.makeMultiStream()
      yield* server(pair.server, {}, { limits: { malformedReplies: 1 } })
      const connection = yield* pair.client.connect
      const answers: Array<unknown> = []
      yield* start(connection.run(({ frame }) => answers.push(Result.getOrUndefined(frame))))
      const request = connection.request
      assert.isDefined(request)
      const bad = (id: number) => start(request({ jsonrpc: "1.0" as "2.0", id, method: "x" }))
      const streams = [yield* bad(1), yield* bad(2), yield* bad(3)]
      yield* settled
      assert.strictEqual(answers.length, 1)
      assert.deepStrictEqual(streams.map((stream) => stream.pollUnsafe() !== undefined), [true, true, true])
    }))
})

describe("what is not JSON", () => {
  const cycle = (): { readonly [name: string]: unknown } => {
    const self: { [name: string]: unknown } = {}
    self["self"] = self
    return self
  }
  const bad: ReadonlyArray<readonly [string, () => { readonly [name: string]: unknown }]> = [
    ["a bigint", () => ({ big: 1n })],
    ["a cycle", cycle],
    ["a toJSON that throws", () => ({
      toJSON: () => {
        throw new Error("no")
      }
    })]
  ]

  for (const { form, pair } of forms) {
    for (const [what, value] of bad) {
      it.effect(`law 5: ${what} in a result is an internal error to the peer (${form})`, () =>
        Effect.gen(function*() {
          const { client, records } = yield* connected({
            pair,
            handlers: tools({
              bad: Effect.sync((): Tool.CallToolResult => ({ content: [], structuredContent: value() })),
              x: Effect.succeed(text("x"))
            })
          })
          const error = yield* Effect.flip(client.callTool("bad"))
          assert.strictEqual(error.reason._tag, "ErrorResponse")
          if (error.reason._tag !== "ErrorResponse") return
          assert.deepStrictEqual([error.reason.error.code, error.reason.error.message], [-32603, "Internal error"])
          assert.deepStrictEqual(records.server.of("SendFailed").map((event) => event.error.reason._tag), [
            "Unserializable"
          ])
          assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
        }))

      it.effect(`${what} in the params fails their caller, and the session lives (${form})`, () =>
        Effect.gen(function*() {
          const { client, records } = yield* connected({ pair, handlers: tools({ x: Effect.succeed(text("x")) }) })
          const error = yield* Effect.flip(client.callTool("x", { value: value() }))
          assert.strictEqual(error.reason._tag, "SendFailed")
          if (error.reason._tag !== "SendFailed") return
          assert.strictEqual(error.reason.error.reason._tag, "Unserializable")
          assert.deepStrictEqual(records.client.of("SendFailed").map(({ method }) => method), ["tools/call"])
          assert.deepStrictEqual(yield* client.inFlight, { sent: 0, served: 0 })
          assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
        }))
    }
  }

  it.effect("law 1: params that throw when they are read fail their caller, and leave nothing", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      const bad = {
        name: "x",
        get arguments(): never {
          throw new Error("no")
        }
      }
      const exit = yield* Effect.exit(client.request("tools/call", bad, { deadline: 1000 }))
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(yield* client.inFlight, { sent: 0, served: 0 })
      assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
    }))

  it.effect("law 5: in the data of an error it is an internal error, too", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({ handlers: tools({ x: Effect.fail(McpError.invalidParams("x", 1n)) }) })
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
      assert.strictEqual(codeOf(yield* raw.response), -32603)
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("in a log of the session's it fails who logs, in one of a handler's it is dropped and seen", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient({
        handlers: tools({ x: Effect.as(RequestContext.log({ level: "info", data: 1n }), text("x")) }),
        server: { capabilities: { logging: {} } }
      })
      yield* introduce(raw)
      assert.strictEqual((yield* Effect.flip(session.log({ level: "info", data: 1n }))).reason._tag, "SendFailed")
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual(names(yield* raw.pending), [1])
      assert.strictEqual(record.of("NotificationIgnored").length, 1)
    }))

  it.effect("law 5: a handler that answers with nothing at all is answered for", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        // What a handler written without types may do.
        handlers: { "tools/call": () => Effect.succeed(undefined as never) }
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
      yield* settled
      const [reply] = yield* raw.pending
      assert.isDefined(reply, "what was sent is no response, and the peer waits")
      assert.isTrue(codeOf(reply) === -32603 || "result" in reply)
    }))

  it.effect("without serialization the objects themselves cross", () =>
    Effect.gen(function*() {
      const pair = MemoryTransport.make({ serialization: "none" })
      const { client } = yield* connected({
        pair,
        handlers: tools({ echo: (input) => Effect.succeed({ content: [], structuredContent: input }) })
      })
      const value = { big: 1n }
      const { structuredContent } = yield* client.callTool("echo", { value })
      assert.isTrue(structuredContent?.["value"] === value)
    }))

  it.effect("[INIT-02] an initialize that is not JSON fails the handshake", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        Effect.scoped(withRawServer({ client: { capabilities: { experimental: { x: { big: 1n } } } } }))
      )
      assert.strictEqual(error.reason._tag, "Closed")
      assert.include(error.message, "JSON")
    }))
})
