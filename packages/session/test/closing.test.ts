import { CloseReason, JsonRpc, McpError } from "@effect-mcp/protocol"
import {
  ClientSession,
  MemoryTransport,
  RequestContext,
  type RequestError,
  ServerSession,
  type SessionEvent,
  type Transport,
  TransportError
} from "@effect-mcp/session"
import { Census } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Link from "./support/Link.ts"
import * as RawServer from "./support/RawServer.ts"
import {
  call,
  client,
  codeOf,
  connected,
  forms,
  info,
  initialize,
  initialized,
  introduce,
  logMessage,
  movingOn,
  names,
  reasonOf,
  recorder,
  server,
  settled,
  start,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

const requested: CloseReason.CloseReason = CloseReason.requested
const peerEnded: CloseReason.CloseReason = { _tag: "PeerEnded", exit: undefined }

const closedFor = (reason: CloseReason.CloseReason): RequestError.RequestErrorReason => ({ _tag: "Closed", reason })

/** A handler that says whether it was interrupted, and finished. */
const traced = (work: Effect.Effect<void>) => {
  const seen: Array<string> = []
  const say = (words: string) =>
    Effect.sync(() => {
      seen.push(words)
    })
  const effect = say("began").pipe(
    Effect.andThen(work),
    Effect.andThen(say("finished")),
    Effect.onInterrupt(() => say("interrupted")),
    Effect.as(text("done"))
  )
  return { seen, effect }
}

/** How the session ended, if it has. */
const closedEvents = (record: { readonly events: ReadonlyArray<SessionEvent.SessionEvent> }) =>
  record.events.flatMap((event) => event._tag === "Closed" ? [event] : [])

describe("an end on purpose", () => {
  for (const { form, pair } of forms) {
    it.effect(`law 2: leaving the scope ends everything (${form})`, () =>
      Effect.gen(function*() {
        const census = Census.make()
        const scope = yield* Scope.make()
        const { link, raw, record, session } = yield* Scope.provide(census.count(withRawServer({ pair })), scope)
        const calls = yield* Effect.forEach([1, 2], () => start(session.callTool("x")))
        yield* settled
        yield* Scope.close(scope, Exit.void)
        for (const fiber of calls) assert.deepStrictEqual(yield* reasonOf(fiber), closedFor(requested))
        assert.deepStrictEqual(yield* session.state, { _tag: "Closed", reason: requested })
        assert.deepStrictEqual(yield* session.closed, requested)
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
        assert.isTrue(raw.ended())
        assert.isFalse(link.isOpen())
        assert.deepStrictEqual(closedEvents(record), [{ _tag: "Closed", reason: requested, unfinished: [] }])
        assert.strictEqual(census.living(), 0)
      }))

    it.effect(`[CAN-04] what is in flight is cancelled at the peer (${form})`, () =>
      Effect.gen(function*() {
        const { raw, record, session } = yield* withRawServer({ pair })
        const one = yield* start(session.callTool("x"))
        yield* settled
        assert.deepStrictEqual(yield* session.close, requested)
        assert.deepStrictEqual(record.of("CancelSent").map(({ id, method, reason }) => [id, method, reason]), [
          [1, "tools/call", "the session is closing"]
        ])
        assert.deepStrictEqual(yield* reasonOf(one), closedFor(requested))
        yield* settled
        assert.deepStrictEqual(
          raw.received.slice(3).map((message) => "params" in message ? message.params?.["requestId"] : undefined),
          [1]
        )
      }))
  }

  it.effect("law 1: after the end everything fails with the reason, and nothing is sent", () =>
    Effect.gen(function*() {
      const { client, links, server } = yield* connected({ handlers: tools({}) })
      yield* client.close
      yield* server.closed
      const handed = [links.client.handed.length, links.server.handed.length]
      for (const effect of [client.ping(), client.callTool("x"), client.listTools({}, { deadline: 0 })]) {
        assert.deepStrictEqual((yield* Effect.flip(effect)).reason, closedFor(requested))
      }
      for (const effect of [server.ping(), server.log({ level: "info", data: 1 })]) {
        assert.deepStrictEqual((yield* Effect.flip(effect)).reason, closedFor(peerEnded))
      }
      assert.deepStrictEqual([links.client.handed.length, links.server.handed.length], handed)
      assert.strictEqual(client.profile.info.name, "test")
      assert.strictEqual((yield* server.profile).info.name, "test")
    }))

  it.effect("closing twice is closing once", () =>
    Effect.gen(function*() {
      const { record, session } = yield* withRawServer()
      const both = yield* Effect.forEach([1, 2, 3], () => session.close, { concurrency: "unbounded" })
      assert.deepStrictEqual(both, [requested, requested, requested])
      assert.deepStrictEqual(yield* session.close, requested)
      assert.strictEqual(closedEvents(record).length, 1)
      assert.deepStrictEqual(record.of("StateChanged").map(({ to }) => to), [
        "Initializing",
        "Operating",
        "Closing",
        "Closed"
      ])
    }))

  it.effect("a close whose caller leaves goes on", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.sleep(2000))
      const { raw, session } = yield* withRawClient({
        handlers: tools({ x: effect }),
        server: { limits: { gracefulClose: 5000 } }
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
      const close = yield* start(session.close)
      yield* Fiber.interrupt(close)
      assert.strictEqual((yield* session.state)._tag, "Closing")
      yield* TestClock.adjust(2000)
      assert.deepStrictEqual(yield* session.closed, requested)
      assert.deepStrictEqual(seen, ["began", "finished"])
    }))

  it.effect("while it closes, requests are refused, pings answered, cancellations heeded, responses nobody's", () =>
    Effect.gen(function*() {
      const patient = traced(Effect.sleep(3000))
      const cancelled = traced(Effect.never)
      const { raw, record, session } = yield* withRawClient({
        handlers: tools({ patient: patient.effect, cancelled: cancelled.effect }),
        server: { limits: { gracefulClose: 5000 } }
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "patient"))
      yield* raw.send(call(2, "cancelled"))
      yield* start(session.close)
      yield* raw.send(call(3, "patient"))
      yield* raw.send(JsonRpc.request(4, "ping", undefined))
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 2 }))
      yield* raw.send({ ...initialize(), id: 5 })
      yield* raw.send(initialized)
      yield* raw.send(JsonRpc.success(1, {}))
      yield* settled
      const answers = yield* raw.pending
      assert.deepStrictEqual(names(answers), [3, 4, 5])
      assert.deepStrictEqual(answers.map(codeOf), [-32600, undefined, -32600])
      assert.include(JSON.stringify(answers[0]), "closing")
      assert.deepStrictEqual(cancelled.seen, ["began", "interrupted"])
      assert.strictEqual(record.of("UnmatchedResponse").length, 1)
      yield* TestClock.adjust(3000)
      assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* raw.pending, [JsonRpc.success(1, text("done"))])
      assert.deepStrictEqual(yield* session.closed, requested)
    }))

  it.effect("it takes no longer than its handlers do", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.sleep(300))
      const { raw, session } = yield* withRawClient({
        handlers: tools({ x: effect }),
        server: { limits: { gracefulClose: 5000 } }
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
      const close = yield* start(session.close)
      yield* TestClock.adjust(299)
      assert.isUndefined(close.pollUnsafe())
      yield* TestClock.adjust(1)
      yield* settled
      assert.isDefined(close.pollUnsafe())
      assert.deepStrictEqual(seen, ["began", "finished"])
      assert.deepStrictEqual(names(yield* raw.pending), [1])
    }))

  it.effect("handlers get 5 seconds, then they are interrupted and their clean-up awaited", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const { raw, record, session } = yield* withRawClient({
        handlers: tools({
          x: Effect.onInterrupt(
            Effect.never,
            () => Effect.andThen(Effect.sleep(400), Effect.sync(() => seen.push("cleaned up")))
          )
        }),
        server: { limits: { gracefulClose: "5 seconds" } }
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
      const close = yield* start(session.close)
      yield* TestClock.adjust(5399)
      assert.deepStrictEqual([close.pollUnsafe(), seen.length], [undefined, 0])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(close), requested)
      assert.deepStrictEqual(seen, ["cleaned up"])
      assert.deepStrictEqual(closedEvents(record).map(({ unfinished }) => unfinished), [[]])
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("law 2: a handler that cannot be stopped is reported, and does not hold the close", () =>
    Effect.gen(function*() {
      const census = Census.make()
      const { raw, record, session } = yield* census.count(withRawClient({
        handlers: {
          ...tools({ stubborn: Effect.uninterruptible(Effect.as(Effect.sleep("1 hour"), text("at last"))) }),
          "tools/list": () => Effect.uninterruptible(Effect.as(Effect.sleep("1 hour"), { tools: [] }))
        },
        server: { limits: { gracefulClose: "5 seconds" } }
      }))
      yield* introduce(raw)
      yield* raw.send(call(1, "stubborn"))
      yield* raw.send(call(2, "stubborn"))
      yield* raw.send(JsonRpc.request(3, "tools/list", undefined))
      const close = yield* start(session.close)
      yield* TestClock.adjust("10 seconds")
      yield* settled
      assert.deepStrictEqual(yield* Fiber.join(close), requested)
      const [event] = closedEvents(record)
      assert.sameDeepMembers([...event?.unfinished ?? []], [
        { method: "tools/call", count: 2 },
        { method: "tools/list", count: 1 }
      ])
      assert.strictEqual((yield* session.inFlight).served, 3)
      yield* TestClock.adjust("1 hour")
      yield* settled
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.strictEqual(record.of("HandlerFailed").length, 0)
    }))

  it.effect("law 2: at its very worst it takes 10 seconds in total", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({ stubborn: Effect.uninterruptible(Effect.never) }),
        server: { limits: { gracefulClose: "5 seconds" } }
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "stubborn"))
      link.stall()
      yield* start(session.ping())
      const close = yield* start(session.close)
      yield* TestClock.adjust("10 seconds")
      yield* settled
      assert.isDefined(close.pollUnsafe())
    }))

  it.effect("law 2: a handler whose reply nobody takes is no handler that cannot be stopped", () =>
    Effect.gen(function*() {
      const { link, raw, record, session } = yield* withRawClient({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        server: { limits: { gracefulClose: "5 seconds" } }
      })
      yield* introduce(raw)
      link.stall()
      for (const id of [1, 2]) yield* raw.send(call(id, "x"))
      const close = yield* start(session.close)
      yield* TestClock.adjust("10 seconds")
      yield* settled
      assert.deepStrictEqual(close.pollUnsafe(), Exit.succeed(requested))
      assert.deepStrictEqual(closedEvents(record).map(({ unfinished }) => unfinished), [[]])
    }))

  it.effect("with no time to finish, handlers are interrupted at once", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.sleep(1))
      const { raw, session } = yield* withRawClient({
        handlers: tools({ x: effect }),
        server: { limits: { gracefulClose: 0 } }
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
      yield* session.close
      assert.deepStrictEqual(seen, ["began", "interrupted"])
    }))

  it.effect("law 9: a handler may end its session, and others still finish", () =>
    Effect.gen(function*() {
      const other = traced(Effect.sleep(1000))
      let session: ServerSession.Shape | undefined
      const close = Effect.suspend(() => session === undefined ? Effect.die("no session") : session.close)
      const made = yield* withRawClient({
        handlers: tools({
          quit: Effect.as(Effect.forkDetach(close), text("bye")),
          other: other.effect
        }),
        server: { limits: { gracefulClose: 5000 } }
      })
      session = made.session
      yield* introduce(made.raw)
      yield* made.raw.send(call(1, "other"))
      yield* made.raw.send(call(2, "quit"))
      assert.strictEqual((yield* made.raw.response).id, 2)
      yield* TestClock.adjust(1000)
      assert.strictEqual((yield* made.raw.response).id, 1)
      assert.deepStrictEqual(yield* session.closed, requested)
    }))

  it.effect("law 9: a handler that waits for the end of its own session is interrupted in time", () =>
    Effect.gen(function*() {
      let session: ServerSession.Shape | undefined
      const made = yield* withRawClient({
        handlers: tools({
          quit: Effect.as(
            Effect.suspend(() => session === undefined ? Effect.die("no session") : session.close),
            text("x")
          )
        }),
        server: { limits: { gracefulClose: 5000 } }
      })
      session = made.session
      yield* introduce(made.raw)
      yield* made.raw.send(call(1, "quit"))
      yield* TestClock.adjust(6000)
      assert.deepStrictEqual(yield* session.closed, requested)
      assert.deepStrictEqual(closedEvents(made.record).map(({ unfinished }) => unfinished), [[]])
    }))

  it.effect("law 9: a sink, a notification's handler and an observer may end their session", () =>
    Effect.gen(function*() {
      for (const who of ["sink", "handler", "observer"]) {
        let session: ClientSession.Shape | undefined
        const close = Effect.suspend(() => session === undefined ? Effect.void : Effect.asVoid(session.close))
        const made = yield* withRawServer({
          client: {
            handlers: { "notifications/message": () => who === "handler" ? close : Effect.void },
            observe: (event) => {
              if (who === "observer" && event._tag === "UnmatchedResponse") Effect.runFork(close)
            }
          }
        })
        session = made.session
        const calling = yield* start(
          Effect.exit(session.callTool("x", {}, { onProgress: () => who === "sink" ? close : Effect.void }))
        )
        yield* settled
        yield* made.raw.say(
          JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }),
          logMessage("x"),
          JsonRpc.success(99, {})
        )
        assert.deepStrictEqual(yield* session.closed, requested, who)
        assert.isTrue(Exit.isFailure(yield* Fiber.join(calling)), who)
      }
    }))

  it.effect("closing while a request is with a transport that makes it wait", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawServer({ client: { limits: { gracefulClose: "5 seconds" } } })
      link.stall()
      const handed = yield* start(session.callTool("handed"))
      const waiting = yield* start(session.callTool("waiting"))
      yield* settled
      const close = yield* start(session.close)
      for (const fiber of [handed, waiting]) assert.deepStrictEqual(yield* reasonOf(fiber), closedFor(requested))
      yield* settled
      assert.isUndefined(close.pollUnsafe(), "what was handed over may still get out")
      link.recover()
      yield* settled
      assert.deepStrictEqual(yield* Fiber.join(close), requested)
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/call", "notifications/cancelled"])
      assert.isFalse(link.isOpen())
    }))

  it.effect("closing while a request is with a transport that never takes it", () =>
    Effect.gen(function*() {
      const census = Census.make()
      const { link, raw, session } = yield* census.count(
        withRawServer({ client: { limits: { gracefulClose: "5 seconds" } } })
      )
      link.stall()
      yield* start(Effect.exit(session.callTool("handed")))
      yield* settled
      const close = yield* start(session.close)
      yield* TestClock.adjust(5000)
      yield* settled
      assert.deepStrictEqual(close.pollUnsafe(), Exit.succeed(requested))
      link.recover()
      yield* settled
      assert.deepStrictEqual(names(raw.received).slice(2), [])
      assert.isTrue(raw.ended())
    }))

  it.effect("a log that waits for room when the session ends is told that it ended", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({
        server: { capabilities: { logging: {} }, limits: { outgoing: 1, gracefulClose: 0 } }
      })
      yield* introduce(raw)
      link.stall()
      const log = (data: string) => session.log({ level: "info", data })
      yield* log("with the transport")
      yield* log("in the room")
      const waiting = yield* start(log("outside"))
      yield* settled
      assert.isUndefined(waiting.pollUnsafe())
      yield* session.close
      assert.deepStrictEqual(yield* reasonOf(waiting), closedFor(requested))
    }))

  it.effect("a log that is with the transport when the session ends is told that it ended, not interrupted", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({
        server: { capabilities: { logging: {} }, limits: { outgoing: 0, gracefulClose: 0 } }
      })
      yield* introduce(raw)
      link.stall()
      const waiting = yield* start(session.log({ level: "info", data: "x" }))
      yield* settled
      assert.isUndefined(waiting.pollUnsafe())
      yield* session.close
      const exit = yield* Fiber.await(waiting)
      assert.isTrue(Exit.isFailure(exit))
      assert.isFalse(Exit.hasInterrupts(exit), "an interruption that nobody asked for")
      assert.deepStrictEqual(yield* reasonOf(waiting), closedFor(requested))
    }))
})

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
        server: { capabilities: { logging: {} }, limits: { gracefulClose: "5 seconds" } }
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
        server: { limits: { gracefulClose: "5 seconds" } }
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
        server: { limits: { gracefulClose: "5 seconds" } }
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
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({ x: effect }),
        server: { limits: { gracefulClose: "5 seconds" } }
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
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
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({ x: effect }),
        server: { limits: { gracefulClose: "5 seconds" } }
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
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
          limits: { gracefulClose: "5 seconds" }
        }
      })
      yield* raw.say(logMessage("the disk is full"), logMessage("good bye"))
      yield* raw.end
      yield* TestClock.adjust(200)
      assert.deepStrictEqual(yield* session.closed, peerEnded)
      assert.deepStrictEqual(heard, ["the disk is full", "good bye"])
    }))
})

describe("notification handlers at the end", () => {
  it.effect("law 2: the clean-up of a notification's handler is awaited", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const census = Census.make()
      const { raw, session } = yield* census.count(withRawServer({
        client: {
          handlers: {
            "notifications/message": () =>
              Effect.onInterrupt(Effect.never, () =>
                Effect.andThen(Effect.sleep(300), Effect.sync(() => seen.push("cleaned up"))))
          }
        }
      }))
      yield* raw.say(logMessage("x"))
      const close = yield* start(session.close)
      yield* TestClock.adjust(1000)
      yield* Fiber.join(close)
      assert.deepStrictEqual(seen, ["cleaned up"])
    }))

  it.effect("law 2: no session says that it has closed while a handler of its cleans up", () =>
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
      yield* raw.say(logMessage("x"))
      const close = yield* start(session.close)
      yield* settled
      assert.strictEqual(close.pollUnsafe() !== undefined, cleaned)
      yield* TestClock.adjust(1000)
      yield* Fiber.join(close)
    }))

  it.effect("law 2: a notification's handler that cannot be stopped is reported", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer({
        client: {
          handlers: { "notifications/message": () => Effect.uninterruptible(Effect.sleep("1 hour")) },
          limits: { gracefulClose: 1000 }
        }
      })
      yield* raw.say(logMessage("x"), logMessage("y"))
      const close = yield* start(session.close)
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(close)
      assert.deepStrictEqual(closedEvents(record).map(({ unfinished }) => unfinished), [
        [{ method: "notifications/message", count: 1 }]
      ])
      yield* TestClock.adjust("1 hour")
    }))

  it.effect("law 2: none is started while the last words are being written", () =>
    Effect.gen(function*() {
      const census = Census.make()
      let began = 0
      const { link, session } = yield* census.count(withRawServer({
        client: {
          handlers: {
            "notifications/message": () =>
              Effect.suspend(() => {
                began++
                return Effect.never
              })
          },
          limits: { gracefulClose: "5 seconds" }
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
      assert.deepStrictEqual([began, census.living()], [0, 0])
    }))
})

describe("a broken transport", () => {
  for (
    const [how, breakIt, expected] of [
      ["reading fails", (link) => link.breakReading(Link.readFailed), {
        _tag: "TransportFailed",
        cause: Link.readFailed
      }],
      [
        "its process ends in a failure",
        (link) => link.breakReading(TransportError.make({ _tag: "PeerEnded", exit: undefined })),
        peerEnded
      ],
      ["the peer is gone", (link) => link.stopReading(Exit.succeed({ exit: undefined, writable: false })), peerEnded],
      ["reading dies", (link) => link.stopReading(Exit.die("a bug")), { _tag: "TransportFailed", cause: "a bug" }]
    ] satisfies ReadonlyArray<[string, (link: Link.Link) => void, CloseReason.CloseReason]>
  ) {
    it.effect(`law 1: ${how}: handlers are interrupted and calls fail at once`, () =>
      Effect.gen(function*() {
        const { effect, seen } = traced(Effect.sleep(1))
        const { link, raw, record, session } = yield* withRawClient({
          handlers: tools({ x: effect }),
          server: { limits: { gracefulClose: "5 seconds" } }
        })
        yield* introduce(raw)
        yield* raw.send(call(1, "x"))
        const ping = yield* start(session.ping())
        yield* settled
        breakIt(link)
        yield* settled
        assert.deepStrictEqual(seen, ["began", "interrupted"])
        assert.deepStrictEqual(yield* reasonOf(ping), closedFor(expected))
        assert.deepStrictEqual(yield* session.closed, expected)
        assert.deepStrictEqual(closedEvents(record), [{ _tag: "Closed", reason: expected, unfinished: [] }])
        assert.isFalse(link.isOpen())
        assert.deepStrictEqual(names(yield* raw.pending), ["ping"])
      }))
  }

  it.effect("law 1: reading that is interrupted from below ends the session", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawServer()
      const waiting = yield* start(session.callTool("x"))
      link.stopReading(Exit.interrupt())
      yield* settled
      assert.isDefined(waiting.pollUnsafe(), "nobody reads, and nobody knows")
      assert.strictEqual((yield* session.closed)._tag, "TransportFailed")
    }))

  it.effect("law 1: a failed write ends the session, and says why to whoever wrote", () =>
    Effect.gen(function*() {
      const { link, record, session } = yield* withRawServer()
      const waiting = yield* start(session.callTool("x"))
      yield* settled
      link.failSends(Link.writeFailed)
      const error = yield* Effect.flip(session.callTool("y"))
      assert.deepStrictEqual(error.reason, { _tag: "SendFailed", error: Link.writeFailed })
      const reason: CloseReason.CloseReason = { _tag: "TransportFailed", cause: Link.writeFailed }
      assert.deepStrictEqual(yield* reasonOf(waiting), closedFor(reason))
      assert.deepStrictEqual(yield* session.closed, reason)
      assert.deepStrictEqual(record.of("SendFailed").map(({ method }) => method), ["tools/call"])
    }))

  it.effect("law 1: a reply that cannot be written ends the session", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.never)
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({ wait: effect, x: Effect.succeed(text("x")) })
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "wait"))
      link.failSends(Link.writeFailed)
      yield* raw.send(call(2, "x"))
      assert.deepStrictEqual(yield* session.closed, { _tag: "TransportFailed", cause: Link.writeFailed })
      assert.deepStrictEqual(seen, ["began", "interrupted"])
    }))

  it.effect("law 1: a write to a peer that is gone ends the session", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawServer()
      const waiting = yield* start(session.callTool("x"))
      yield* settled
      const gone = TransportError.make({ _tag: "PeerEnded", exit: undefined })
      link.failSends(gone)
      assert.deepStrictEqual((yield* Effect.flip(session.ping())).reason, { _tag: "SendFailed", error: gone })
      assert.deepStrictEqual(yield* reasonOf(waiting), closedFor(peerEnded))
      assert.deepStrictEqual(yield* session.closed, peerEnded)
    }))

  it.effect("law 1: a message that does not go out costs only itself", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawServer({ script: RawServer.pongs })
      const noRoute = TransportError.make({ _tag: "NoRoute", method: "ping" })
      link.failSends(noRoute)
      const error = yield* Effect.flip(session.ping())
      assert.deepStrictEqual(error.reason, { _tag: "SendFailed", error: noRoute })
      link.failSends(undefined)
      yield* session.ping()
    }))

  const withSends = (
    send: (outbound: Transport.Outbound) => Effect.Effect<void, TransportError.TransportError> | undefined
  ) =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      yield* RawServer.make(pair.server, RawServer.shakesHands(RawServer.pongs))
      return yield* client({
        connect: Effect.map(pair.client.connect, (connection) => ({
          ...connection,
          send: (outbound) => send(outbound) ?? connection.send(outbound)
        }))
      })
    })

  const isPing = ({ message }: Transport.Outbound) => "method" in message && message.method === "ping"

  it.effect("law 1: a write that is interrupted from below does not leave its caller waiting", () =>
    Effect.gen(function*() {
      const session = yield* withSends((outbound) => isPing(outbound) ? Effect.interrupt : undefined)
      const waiting = yield* start(session.ping())
      yield* settled
      assert.isDefined(waiting.pollUnsafe(), "the caller waits for an answer to what was never sent")
    }))

  it.effect("law 1: a write that dies ends the session", () =>
    Effect.gen(function*() {
      const session = yield* withSends((outbound) => isPing(outbound) ? Effect.die("a bug") : undefined)
      const error = yield* Effect.flip(session.ping())
      assert.strictEqual(error.reason._tag, "SendFailed")
      assert.strictEqual((yield* session.closed)._tag, "TransportFailed")
    }))

  it.effect("law 2: a connection that fails half-way leaves nothing open, though its scope lives on", () =>
    Effect.gen(function*() {
      let open = 0
      const transport: Transport.Transport["Service"] = {
        connect: Effect.andThen(
          Effect.acquireRelease(Effect.sync(() => open++), () => Effect.sync(() => open--)),
          Effect.fail(TransportError.make({ _tag: "ConnectFailed", target: "nowhere", cause: new Error("no") }))
        )
      }
      const refused = yield* Effect.flip(client(transport))
      assert.strictEqual(refused.reason._tag, "ConnectFailed")
      assert.include(refused.message, "nowhere")
      assert.strictEqual(open, 0)
      assert.strictEqual((yield* Effect.flip(server(transport))).reason._tag, "ConnectFailed")
      assert.strictEqual(open, 0)
    }))

  it.effect("law 2: a transport whose reading ends only when it is closed does not hold the close", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawServer.make(pair.server, RawServer.shakesHands())
      const session = yield* client({
        connect: Effect.map(pair.client.connect, (connection) => ({
          ...connection,
          run: (deliver) => Effect.uninterruptible(connection.run(deliver))
        }))
      })
      const close = yield* start(session.close)
      yield* TestClock.adjust("10 seconds")
      yield* settled
      const closed = close.pollUnsafe()
      // Or else this test itself might never end.
      yield* raw.end
      assert.isDefined(closed)
    }))
})

describe("a transport that never stops reading", () => {
  it.effect("law 2: does not hold the close", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawServer.make(pair.server, RawServer.shakesHands())
      const session = yield* client({
        connect: Effect.map(pair.client.connect, (connection) => ({
          ...connection,
          run: (deliver) => Effect.uninterruptible(Effect.andThen(connection.run(deliver), Effect.never))
        }))
      })
      const close = yield* start(session.close)
      yield* TestClock.adjust("10 seconds")
      yield* settled
      assert.deepStrictEqual(close.pollUnsafe(), Exit.succeed(requested))
      assert.isTrue(raw.ended())
    }))
})

describe("a peer that takes no bytes", () => {
  for (const { form, pair } of forms) {
    it.effect(`[PING-03] PeerStalled: after 30 seconds of one message (${form})`, () =>
      Effect.gen(function*() {
        const { effect, seen } = traced(Effect.never)
        const census = Census.make()
        const { links, records, server } = yield* census.count(connected({ handlers: tools({ wait: effect }), pair }))
        links.server.deliver(call("w", "wait"))
        links.server.stall()
        const ping = yield* start(server.ping({ deadline: "Infinity" }))
        yield* settled
        yield* TestClock.adjust(29_999)
        assert.isUndefined(ping.pollUnsafe())
        yield* TestClock.adjust(1)
        const reason: CloseReason.CloseReason = { _tag: "PeerStalled", afterMillis: 30_000 }
        assert.deepStrictEqual(yield* reasonOf(ping), closedFor(reason))
        assert.deepStrictEqual(yield* server.closed, reason)
        assert.deepStrictEqual(seen, ["began", "interrupted"])
        assert.deepStrictEqual(closedEvents(records.server).map((event) => event.reason), [reason])
      }))
  }

  it.effect("PeerStalled: as the limits say, also for a reply", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({ server: { limits: { write: "1 second" } } })
      yield* introduce(raw)
      link.stall()
      yield* raw.send(JsonRpc.request(1, "ping", undefined))
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(yield* session.closed, { _tag: "PeerStalled", afterMillis: 1000 })
    }))

  it.effect("a peer that is slow, but takes a message now and then, is not stalled", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({
        server: { capabilities: { logging: {} }, limits: { write: "1 second" } }
      })
      yield* introduce(raw)
      link.stall()
      for (const data of [1, 2, 3, 4, 5]) yield* session.log({ level: "info", data })
      for (let count = 0; count < 5; count++) {
        yield* TestClock.adjust(999)
        link.letOne()
        yield* settled
      }
      assert.strictEqual((yield* raw.pending).length, 5)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* session.state)._tag, "Operating")
    }))

  it.effect("a transport that nobody writes to does not stall", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawServer()
      link.stall()
      yield* TestClock.adjust("1 day")
      assert.strictEqual((yield* session.state)._tag, "Operating")
    }))

  it.effect("law 2: its end leaves no timer behind, though there was more to wait for", () =>
    Effect.gen(function*() {
      const census = Census.make()
      const { link, session } = yield* census.count(withRawServer())
      link.stall()
      const calls = yield* Effect.forEach(["10 minutes", "20 minutes"] as const, (deadline) =>
        start(Effect.exit(session.callTool("x", {}, { deadline }))))
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* session.closed)._tag, "PeerStalled")
      yield* Fiber.joinAll(calls)
      yield* settled
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("[TMO-02] a stall is noticed though deadlines come and go meanwhile", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawServer()
      link.stall()
      const calls = yield* Effect.forEach([1, 5, 29, 31], (seconds) =>
        start(Effect.flip(session.callTool("x", {}, { deadline: seconds * 1000 }))))
      yield* TestClock.adjust(29_000)
      assert.deepStrictEqual(
        calls.map((fiber) =>
          fiber.pollUnsafe() !== undefined
        ),
        [true, true, true, false]
      )
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(yield* session.closed, { _tag: "PeerStalled", afterMillis: 30_000 })
      const last = calls[3]
      assert.isDefined(last)
      assert.strictEqual((yield* Fiber.join(last)).reason._tag, "Closed")
    }))
})

describe("the first reason stays", () => {
  const ways: ReadonlyArray<readonly [string, (link: Link.Link) => void, CloseReason.CloseReason["_tag"]]> = [
    ["the peer's end", (link) => link.endReading(), "PeerEnded"],
    ["a failed read", (link) => link.breakReading(Link.readFailed), "TransportFailed"],
    ["a failed write", (link) => {
      link.failSends(Link.writeFailed)
      link.deliver(JsonRpc.request("p", "ping", undefined))
    }, "TransportFailed"]
  ]

  for (const [what, breakIt] of ways) {
    it.effect(`${what} does not change why this side closes`, () =>
      Effect.gen(function*() {
        const { effect, seen } = traced(Effect.sleep(1000))
        const { link, raw, record, session } = yield* withRawClient({
          handlers: tools({ x: effect }),
          server: { limits: { gracefulClose: "5 seconds" } }
        })
        yield* introduce(raw)
        yield* raw.send(call(1, "x"))
        const close = yield* start(session.close)
        yield* settled
        breakIt(link)
        yield* TestClock.adjust(1000)
        assert.deepStrictEqual(yield* Fiber.join(close), requested)
        assert.strictEqual(closedEvents(record).length, 1)
        assert.deepStrictEqual(yield* session.state, { _tag: "Closed", reason: requested })
        assert.deepStrictEqual(seen, ["began", what === "the peer's end" ? "finished" : "interrupted"])
      }))

    it.effect(`closing does not change that it was ${what}`, () =>
      Effect.gen(function*() {
        const { link, raw, record, session } = yield* withRawClient({
          handlers: tools({ x: Effect.uninterruptible(Effect.as(Effect.sleep(500), text("x"))) })
        })
        yield* introduce(raw)
        yield* raw.send(call(1, "x"))
        breakIt(link)
        yield* settled
        const state = yield* session.state
        assert.strictEqual(state._tag, "Closing")
        const close = yield* start(session.close)
        yield* TestClock.adjust(500)
        assert.deepStrictEqual(yield* Fiber.join(close), "reason" in state ? state.reason : undefined)
        assert.strictEqual(closedEvents(record).length, 1)
      }))
  }
})

describe("two sessions", () => {
  it.effect("law 10: one layer constant over two transports is two sessions", () =>
    Effect.gen(function*() {
      const layer = ClientSession.layer({ info })
      const open = Effect.fnUntraced(function*(name: string) {
        const pair = yield* MemoryTransport.make()
        const raw = yield* RawServer.make(
          pair.server,
          RawServer.shakesHands(RawServer.pongs, RawServer.initializeResult({ serverInfo: { name, version: "1" } }))
        )
        return { raw, transport: MemoryTransport.layer(pair.client) }
      })
      const one = yield* open("one")
      const two = yield* open("two")
      const seen = yield* Effect.gen(function*() {
        const outer = yield* ClientSession.ClientSession
        const inner = yield* Effect.gen(function*() {
          const session = yield* ClientSession.ClientSession
          yield* session.ping()
          return [session.profile.info.name, session !== outer]
        }).pipe(Effect.provide(Layer.provide(layer, two.transport)))
        yield* outer.ping()
        return [outer.profile.info.name, ...inner]
      }).pipe(Effect.provide(Layer.provide(layer, one.transport)))
      assert.deepStrictEqual(seen, ["one", "two", true])
      assert.isTrue(one.raw.ended())
      assert.isTrue(two.raw.ended())
    }))

  it.effect("law 10: one constant of a server in this process is a server for each client", () =>
    Effect.gen(function*() {
      let made = 0
      const counting = ServerSession.layerInProcess({
        "tools/call": () => Effect.sync(() => text(`${++made}`))
      }, { info })
      const session = ClientSession.layer({ info })
      const ask = Effect.gen(function*() {
        const session = yield* ClientSession.ClientSession
        return { session, answer: yield* session.callTool("x") }
      })
      const seen = yield* Effect.gen(function*() {
        const outer = yield* ask
        const inner = yield* Effect.provide(ask, Layer.provide(session, counting))
        assert.strictEqual((yield* inner.session.state)._tag, "Closed")
        assert.strictEqual((yield* outer.session.state)._tag, "Operating")
        return [outer.answer, inner.answer]
      }).pipe(Effect.provide(Layer.provide(session, counting)))
      assert.deepStrictEqual(seen, [text("1"), text("2")])
    }))

  it.effect("law 10: also both sides' constants built together, and keyed ones", () =>
    Effect.gen(function*() {
      class Files extends ClientSession.Service<Files>()("test/Files") {}
      class Search extends ClientSession.Service<Search>()("test/Search") {}
      const serving = ServerSession.layer(tools({}), { info })
      const [files, search] = [yield* MemoryTransport.make(), yield* MemoryTransport.makeMultiStream()]
      const layer = Layer.mergeAll(
        Layer.provide(ClientSession.layerOf(Files, { info }), MemoryTransport.layer(files.client)),
        Layer.provide(ClientSession.layerOf(Search, { info }), MemoryTransport.layer(search.client)),
        Layer.provide(serving, MemoryTransport.layer(files.server)),
        Layer.provide(serving, MemoryTransport.layer(search.server))
      )
      const context = yield* Layer.build(layer)
      const [one, two] = [Context.get(context, Files), Context.get(context, Search)]
      assert.notStrictEqual(one, two)
      yield* one.close
      assert.strictEqual((yield* Effect.flip(one.ping())).reason._tag, "Closed")
      yield* two.ping()
    }))

  for (const { form, pair } of forms) {
    it.effect(`an end carries one session (${form})`, () =>
      Effect.gen(function*() {
        const ends = yield* pair
        const session = yield* server(ends.server, tools({}))
        const one = yield* client(ends.client)
        const again = yield* Effect.flip(server(ends.server))
        assert.deepStrictEqual(again.reason, { _tag: "InUse" })
        const twice = yield* Effect.flip(client(ends.client))
        assert.strictEqual(twice.reason._tag, "ConnectFailed")
        yield* one.ping()
        yield* one.close
        yield* session.closed
        const later = yield* Effect.flip(client(ends.client))
        assert.strictEqual(later.reason._tag, "ConnectFailed")
      }))
  }
})

describe("nothing is left", () => {
  const ways: ReadonlyArray<
    readonly [string, (all: Effect.Success<ReturnType<typeof connected>>) => Effect.Effect<unknown>]
  > = [
    ["the client's close", ({ client }) => client.close],
    ["the server's close", ({ server }) => server.close],
    ["both at once", ({ client, server }) => Effect.all([client.close, server.close], { concurrency: "unbounded" })],
    ["the end of the client's reading", ({ links }) => Effect.sync(() => links.client.endReading())],
    ["the end of the server's reading", ({ links }) => Effect.sync(() => links.server.endReading())],
    ["a failed read of the client", ({ links }) => Effect.sync(() => links.client.breakReading(Link.readFailed))],
    ["a failed read of the server", ({ links }) => Effect.sync(() => links.server.breakReading(Link.readFailed))],
    ["a failed write of the client", ({ client, links }) => {
      links.client.failSends(Link.writeFailed)
      return Effect.exit(client.ping())
    }],
    ["a failed write of the server", ({ links, server }) => {
      links.server.failSends(Link.writeFailed)
      return Effect.exit(server.ping())
    }],
    ["a stalled client", ({ links }) =>
      Effect.sync(() => {
        links.client.stall()
        links.client.deliver(JsonRpc.request("p", "ping", undefined))
      })],
    ["a stalled server", ({ links, server }) => {
      links.server.stall()
      return Effect.exit(server.ping())
    }]
  ]

  for (const { form, pair } of forms) {
    for (const [how, end] of ways) {
      it.effect(`law 2: after ${how}, with everything in flight (${form})`, () =>
        Effect.gen(function*() {
          const census = Census.make()
          const program = Effect.gen(function*() {
            const all = yield* connected({
              pair,
              handlers: tools({
                wait: Effect.never,
                ask: Effect.gen(function*() {
                  const { request } = yield* RequestContext.RequestContext
                  yield* Effect.ignore(request("ping", {}))
                  return yield* Effect.never
                }),
                steps: Effect.andThen(RequestContext.progress({ progress: 1 }), Effect.never),
                shout: Effect.andThen(RequestContext.log({ level: "info", data: "x" }), Effect.never)
              }),
              client: {
                handlers: { "notifications/message": () => Effect.never },
                limits: { gracefulClose: "5 seconds" }
              },
              server: { limits: { gracefulClose: "5 seconds" } }
            })
            const { client, server } = all
            const calls = yield* Effect.forEach(["wait", "ask", "steps", "shout"], (name) =>
              start(Effect.exit(client.callTool(name, {}, { onProgress: () => Effect.sleep("1 second") }))))
            const watching = yield* Effect.forEach([client, server], ({ events }) =>
              start(Stream.runDrain(events)))
            yield* settled
            const ending = yield* start(end(all))
            yield* TestClock.adjust("60 seconds")
            yield* settled
            assert.isDefined(ending.pollUnsafe())
            assert.strictEqual((yield* client.state)._tag, "Closed")
            assert.strictEqual((yield* server.state)._tag, "Closed")
            for (const fiber of calls) assert.isTrue(Exit.isFailure(yield* Fiber.join(fiber)))
            yield* Fiber.awaitAll(watching)
            assert.deepStrictEqual([yield* client.inFlight, yield* server.inFlight], [
              { sent: 0, served: 0 },
              { sent: 0, served: 0 }
            ])
          })
          yield* census.count(Effect.scoped(movingOn(program)))
          yield* settled
          assert.strictEqual(census.living(), 0)
        }))
    }
  }
})

describe("races", () => {
  it.effect("[CAN-05] [CAN-07] a cancellation behind the reply is ignored", () =>
    Effect.gen(function*() {
      const { link, raw, record } = yield* withRawClient({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      yield* introduce(raw)
      link.deliver(call(1, "x"))
      link.deliver(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* settled
      assert.deepStrictEqual(names(yield* raw.pending), [1])
      assert.deepStrictEqual(record.of("CancelIgnored").map(({ id }) => id), [1])
    }))

  it.effect("[CAN-04] [CAN-07] a reply behind the cancellation is not sent, though the handler would not stop", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient({
        handlers: tools({ x: Effect.uninterruptible(Effect.as(Effect.sleep(100), text("x"))) })
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1, reason: "enough" }))
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
      yield* TestClock.adjust(100)
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.deepStrictEqual(record.of("Cancelled"), [
        { _tag: "Cancelled", method: "tools/call", id: 1, reason: "enough" }
      ])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("[CAN-07] law 5: the id of a cancelled request is free at once", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        handlers: tools({
          stubborn: Effect.uninterruptible(Effect.as(Effect.sleep(100), text("old"))),
          x: Effect.succeed(text("new"))
        })
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "stubborn"))
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* raw.send(call(1, "x"))
      yield* TestClock.adjust(100)
      yield* settled
      assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* raw.pending, [JsonRpc.success(1, text("new"))])
    }))

  it.effect("[CAN-07] law 5: a duplicate id is refused, and the first one's cancellation still finds it", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.never)
      const { raw, session } = yield* withRawClient({ handlers: tools({ wait: effect }) })
      yield* introduce(raw)
      yield* raw.send(call(1, "wait"))
      yield* raw.send(call(1, "wait"))
      assert.strictEqual(codeOf(yield* raw.response), -32600)
      assert.deepStrictEqual(seen, ["began"])
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: "1" }))
      assert.deepStrictEqual(seen, ["began"])
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* settled
      assert.deepStrictEqual(seen, ["began", "interrupted"])
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("[PING-01] law 5: a ping with an id in flight is refused, one with params that are none, too", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ handlers: tools({ wait: Effect.never }) })
      yield* introduce(raw)
      yield* raw.send(call(1, "wait"))
      yield* raw.send(JsonRpc.request(1, "ping", undefined))
      assert.strictEqual(codeOf(yield* raw.response), -32600)
      yield* raw.send(JsonRpc.request(2, "ping", { _meta: 1 }))
      assert.strictEqual(codeOf(yield* raw.response), -32602)
      yield* raw.send(JsonRpc.request(3, "ping", { _meta: { progressToken: 1 }, more: 1 }))
      assert.deepStrictEqual<unknown>(yield* raw.response, JsonRpc.success(3, {}))
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
    }))

  it.effect("[CAN-05] [CAN-09] cancellations that are none, or of the handshake, do nothing", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.never)
      const { raw, record } = yield* withRawClient({ handlers: tools({ wait: effect }) })
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 0 }))
      yield* introduce(raw)
      yield* raw.send(call(1, "wait"))
      for (
        const params of [undefined, {}, { requestId: null }, { requestId: [1] }, { requestId: 1.5 }, { requestId: 0 }]
      ) {
        yield* raw.send(JsonRpc.notification("notifications/cancelled", params))
      }
      yield* raw.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: [1] as never })
      yield* settled
      assert.deepStrictEqual(seen, ["began"])
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.strictEqual(record.of("Cancelled").length, 0)
    }))

  it.effect("[CAN-06] [CAN-07] an answer that crosses the cancellation is late, and the caller is interrupted", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer({
        script: (message) =>
          "method" in message && message.method === "notifications/cancelled"
            ? [JsonRpc.success(1, text("crossing"))]
            : []
      })
      const calling = yield* start(session.callTool("x"))
      yield* settled
      yield* Fiber.interrupt(calling)
      yield* settled
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Late"])
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/call", "notifications/cancelled"])
    }))

  it.effect("[CAN-01] [CAN-07] a caller that leaves behind the answer cancels nothing", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const calling = yield* start(session.callTool("x", {}, { onProgress: () => Effect.never }))
      yield* settled
      yield* raw.say(
        JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }),
        JsonRpc.success(1, text("x"))
      )
      yield* Fiber.interrupt(calling)
      yield* settled
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/call"])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("[CAN-04] law 8: interrupting the caller cancels once, on either side", () =>
    Effect.gen(function*() {
      const { client, links, records, server } = yield* connected({ handlers: tools({ wait: Effect.never }) })
      const calling = yield* start(client.callTool("wait"))
      yield* settled
      yield* Fiber.interrupt(calling)
      yield* Fiber.interrupt(calling)
      yield* settled
      assert.deepStrictEqual(names(links.client.handed).slice(2), ["tools/call", "notifications/cancelled"])
      assert.deepStrictEqual(records.server.of("Cancelled").map(({ id, reason }) => [id, reason]), [[
        1,
        "no longer wanted"
      ]])
      assert.deepStrictEqual([yield* client.inFlight, yield* server.inFlight], [
        { sent: 0, served: 0 },
        { sent: 0, served: 0 }
      ])
    }))

  it.effect("law 9: a sink that dies fails its call only, which is cancelled", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ script: RawServer.pongs })
      const calling = yield* start(session.callTool("x", {}, { onProgress: () => Effect.die("a bug") }))
      yield* settled
      yield* raw.say(JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }))
      const exit = yield* Fiber.await(calling)
      assert.isTrue(Exit.hasDies(exit))
      yield* settled
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/call", "notifications/cancelled"])
      yield* session.ping()
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("law 9: a sink that throws does no more than one that dies", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ script: RawServer.pongs })
      const calling = yield* start(
        session.callTool("x", {}, {
          onProgress: () => {
            throw new Error("a bug")
          }
        })
      )
      yield* settled
      yield* raw.say(JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }))
      assert.isTrue(Exit.hasDies(yield* Fiber.await(calling)))
      yield* session.ping()
    }))

  it.effect("law 1: the end of the session ends a call whose sink never returns", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({ script: RawServer.pongs })
      const calling = yield* start(session.callTool("x", {}, { onProgress: () => Effect.never }))
      yield* settled
      yield* raw.say(JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }))
      yield* session.ping()
      yield* session.close
      yield* settled
      assert.isDefined(calling.pollUnsafe(), "the call outlives its session")
      assert.deepStrictEqual(yield* reasonOf(calling), closedFor(requested))
    }))
})

describe("observers", () => {
  it.effect("an observer that throws does not become the session's trouble", () =>
    Effect.gen(function*() {
      const record = recorder()
      const { raw, session } = yield* withRawServer({
        script: RawServer.pongs,
        client: {
          observe: (event) => {
            record.observe(event)
            throw new Error("a bug in the observer")
          }
        }
      })
      yield* raw.say(JsonRpc.success(99, {}), {}, JsonRpc.request(1, "no/such", undefined))
      yield* session.ping()
      assert.strictEqual(codeOf(raw.received.at(-2) ?? JsonRpc.success(0, {})), -32601)
      assert.deepStrictEqual(yield* session.close, requested)
      assert.deepStrictEqual(record.events.map(({ _tag }) => _tag), [
        "StateChanged",
        "StateChanged",
        "UnmatchedResponse",
        "Malformed",
        "StateChanged",
        "StateChanged",
        "Closed"
      ])
    }))

  it.effect("events: what happens from now on, for as many as want to know, until the end", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const readers = yield* Effect.forEach([1, 2], () => start(Stream.runCollect(session.events)))
      const one = yield* start(Stream.runCollect(Stream.take(session.events, 1)))
      yield* settled
      yield* raw.say(JsonRpc.success(99, {}))
      yield* settled
      yield* raw.say({})
      yield* settled
      yield* session.close
      const tags = (events: ReadonlyArray<SessionEvent.SessionEvent>) => events.map(({ _tag }) => _tag)
      assert.deepStrictEqual(tags(yield* Fiber.join(one)), ["UnmatchedResponse"])
      for (const reader of readers) {
        assert.deepStrictEqual(tags(yield* Fiber.join(reader)), [
          "UnmatchedResponse",
          "Malformed",
          "StateChanged",
          "StateChanged",
          "Closed"
        ])
      }
      assert.deepStrictEqual(tags(yield* Stream.runCollect(session.events)), [])
    }))

  it.effect("law 12: a reader of events that lags by more than 1,024 loses the oldest", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawServer()
      const seen: Array<unknown> = []
      const reader = yield* start(
        Stream.runForEach(session.events, (event) =>
          Effect.andThen(
            Effect.sync(() => event._tag === "UnmatchedResponse" && seen.push(event.response.id)),
            seen.length === 0 ? Effect.sleep(1000) : Effect.void
          ))
      )
      yield* settled
      for (let id = 1000; id < 4000; id++) link.deliver(JsonRpc.success(id, {}))
      yield* TestClock.adjust(1000)
      yield* session.close
      yield* Fiber.join(reader)
      assert.isBelow(seen.length, 3000)
      assert.isAtLeast(seen.length, 1024)
      assert.strictEqual(seen.at(-1), 3999)
    }))

  it.effect("what a handler that dies dies of is seen here, and never by the peer", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawClient({
        handlers: tools({
          die: Effect.die(new Error("a secret")),
          fail: Effect.fail(McpError.invalidParams("not a secret", { data: 1 })),
          "throw null": () => {
            throw null
          },
          "interrupt itself": Effect.interrupt
        })
      })
      yield* introduce(raw)
      for (const [id, tool] of ["die", "throw null", "interrupt itself"].entries()) {
        yield* raw.send(call(id, tool))
        assert.deepStrictEqual<unknown>(yield* raw.response, {
          jsonrpc: "2.0",
          id,
          error: { code: -32603, message: "Internal error" }
        })
      }
      yield* raw.send(call("f", "fail"))
      assert.deepStrictEqual<unknown>(yield* raw.response, {
        jsonrpc: "2.0",
        id: "f",
        error: { code: -32602, message: "not a secret", data: { data: 1 } }
      })
      assert.deepStrictEqual(record.of("HandlerFailed").map(({ method }) => method), [
        "tools/call",
        "tools/call",
        "tools/call"
      ])
    }))
})
