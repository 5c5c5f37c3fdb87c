import { JsonRpc, type Meta, type Progress } from "@effect-mcp/protocol"
import { MemoryTransport, RequestContext, type RequestError } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import {
  call,
  connected,
  names,
  performHandshake,
  settled,
  start,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

describe("a stream for each request", () => {
  it.effect("a handler sends a notification on the stream of its request, and none after the reply", () =>
    Effect.gen(function*() {
      const later = Deferred.makeUnsafe<RequestContext.RequestContext["Service"]>()
      const uri = "note:///a"
      const { raw } = yield* withRawClient({
        handlers: {
          ...tools({
            change: Effect.gen(function*() {
              yield* Effect.orDie(RequestContext.notify("notifications/resources/updated", { uri }))
              yield* Deferred.succeed(later, yield* RequestContext.RequestContext)
              return text("changed")
            })
          }),
          "resources/subscribe": () => Effect.succeed({})
        },
        // This transport has no standalone stream.
        pair: MemoryTransport.makeMultiStream()
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "change"))
      assert.deepStrictEqual(names([yield* raw.receive, yield* raw.receive]), ["notifications/resources/updated", 1])
      const context = yield* Deferred.await(later)
      const { reason } = yield* Effect.flip(context.notify("notifications/resources/updated", { uri }))
      assert.deepStrictEqual(reason, { _tag: "ExchangeEnded" })
    }))

  it.effect("[SHS-14] messages that belong to no request fail with NoRoute without a standalone stream", () =>
    Effect.gen(function*() {
      const { client, records, server } = yield* connected({
        pair: MemoryTransport.makeMultiStream(),
        handlers: tools({ x: Effect.succeed(text("x")) })
      })
      const log = yield* Effect.flip(server.log({ level: "info", data: "x" }))
      const ping = yield* Effect.flip(server.ping())
      for (const { reason } of [log, ping]) {
        assert.strictEqual(reason._tag, "SendFailed")
        assert.strictEqual(reason._tag === "SendFailed" && reason.error.reason._tag, "NoRoute")
      }
      assert.deepStrictEqual(records.server.of("SendFailed").map(({ method }) => method), [
        "notifications/message",
        "ping"
      ])
      assert.deepStrictEqual(yield* server.inFlight, { sent: 0, served: 0 })
      assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
      assert.deepStrictEqual(records.client.of("UnmatchedResponse"), [])
    }))

  it.effect("[SHS-14] messages that belong to no request use the standalone stream", () =>
    Effect.gen(function*() {
      const received: Array<unknown> = []
      const { server } = yield* connected({
        pair: MemoryTransport.makeMultiStream({ standalone: true }),
        client: { handlers: { "notifications/message": ({ data }) => Effect.sync(() => received.push(data)) } }
      })
      yield* server.log({ level: "info", data: "x" })
      yield* server.ping()
      assert.deepStrictEqual(received, ["x"])
    }))

  it.effect("[SHS-08] log messages and progress of a handler use the stream of its request", () =>
    Effect.gen(function*() {
      const received: Array<unknown> = []
      const { client } = yield* connected({
        pair: MemoryTransport.makeMultiStream(),
        handlers: tools({
          x: Effect.gen(function*() {
            yield* RequestContext.log({ level: "info", data: "log" })
            yield* RequestContext.progress({ progress: 1 })
            return text("x")
          })
        }),
        client: { handlers: { "notifications/message": ({ data }) => Effect.sync(() => received.push(data)) } }
      })
      yield* client.callTool("x", {}, { onProgress: ({ progress }) => Effect.sync(() => received.push(progress)) })
      assert.deepStrictEqual(received, ["log", 1])
    }))

  it.effect("[PRG-01] progress that the session reports reaches the caller with its token", () =>
    Effect.gen(function*() {
      const token = Deferred.makeUnsafe<Meta.ProgressToken | undefined>()
      const steps: Array<number> = []
      const { client, server } = yield* connected({
        handlers: tools({
          wait: Effect.flatMap(
            RequestContext.RequestContext,
            ({ meta }) => Effect.andThen(Deferred.succeed(token, meta?.progressToken), Effect.never)
          ),
          x: Effect.succeed(text("x"))
        })
      })
      const waiting = yield* start(client.callTool("wait", {}, {
        onProgress: ({ progress }) => Effect.sync(() => steps.push(progress))
      }))
      const named = yield* Deferred.await(token)
      assert.isDefined(named)
      if (named === undefined) return
      yield* server.progress(named, { progress: 1 })
      yield* server.progress(named, { progress: 2 })
      yield* settled
      assert.deepStrictEqual(steps, [1, 2])
      yield* Fiber.interrupt(waiting)
    }))

  it.effect("[PRG-03] [PRG-05] progress that its receiver would drop fails with the reason", () =>
    Effect.gen(function*() {
      const token = Deferred.makeUnsafe<Meta.ProgressToken | undefined>()
      const { client, links, server } = yield* connected({
        handlers: tools({
          wait: Effect.flatMap(
            RequestContext.RequestContext,
            ({ meta, progress }) =>
              progress({ progress: 2 }).pipe(
                Effect.andThen(Deferred.succeed(token, meta?.progressToken)),
                Effect.andThen(Effect.never)
              )
          )
        })
      })
      const waiting = yield* start(client.callTool("wait", {}, { onProgress: () => Effect.void }))
      const named = yield* Deferred.await(token)
      assert.isDefined(named)
      if (named === undefined) return
      const before = links.server.sent.length
      const failureOf = (token: Meta.ProgressToken, step: Progress.Progress) =>
        Effect.map(Effect.flip(server.progress(token, step)), ({ reason }) => reason)
      const invalid = (problem: string): RequestError.RequestErrorReason => ({ _tag: "InvalidParams", problem })
      assert.deepStrictEqual(
        yield* failureOf(named, { progress: Number.NaN }),
        invalid("progress: expected a finite number, got NaN")
      )
      assert.deepStrictEqual(
        yield* failureOf(named, { progress: 3, total: Number.POSITIVE_INFINITY }),
        invalid("total: expected a finite number, got Infinity")
      )
      // The step that the handler has reported counts as well.
      for (const progress of [1, 2]) {
        assert.deepStrictEqual(
          yield* failureOf(named, { progress }),
          invalid(`progress: expected more than 2, the last step, got ${progress}`)
        )
      }
      assert.deepStrictEqual(yield* failureOf("never", { progress: 3 }), {
        _tag: "UnknownProgressToken",
        token: "never"
      })
      assert.strictEqual(links.server.sent.length, before)
      yield* server.progress(named, { progress: 3 })
      assert.deepStrictEqual(
        yield* failureOf(named, { progress: 3 }),
        invalid("progress: expected more than 3, the last step, got 3")
      )
      yield* Fiber.interrupt(waiting)
      yield* settled
      assert.deepStrictEqual(yield* failureOf(named, { progress: 4 }), { _tag: "UnknownProgressToken", token: named })
      assert.strictEqual(
        (yield* Effect.flip(client.progress("never", { progress: 1 }))).reason._tag,
        "UnknownProgressToken"
      )
    }))

  it.effect("[SHS-08] a message of the session with a related request uses the stream of that request", () =>
    Effect.gen(function*() {
      const context = Deferred.makeUnsafe<RequestContext.RequestContext["Service"]>()
      const finish = Deferred.makeUnsafe<void>()
      const received: Array<unknown> = []
      const { client, server } = yield* connected({
        // Without a standalone stream, a message without the stream of a request has no route.
        pair: MemoryTransport.makeMultiStream(),
        handlers: tools({
          wait: Effect.gen(function*() {
            yield* Deferred.succeed(context, yield* RequestContext.RequestContext)
            yield* Deferred.await(finish)
            return text("done")
          })
        }),
        client: {
          capabilities: { roots: {} },
          handlers: {
            "notifications/message": ({ data }) => Effect.sync(() => received.push(data)),
            "roots/list": () => Effect.succeed({ roots: [] })
          }
        }
      })
      const waiting = yield* start(client.callTool("wait", {}, {
        onProgress: ({ progress }) => Effect.sync(() => received.push(progress))
      }))
      const { id: relatedRequestId, meta } = yield* Deferred.await(context)
      const related = { relatedRequestId }
      yield* server.log({ level: "info", data: "log" }, related)
      yield* server.progress(meta?.progressToken ?? "none", { progress: 1 }, related)
      yield* server.send(JsonRpc.notification("notifications/message", { level: "info", data: "sent" }), related)
      yield* server.ping(related)
      assert.deepStrictEqual(yield* server.listRoots(related), { roots: [] })
      const { reason } = yield* Effect.flip(server.ping())
      assert.strictEqual(reason._tag, "SendFailed")
      yield* Deferred.succeed(finish, undefined)
      assert.deepStrictEqual(yield* Fiber.join(waiting), text("done"))
      assert.sameMembers(received, ["log", 1, "sent"])
    }))

  it.effect("[CAN-04] a cancellation closes the stream of its request, and affects no other", () =>
    Effect.gen(function*() {
      const { client, records, server } = yield* connected({
        pair: MemoryTransport.makeMultiStream(),
        handlers: tools({ wait: Effect.never, x: Effect.succeed(text("x")) })
      })
      const waiting = yield* start(client.callTool("wait"))
      yield* settled
      yield* Fiber.interrupt(waiting)
      yield* settled
      assert.deepStrictEqual(yield* server.inFlight, { sent: 0, served: 0 })
      assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
      assert.deepStrictEqual([records.client.of("SendFailed"), records.server.of("SendFailed")], [[], []])
    }))

  it.effect("a request whose stream ends without a response fails as OutcomeUnknown, and affects no other", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.makeMultiStream()
      const { raw, session } = yield* withRawServer({ pair: Effect.succeed(pair) })
      const one = yield* start(session.callTool("one"))
      const two = yield* start(session.callTool("two"))
      yield* settled
      yield* raw.endExchange(1)
      const error = yield* Effect.flip(Fiber.join(one))
      assert.deepStrictEqual<unknown>(
        error.reason._tag === "OutcomeUnknown" ? error.reason.error.reason : error.reason,
        { _tag: "ExchangeEnded", isStreamLost: true }
      )
      yield* settled
      assert.notInclude(names(raw.received), "notifications/cancelled")
      yield* raw.send(JsonRpc.success(2, text("two")))
      assert.deepStrictEqual(yield* Fiber.join(two), text("two"))
    }))
})

describe("streams that stay open after their request", () => {
  it.effect("law 2: are closed at once if the caller was interrupted", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const { raw, session } = yield* census.count(withRawServer({ pair: MemoryTransport.makeMultiStream() }))
      yield* TestClock.adjust("30 seconds")
      yield* settled
      const idle = census.living()
      yield* Fiber.interrupt(yield* start(session.callTool("x", {}, { timeout: "Infinity" })))
      yield* settled
      assert.strictEqual(census.living(), idle)
      assert.deepStrictEqual(names(raw.received).slice(2), ["tools/call", "notifications/cancelled"])
    }))

  it.effect("[SHS-09] law 2: are closed after the write timeout", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.makeMultiStream()
      const census = FiberCount.make()
      const { raw, session } = yield* census.count(withRawServer({ pair: Effect.succeed(pair) }))
      yield* TestClock.adjust("30 seconds")
      yield* settled
      const idle = census.living()
      for (const id of [1, 2, 3]) {
        const calling = yield* start(session.callTool("x"))
        yield* settled
        yield* raw.sendOnOpenStream(id, JsonRpc.success(id, text("x")))
        yield* Fiber.join(calling)
      }
      yield* TestClock.adjust("60 seconds")
      yield* settled
      assert.strictEqual(census.living(), idle, "each request has left a fiber")
    }))
})
