import { type CloseReason, JsonRpc } from "@effect-mcp/protocol"
import type { ClientSession, ServerSession } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { HandlerCutoff } from "../src/internal/engine/HandlerCutoff.ts"
import { closedEvents, closedFor, peerEnded, requested, serving } from "./support/closing.ts"
import * as Link from "./support/Link.ts"
import {
  call,
  codeOf,
  connected,
  forms,
  initialize,
  initialized,
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

/** A client with a call that its stalled transport has been handed, and another that waits for it. */
const stalledCalls = Effect.gen(function*() {
  const { link, raw, session } = yield* withRawServer({ client: { limits: { gracefulTimeout: "5 seconds" } } })
  link.stall()
  const handed = yield* start(session.callTool("handed"))
  const waiting = yield* start(session.callTool("waiting"))
  yield* settled
  return { handed, link, raw, session, waiting }
})

describe("a session that this side closes", () => {
  for (const { form, pair } of forms) {
    it.effect(`law 2: leaving the scope closes the session and releases its resources (${form})`, () =>
      Effect.gen(function*() {
        const census = FiberCount.make()
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

    it.effect(`pending requests are cancelled at the peer (${form})`, () =>
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

  it.effect("law 1: after the end, requests fail with the close reason, and nothing is sent", () =>
    Effect.gen(function*() {
      const { client, links, server } = yield* connected({ handlers: tools({}) })
      yield* client.close
      yield* server.closed
      const handed = [links.client.sent.length, links.server.sent.length]
      for (const effect of [client.ping(), client.callTool("x"), client.listTools({}, { timeout: 0 })]) {
        assert.deepStrictEqual((yield* Effect.flip(effect)).reason, closedFor(requested, false))
      }
      for (const effect of [server.ping(), server.log({ level: "info", data: 1 })]) {
        assert.deepStrictEqual((yield* Effect.flip(effect)).reason, closedFor(peerEnded, false))
      }
      assert.deepStrictEqual([links.client.sent.length, links.server.sent.length], handed)
      assert.strictEqual(client.profile.info.name, "test")
      assert.strictEqual((yield* server.profile).info?.name, "test")
    }))

  it.effect("a second close waits for the first and changes nothing", () =>
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

  it.effect("a close continues if its caller is interrupted", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.sleep(2000))
      const { session } = yield* serving(effect)
      const close = yield* start(session.close)
      yield* Fiber.interrupt(close)
      assert.strictEqual((yield* session.state)._tag, "Closing")
      yield* TestClock.adjust(2000)
      assert.deepStrictEqual(yield* session.closed, requested)
      assert.deepStrictEqual(seen, ["started", "finished"])
    }))

  it.effect("a closing session rejects requests, answers pings, applies cancellations, and matches no response", () =>
    Effect.gen(function*() {
      const slow = traced(Effect.sleep(3000))
      const cancelled = traced(Effect.never)
      const { raw, record, session } = yield* withRawClient({
        handlers: tools({ slow: slow.effect, cancelled: cancelled.effect }),
        server: { limits: { gracefulTimeout: 5000 } }
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "slow"))
      yield* raw.send(call(2, "cancelled"))
      yield* start(session.close)
      yield* raw.send(call(3, "slow"))
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
      assert.deepStrictEqual(cancelled.seen, ["started", "interrupted"])
      assert.strictEqual(record.of("UnmatchedResponse").length, 1)
      yield* TestClock.adjust(3000)
      assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* raw.pending, [JsonRpc.success(1, text("done"))])
      assert.deepStrictEqual(yield* session.closed, requested)
    }))

  it.effect("closing takes no longer than the handlers", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.sleep(300))
      const { raw, session } = yield* serving(effect)
      const close = yield* start(session.close)
      yield* TestClock.adjust(299)
      assert.isUndefined(close.pollUnsafe())
      yield* TestClock.adjust(1)
      yield* settled
      assert.isDefined(close.pollUnsafe())
      assert.deepStrictEqual(seen, ["started", "finished"])
      assert.deepStrictEqual(names(yield* raw.pending), [1])
    }))

  it.effect("handlers have 5 seconds, then they are interrupted, and their finalizers run", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const { raw, record, session } = yield* serving(Effect.onInterrupt(
        Effect.never,
        () => Effect.andThen(Effect.sleep(400), Effect.sync(() => seen.push("cleaned up")))
      ))
      const close = yield* start(session.close)
      yield* TestClock.adjust(5399)
      assert.deepStrictEqual([close.pollUnsafe(), seen.length], [undefined, 0])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(close), requested)
      assert.deepStrictEqual(seen, ["cleaned up"])
      assert.deepStrictEqual(closedEvents(record).map(({ unfinished }) => unfinished), [[]])
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("HandlerCutoff interrupts handlers before their 5 seconds have passed", () =>
    Effect.gen(function*() {
      const cutoff = yield* Deferred.make<void>()
      const { effect, seen } = traced(Effect.never)
      const { raw, session } = yield* Effect.provideService(
        serving(effect),
        HandlerCutoff,
        Deferred.await(cutoff)
      )
      const close = yield* start(session.close)
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(seen, ["started"])
      yield* Deferred.succeed(cutoff, undefined)
      assert.deepStrictEqual(yield* Fiber.join(close), requested)
      assert.deepStrictEqual(seen, ["started", "interrupted"])
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("law 2: a handler that cannot be interrupted is reported, and does not delay the close", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const { raw, record, session } = yield* census.count(withRawClient({
        handlers: {
          ...tools({ slow: Effect.uninterruptible(Effect.as(Effect.sleep("1 hour"), text("done"))) }),
          "tools/list": () => Effect.uninterruptible(Effect.as(Effect.sleep("1 hour"), { tools: [] }))
        },
        server: { limits: { gracefulTimeout: "5 seconds" } }
      }))
      yield* performHandshake(raw)
      yield* raw.send(call(1, "slow"))
      yield* raw.send(call(2, "slow"))
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

  it.effect("law 2: closing takes at most 10 seconds", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({
        handlers: tools({ slow: Effect.uninterruptible(Effect.never) }),
        server: { limits: { gracefulTimeout: "5 seconds" } }
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "slow"))
      link.stall()
      yield* start(session.ping())
      const close = yield* start(session.close)
      yield* TestClock.adjust("10 seconds")
      yield* settled
      assert.isDefined(close.pollUnsafe())
    }))

  it.effect("law 2: a handler whose reply is not sent is not reported as unfinished", () =>
    Effect.gen(function*() {
      const { link, raw, record, session } = yield* withRawClient({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        server: { limits: { gracefulTimeout: "5 seconds" } }
      })
      yield* performHandshake(raw)
      link.stall()
      for (const id of [1, 2]) yield* raw.send(call(id, "x"))
      const close = yield* start(session.close)
      yield* TestClock.adjust("10 seconds")
      yield* settled
      assert.deepStrictEqual(close.pollUnsafe(), Exit.succeed(requested))
      assert.deepStrictEqual(closedEvents(record).map(({ unfinished }) => unfinished), [[]])
    }))

  it.effect("with a gracefulTimeout of 0, handlers are interrupted at once", () =>
    Effect.gen(function*() {
      const { effect, seen } = traced(Effect.sleep(1))
      const { session } = yield* serving(effect, 0)
      yield* session.close
      assert.deepStrictEqual(seen, ["started", "interrupted"])
    }))

  it.effect("law 9: a handler can close its session, and other handlers finish", () =>
    Effect.gen(function*() {
      const other = traced(Effect.sleep(1000))
      let session: ServerSession.ServerSessionShape | undefined
      const close = Effect.suspend(() => session === undefined ? Effect.die("no session") : session.close)
      const made = yield* withRawClient({
        handlers: tools({
          quit: Effect.as(Effect.forkDetach(close), text("closed")),
          other: other.effect
        }),
        server: { limits: { gracefulTimeout: 5000 } }
      })
      session = made.session
      yield* performHandshake(made.raw)
      yield* made.raw.send(call(1, "other"))
      yield* made.raw.send(call(2, "quit"))
      assert.strictEqual((yield* made.raw.response).id, 2)
      yield* TestClock.adjust(1000)
      assert.strictEqual((yield* made.raw.response).id, 1)
      assert.deepStrictEqual(yield* session.closed, requested)
    }))

  it.effect("law 9: a handler that waits for the close of its session is interrupted", () =>
    Effect.gen(function*() {
      let session: ServerSession.ServerSessionShape | undefined
      const made = yield* withRawClient({
        handlers: tools({
          quit: Effect.as(
            Effect.suspend(() => session === undefined ? Effect.die("no session") : session.close),
            text("x")
          )
        }),
        server: { limits: { gracefulTimeout: 5000 } }
      })
      session = made.session
      yield* performHandshake(made.raw)
      yield* made.raw.send(call(1, "quit"))
      yield* TestClock.adjust(6000)
      assert.deepStrictEqual(yield* session.closed, requested)
      assert.deepStrictEqual(closedEvents(made.record).map(({ unfinished }) => unfinished), [[]])
    }))

  it.effect("law 9: a consumer of progress, a handler of notifications and an observer can close their session", () =>
    Effect.gen(function*() {
      for (const actor of ["progress", "handler", "observer"]) {
        let session: ClientSession.ClientSessionShape | undefined
        const close = Effect.suspend(() => session === undefined ? Effect.void : Effect.asVoid(session.close))
        const made = yield* withRawServer({
          client: {
            handlers: { "notifications/message": () => actor === "handler" ? close : Effect.void },
            observe: (event) => {
              if (actor === "observer" && event._tag === "UnmatchedResponse") Effect.runFork(close)
            }
          }
        })
        session = made.session
        const calling = yield* start(
          Effect.exit(session.callTool("x", {}, { onProgress: () => actor === "progress" ? close : Effect.void }))
        )
        yield* settled
        yield* made.raw.send(
          JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }),
          logMessage("x"),
          JsonRpc.success(99, {})
        )
        assert.deepStrictEqual(yield* session.closed, requested, actor)
        assert.isTrue(Exit.isFailure(yield* Fiber.join(calling)), actor)
      }
    }))

  it.effect("a request that the transport makes wait is sent while the session closes, and cancelled", () =>
    Effect.gen(function*() {
      const { handed, link, raw, session, waiting } = yield* stalledCalls
      const close = yield* start(session.close)
      assert.deepStrictEqual(yield* reasonOf(handed), closedFor(requested))
      assert.deepStrictEqual(yield* reasonOf(waiting), closedFor(requested, false))
      yield* settled
      assert.isUndefined(close.pollUnsafe(), "a request that was handed over can still be sent")
      link.resume()
      yield* settled
      assert.deepStrictEqual(yield* Fiber.join(close), requested)
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/call", "notifications/cancelled"])
      assert.isFalse(link.isOpen())
    }))

  it.effect("a request that fails as unsent is not sent afterwards, even if the transport can send it at once", () =>
    Effect.gen(function*() {
      const { handed, link, raw, session, waiting } = yield* stalledCalls
      // The fibers of the callers have not run since then.
      const close = yield* start(session.close)
      link.resume()
      assert.deepStrictEqual(yield* reasonOf(handed), closedFor(requested))
      assert.deepStrictEqual(yield* reasonOf(waiting), closedFor(requested, false))
      assert.deepStrictEqual(yield* Fiber.join(close), requested)
      yield* settled
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/call", "notifications/cancelled"])
    }))

  it.effect("a request that the transport never sends does not delay the close beyond gracefulTimeout", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const { link, raw, session } = yield* census.count(
        withRawServer({ client: { limits: { gracefulTimeout: "5 seconds" } } })
      )
      link.stall()
      yield* start(Effect.exit(session.callTool("handed")))
      yield* settled
      const close = yield* start(session.close)
      yield* TestClock.adjust(5000)
      yield* settled
      assert.deepStrictEqual(close.pollUnsafe(), Exit.succeed(requested))
      link.resume()
      yield* settled
      assert.deepStrictEqual(names(raw.received).slice(2), [])
      assert.isTrue(raw.ended())
    }))

  it.effect("a log message that waits for room fails with the close reason", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({
        server: { capabilities: { logging: {} }, limits: { maxOutgoingMessages: 1, gracefulTimeout: 0 } }
      })
      yield* performHandshake(raw)
      link.stall()
      const log = (data: string) => session.log({ level: "info", data })
      yield* log("in the transport")
      yield* log("in the outbox")
      const waiting = yield* start(log("waiting"))
      yield* settled
      assert.isUndefined(waiting.pollUnsafe())
      yield* session.close
      assert.deepStrictEqual(yield* reasonOf(waiting), closedFor(requested, false))
    }))

  it.effect("a log message that the transport makes wait fails with the close reason, and is not interrupted", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient({
        server: { capabilities: { logging: {} }, limits: { maxOutgoingMessages: 0, gracefulTimeout: 0 } }
      })
      yield* performHandshake(raw)
      link.stall()
      const waiting = yield* start(session.log({ level: "info", data: "x" }))
      yield* settled
      assert.isUndefined(waiting.pollUnsafe())
      yield* session.close
      const exit = yield* Fiber.await(waiting)
      assert.isTrue(Exit.isFailure(exit))
      assert.isFalse(Exit.hasInterrupts(exit), "the caller was not interrupted")
      assert.deepStrictEqual(yield* reasonOf(waiting), closedFor(requested))
    }))
})

describe("the first close reason stays", () => {
  const failures: ReadonlyArray<readonly [string, (link: Link.Link) => void, CloseReason.CloseReason["_tag"]]> = [
    ["the peer's end", (link) => link.endReading(), "PeerEnded"],
    ["a failed read", (link) => link.breakReading(Link.readFailed), "TransportFailed"],
    ["a failed write", (link) => {
      link.failSending(Link.writeFailed)
      link.deliver(JsonRpc.request("p", "ping", undefined))
    }, "TransportFailed"]
  ]

  for (const [what, breakLink] of failures) {
    it.effect(`${what} does not change the reason of a close by this side`, () =>
      Effect.gen(function*() {
        const { effect, seen } = traced(Effect.sleep(1000))
        const { link, record, session } = yield* serving(effect)
        const close = yield* start(session.close)
        yield* settled
        breakLink(link)
        yield* TestClock.adjust(1000)
        assert.deepStrictEqual(yield* Fiber.join(close), requested)
        assert.strictEqual(closedEvents(record).length, 1)
        assert.deepStrictEqual(yield* session.state, { _tag: "Closed", reason: requested })
        assert.deepStrictEqual(seen, ["started", what === "the peer's end" ? "finished" : "interrupted"])
      }))

    it.effect(`a close does not change the reason of ${what}`, () =>
      Effect.gen(function*() {
        const { link, record, session } = yield* serving(
          Effect.uninterruptible(Effect.as(Effect.sleep(500), text("x"))),
          0
        )
        breakLink(link)
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
