import { ErrorCode, JsonRpc } from "@effect-mcp/protocol"
import { ClientRequestContext, type Handlers } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { codeOf, names, performHandshake, settled, withRawClient, withRawServer } from "./support/sessions.ts"

const start = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

const step = (progressToken: unknown, progress: number) =>
  JsonRpc.notification("notifications/progress", { progressToken, progress })

const rootsList = (id: number | string, meta?: object) =>
  JsonRpc.request(id, "roots/list", meta === undefined ? undefined : { _meta: meta })

const metaOf = (message: JsonRpc.Message) => "method" in message ? message.params?.["_meta"] : undefined

describe("progress of a request of the server, at the server", () => {
  it.effect("[PRG-01] [PRG-02] each request has its own progress token", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* performHandshake(raw)
      const seen: Array<string> = []
      const ping = (name: string) =>
        start(session.ping({ onProgress: ({ progress }) => Effect.sync(() => seen.push(`${name}${progress}`)) }))
      const [one, two] = [yield* ping("a"), yield* ping("b")]
      assert.deepStrictEqual((yield* raw.pending).map(metaOf), [{ progressToken: 1 }, { progressToken: 2 }])
      for (const [token, progress] of [[2, 1], [1, 1], ["1", 2], [2, 2]] as const) {
        yield* raw.send(step(token, progress))
      }
      yield* settled
      assert.sameMembers(seen, ["b1", "a1", "b2"])
      yield* raw.send(JsonRpc.success(1, {}))
      yield* raw.send(JsonRpc.success(2, {}))
      yield* Fiber.joinAll([one, two])
    }))

  it.effect("[PRG-03] [PRG-04] [PRG-05] progress is dropped if it does not grow, is unknown or is late", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient()
      yield* performHandshake(raw)
      const seen: Array<number> = []
      const pinging = yield* start(
        session.ping({ onProgress: ({ progress }) => Effect.sync(() => seen.push(progress)) })
      )
      for (const progress of [1, 1, 0.5, 2]) yield* raw.send(step(1, progress))
      yield* raw.send(step("unknown", 3))
      yield* raw.send(JsonRpc.success(1, {}))
      yield* raw.send(step(1, 3))
      yield* Fiber.join(pinging)
      yield* settled
      assert.deepStrictEqual(seen, [1, 2])
      assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), [
        "NotIncreasing",
        "NotIncreasing",
        "UnknownToken",
        "UnknownToken"
      ])
    }))
})

/** Makes a client whose handler passes its context to the test, and waits before it returns. */
const clientWithLeakedContext = Effect.gen(function*() {
  const context = yield* Deferred.make<ClientRequestContext.ClientRequestContext["Service"]>()
  const finish = yield* Deferred.make<void>()
  const handlers: Handlers.Handlers<"server", ClientRequestContext.ClientRequestContext> = {
    "roots/list": () =>
      Effect.gen(function*() {
        yield* Deferred.succeed(context, yield* ClientRequestContext.ClientRequestContext)
        yield* Deferred.await(finish)
        return { roots: [] }
      })
  }
  const all = yield* withRawServer({ client: { handlers } })
  const before = all.raw.received.length
  return {
    ...all,
    context: Deferred.await(context),
    finish: Deferred.succeed(finish, undefined),
    sentSince: () => all.raw.received.slice(before)
  }
})

const report = (context: ClientRequestContext.ClientRequestContext["Service"], ...values: ReadonlyArray<number>) =>
  Effect.forEach(values, (progress) => context.progress({ progress }), { discard: true })

const stepsIn = (messages: ReadonlyArray<JsonRpc.Message>) =>
  messages.flatMap((message) =>
    "method" in message && message.method === "notifications/progress" ? [message.params] : []
  )

describe("progress of a request of the server, at the client", () => {
  for (const token of [0, "", "token", -7]) {
    it.effect(`[PRG-01] [PRG-03] [PRG-04] is sent with the token ${JSON.stringify(token)} if it grows`, () =>
      Effect.gen(function*() {
        const { finish, context, raw, record, sentSince } = yield* clientWithLeakedContext
        yield* raw.send(rootsList("r", { progressToken: token }))
        yield* report(yield* context, 1, 1, 0, Number.NaN, 1.5)
        yield* finish
        yield* settled
        assert.deepStrictEqual(sentSince(), [
          step(token, 1),
          step(token, 1.5),
          JsonRpc.success("r", { roots: [] })
        ])
        assert.strictEqual(record.of("ProgressDropped").length, 3)
      }))
  }

  for (const progressToken of [null, 1.5, true, {}, [1]]) {
    it.effect(`[PRG-01] ${JSON.stringify(progressToken)} is no token, and the request is rejected`, () =>
      Effect.gen(function*() {
        const { raw, sentSince } = yield* clientWithLeakedContext
        yield* raw.send(rootsList("r", { progressToken }))
        yield* settled
        assert.deepStrictEqual(sentSince().map(codeOf), [ErrorCode.InvalidParams])
      }))
  }

  it.effect("[PRG-04] is not sent if the server requested none", () =>
    Effect.gen(function*() {
      const { finish, context, raw, sentSince } = yield* clientWithLeakedContext
      yield* raw.send(rootsList("r"))
      yield* report(yield* context, 1, 2)
      yield* finish
      yield* settled
      assert.deepStrictEqual(names(sentSince()), ["r"])
    }))

  it.effect("[PRG-05] is not sent after the reply, and not after a cancellation", () =>
    Effect.gen(function*() {
      const finished = yield* clientWithLeakedContext
      yield* finished.raw.send(rootsList("r", { progressToken: 1 }))
      const context = yield* finished.context
      yield* finished.finish
      yield* settled
      yield* report(context, 1)
      assert.deepStrictEqual(stepsIn(finished.sentSince()), [])
      const cancelled = yield* clientWithLeakedContext
      yield* cancelled.raw.send(rootsList("r", { progressToken: 1 }))
      const other = yield* cancelled.context
      yield* cancelled.raw.send(JsonRpc.notification("notifications/cancelled", { requestId: "r" }))
      yield* report(other, 1)
      assert.deepStrictEqual(cancelled.sentSince(), [])
      for (const { record } of [finished, cancelled]) {
        assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), ["ExchangeEnded"])
      }
    }))
})

describe("deadlines of a request of the server", () => {
  const extending = (timeout: number, totalTimeout?: number) => ({
    timeout,
    extendOnProgress: true,
    onProgress: () => Effect.void,
    ...(totalTimeout === undefined ? undefined : { totalTimeout })
  })

  it.effect("[TMO-01] [TMO-03] a request times out after 60 seconds, and is cancelled at the client", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* performHandshake(raw, "2024-11-05")
      const pinging = yield* start(Effect.flip(session.ping()))
      yield* TestClock.adjust(59_999)
      assert.isUndefined(pinging.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual((yield* Fiber.join(pinging)).reason, { _tag: "Timeout", afterMillis: 60_000 })
      assert.deepStrictEqual(names(yield* raw.pending), ["ping", "notifications/cancelled"])
    }))

  it.effect("[TMO-05] progress extends the deadline with extendOnProgress", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* performHandshake(raw)
      const pinging = yield* start(session.ping(extending(100)))
      for (let progress = 1; progress <= 5; progress++) {
        yield* TestClock.adjust(90)
        yield* raw.send(step(1, progress))
      }
      yield* TestClock.adjust(90)
      yield* raw.send(JsonRpc.success(1, {}))
      yield* Fiber.join(pinging)
    }))

  it.effect("[TMO-06] progress does not extend the deadline beyond totalTimeout", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* performHandshake(raw)
      const pinging = yield* start(Effect.flip(session.ping(extending(100, 250))))
      for (let progress = 1; progress <= 4; progress++) {
        yield* TestClock.adjust(60)
        yield* raw.send(step(1, progress))
      }
      yield* TestClock.adjust(10)
      assert.deepStrictEqual((yield* Fiber.join(pinging)).reason, { _tag: "Timeout", afterMillis: 250 })
    }))
})
