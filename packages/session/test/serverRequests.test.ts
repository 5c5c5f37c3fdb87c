import { ErrorCode, JsonRpc } from "@effect-mcp/protocol"
import { CallbackContext, type Handlers } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { codeOf, names, performHandshake, settled, withRawClient, withRawServer } from "./support/sessions.ts"

const start = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

const step = (progressToken: unknown, progress: number) =>
  JsonRpc.notification("notifications/progress", { progressToken, progress })

const ask = (id: number | string, meta?: object) =>
  JsonRpc.request(id, "roots/list", meta === undefined ? undefined : { _meta: meta })

const metaOf = (message: JsonRpc.Message) => "method" in message ? message.params?.["_meta"] : undefined

describe("progress of a server's question, at the server", () => {
  it.effect("[PRG-01] [PRG-02] each question has a token of its own", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* performHandshake(raw)
      const seen: Array<string> = []
      const listen = (name: string) =>
        start(session.ping({ onProgress: ({ progress }) => Effect.sync(() => seen.push(`${name}${progress}`)) }))
      const [one, two] = [yield* listen("a"), yield* listen("b")]
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

  it.effect("[PRG-03] [PRG-04] [PRG-05] what does not grow, is nobody's, or comes too late goes nowhere", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient()
      yield* performHandshake(raw)
      const seen: Array<number> = []
      const asking = yield* start(
        session.ping({ onProgress: ({ progress }) => Effect.sync(() => seen.push(progress)) })
      )
      for (const progress of [1, 1, 0.5, 2]) yield* raw.send(step(1, progress))
      yield* raw.send(step("nobody", 3))
      yield* raw.send(JsonRpc.success(1, {}))
      yield* raw.send(step(1, 3))
      yield* Fiber.join(asking)
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

/** A client whose handler gives its context away, and waits until it may answer. */
const confiding = Effect.gen(function*() {
  const context = yield* Deferred.make<CallbackContext.CallbackContext["Service"]>()
  const answer = yield* Deferred.make<void>()
  const handlers: Handlers.Handlers<"server", CallbackContext.CallbackContext> = {
    "roots/list": () =>
      Effect.gen(function*() {
        yield* Deferred.succeed(context, yield* CallbackContext.CallbackContext)
        yield* Deferred.await(answer)
        return { roots: [] }
      })
  }
  const all = yield* withRawServer({ client: { handlers } })
  const said = all.raw.received.length
  return {
    ...all,
    context: Deferred.await(context),
    answer: Deferred.succeed(answer, undefined),
    sentSince: () => all.raw.received.slice(said)
  }
})

const tell = (context: CallbackContext.CallbackContext["Service"], ...values: ReadonlyArray<number>) =>
  Effect.forEach(values, (progress) => context.progress({ progress }), { discard: true })

const stepsIn = (messages: ReadonlyArray<JsonRpc.Message>) =>
  messages.flatMap((message) =>
    "method" in message && message.method === "notifications/progress" ? [message.params] : []
  )

describe("progress of a server's question, at the client", () => {
  for (const token of [0, "", "token", -7]) {
    it.effect(`[PRG-01] [PRG-03] [PRG-04] is told with the token ${JSON.stringify(token)}, as far as it grows`, () =>
      Effect.gen(function*() {
        const { answer, context, raw, record, sentSince } = yield* confiding
        yield* raw.send(ask("r", { progressToken: token }))
        yield* tell(yield* context, 1, 1, 0, Number.NaN, 1.5)
        yield* answer
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
    it.effect(`[PRG-01] ${JSON.stringify(progressToken)} is no token, and the question is refused`, () =>
      Effect.gen(function*() {
        const { raw, sentSince } = yield* confiding
        yield* raw.send(ask("r", { progressToken }))
        yield* settled
        assert.deepStrictEqual(sentSince().map(codeOf), [ErrorCode.InvalidParams])
      }))
  }

  it.effect("[PRG-04] nobody asked for it, and nothing is told", () =>
    Effect.gen(function*() {
      const { answer, context, raw, sentSince } = yield* confiding
      yield* raw.send(ask("r"))
      yield* tell(yield* context, 1, 2)
      yield* answer
      yield* settled
      assert.deepStrictEqual(names(sentSince()), ["r"])
    }))

  it.effect("[PRG-05] after the answer nothing is told, nor after a cancellation", () =>
    Effect.gen(function*() {
      const answered = yield* confiding
      yield* answered.raw.send(ask("r", { progressToken: 1 }))
      const context = yield* answered.context
      yield* answered.answer
      yield* settled
      yield* tell(context, 1)
      assert.deepStrictEqual(stepsIn(answered.sentSince()), [])
      const cancelled = yield* confiding
      yield* cancelled.raw.send(ask("r", { progressToken: 1 }))
      const other = yield* cancelled.context
      yield* cancelled.raw.send(JsonRpc.notification("notifications/cancelled", { requestId: "r" }))
      yield* tell(other, 1)
      assert.deepStrictEqual(cancelled.sentSince(), [])
      for (const { record } of [answered, cancelled]) {
        assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), ["ExchangeEnded"])
      }
    }))
})

describe("deadlines of a server's question", () => {
  const listening = (deadline: number, totalTimeout?: number) => ({
    timeout: deadline,
    extendOnProgress: true,
    onProgress: () => Effect.void,
    ...(totalTimeout === undefined ? undefined : { totalTimeout })
  })

  it.effect("[TMO-01] [TMO-03] it ends after 60 seconds, and the client is told", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* performHandshake(raw, "2024-11-05")
      const asking = yield* start(Effect.flip(session.ping()))
      yield* TestClock.adjust(59_999)
      assert.isUndefined(asking.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual((yield* Fiber.join(asking)).reason, { _tag: "Timeout", afterMillis: 60_000 })
      assert.deepStrictEqual(names(yield* raw.pending), ["ping", "notifications/cancelled"])
    }))

  it.effect("[TMO-05] progress puts it off, where that was asked for", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* performHandshake(raw)
      const asking = yield* start(session.ping(listening(100)))
      for (let progress = 1; progress <= 5; progress++) {
        yield* TestClock.adjust(90)
        yield* raw.send(step(1, progress))
      }
      yield* TestClock.adjust(90)
      yield* raw.send(JsonRpc.success(1, {}))
      yield* Fiber.join(asking)
    }))

  it.effect("[TMO-06] but not beyond the total", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* performHandshake(raw)
      const asking = yield* start(Effect.flip(session.ping(listening(100, 250))))
      for (let progress = 1; progress <= 4; progress++) {
        yield* TestClock.adjust(60)
        yield* raw.send(step(1, progress))
      }
      yield* TestClock.adjust(10)
      assert.deepStrictEqual((yield* Fiber.join(asking)).reason, { _tag: "Timeout", afterMillis: 250 })
    }))
})
