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
  introduce,
  names,
  settled,
  start,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

describe("a stream for each request", () => {
  it.effect("a handler tells its client what it has changed, on its own stream, and not after the reply", () =>
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
        // There is no standalone stream here.
        pair: MemoryTransport.makeMultiStream()
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "change"))
      assert.deepStrictEqual(names([yield* raw.receive, yield* raw.receive]), ["notifications/resources/updated", 1])
      const context = yield* Deferred.await(later)
      const { reason } = yield* Effect.flip(context.notify("notifications/resources/updated", { uri }))
      assert.deepStrictEqual(reason, { _tag: "ExchangeEnded" })
    }))

  it.effect("[SHS-14] NoRoute: what belongs to no request needs a standalone stream", () =>
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

  it.effect("[SHS-14] with a standalone stream it has one", () =>
    Effect.gen(function*() {
      const heard: Array<unknown> = []
      const { server } = yield* connected({
        pair: MemoryTransport.makeMultiStream({ standalone: true }),
        client: { handlers: { "notifications/message": ({ data }) => Effect.sync(() => heard.push(data)) } }
      })
      yield* server.log({ level: "info", data: "x" })
      yield* server.ping()
      assert.deepStrictEqual(heard, ["x"])
    }))

  it.effect("[SHS-08] log and progress of a handler need no standalone stream", () =>
    Effect.gen(function*() {
      const heard: Array<unknown> = []
      const { client } = yield* connected({
        pair: MemoryTransport.makeMultiStream(),
        handlers: tools({
          x: Effect.gen(function*() {
            yield* RequestContext.log({ level: "info", data: "log" })
            yield* RequestContext.progress({ progress: 1 })
            return text("x")
          })
        }),
        client: { handlers: { "notifications/message": ({ data }) => Effect.sync(() => heard.push(data)) } }
      })
      yield* client.callTool("x", {}, { onProgress: ({ progress }) => Effect.sync(() => heard.push(progress)) })
      assert.deepStrictEqual(heard, ["log", 1])
    }))

  it.effect("[PRG-01] progress that the session reports reaches the caller whose token it names", () =>
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

  it.effect("[PRG-03] [PRG-05] progress that its receiver would drop fails, and says why", () =>
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
      const said = links.server.handed.length
      const refused = (token: Meta.ProgressToken, step: Progress.Progress) =>
        Effect.map(Effect.flip(server.progress(token, step)), ({ reason }) => reason)
      const invalid = (problem: string): RequestError.RequestErrorReason => ({ _tag: "InvalidParams", problem })
      assert.deepStrictEqual(
        yield* refused(named, { progress: Number.NaN }),
        invalid("progress: expected a finite number, got NaN")
      )
      assert.deepStrictEqual(
        yield* refused(named, { progress: 3, total: Number.POSITIVE_INFINITY }),
        invalid("total: expected a finite number, got Infinity")
      )
      // What the handler has reported counts, too.
      for (const progress of [1, 2]) {
        assert.deepStrictEqual(
          yield* refused(named, { progress }),
          invalid(`progress: expected more than 2, the last step, got ${progress}`)
        )
      }
      assert.deepStrictEqual(yield* refused("never", { progress: 3 }), { _tag: "UnknownProgressToken", token: "never" })
      assert.strictEqual(links.server.handed.length, said)
      yield* server.progress(named, { progress: 3 })
      yield* Fiber.interrupt(waiting)
      yield* settled
      assert.deepStrictEqual(yield* refused(named, { progress: 4 }), { _tag: "UnknownProgressToken", token: named })
      assert.strictEqual(
        (yield* Effect.flip(client.progress("never", { progress: 1 }))).reason._tag,
        "UnknownProgressToken"
      )
    }))

  it.effect("[SHS-08] a message of the session that names a related request takes the stream of that request", () =>
    Effect.gen(function*() {
      const served = Deferred.makeUnsafe<RequestContext.RequestContext["Service"]>()
      const finish = Deferred.makeUnsafe<void>()
      const heard: Array<unknown> = []
      const { client, server } = yield* connected({
        // There is no standalone stream: what takes no request's stream has no route.
        pair: MemoryTransport.makeMultiStream(),
        handlers: tools({
          wait: Effect.gen(function*() {
            yield* Deferred.succeed(served, yield* RequestContext.RequestContext)
            yield* Deferred.await(finish)
            return text("done")
          })
        }),
        client: {
          capabilities: { roots: {} },
          handlers: {
            "notifications/message": ({ data }) => Effect.sync(() => heard.push(data)),
            "roots/list": () => Effect.succeed({ roots: [] })
          }
        }
      })
      const waiting = yield* start(client.callTool("wait", {}, {
        onProgress: ({ progress }) => Effect.sync(() => heard.push(progress))
      }))
      const { id: relatedRequestId, meta } = yield* Deferred.await(served)
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
      assert.sameMembers(heard, ["log", 1, "sent"])
    }))

  it.effect("[CAN-04] on streams, a cancelled request's stream is closed, and the next one is unharmed", () =>
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

  it.effect("OutcomeUnknown: a stream that the peer ends without a response ends only its request", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.makeMultiStream()
      const { raw, session } = yield* withRawServer({ pair: Effect.succeed(pair) })
      const one = yield* start(session.callTool("one"))
      const two = yield* start(session.callTool("two"))
      yield* settled
      yield* raw.settle(1)
      const error = yield* Effect.flip(Fiber.join(one))
      assert.deepStrictEqual(
        error.reason._tag === "OutcomeUnknown" ? error.reason.error.reason : error.reason,
        { _tag: "ExchangeEnded" }
      )
      yield* settled
      assert.notInclude(names(raw.received), "notifications/cancelled")
      yield* raw.say(JsonRpc.success(2, text("two")))
      assert.deepStrictEqual(yield* Fiber.join(two), text("two"))
    }))
})

describe("streams that outlive their response", () => {
  it.effect("[CAN-04] law 2: a stream whose caller has left is given up at once, though the peer leaves it open", () =>
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

  it.effect("[SHS-09] law 2: a stream that the peer leaves open behind its response is given up", () =>
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
        yield* raw.sayOpen(id, JsonRpc.success(id, text("x")))
        yield* Fiber.join(calling)
      }
      yield* TestClock.adjust("60 seconds")
      yield* settled
      assert.strictEqual(census.living(), idle, "each answered request has left a fiber behind")
    }))
})
