import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Child from "../fixtures/child.ts"
import { call, OfficialClient, timedOutAfter } from "../fixtures/officialClient.ts"
import { type Conditions, isLateProgress } from "../fixtures/officialClients.ts"
import { members } from "./results.ts"

/** A handler of the client that never returns, and its start and interruption. */
const neverHandler = Effect.gen(function*() {
  const started = yield* Deferred.make<void>()
  const interrupted = yield* Deferred.make<void>()
  const handler = () =>
    Effect.andThen(
      Deferred.succeed(started, undefined),
      Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
    )
  return { handler, started: Deferred.await(started), interrupted: Deferred.await(interrupted) }
})

const isResponseTo = (id: unknown) => (message: unknown) =>
  members(message)["id"] === id && members(message)["method"] === undefined

const lastCall = Effect.map(
  OfficialClient,
  ({ sent }) => sent.map(members).findLast(({ method }) => method === "tools/call")?.["id"]
)

export const cancellation = ({ it, peer }: Conditions) => {
  it.effect("[CAN-01] [CAN-04] [CAN-08] an aborted call is interrupted and never answered", () =>
    Effect.gen(function*() {
      const { errors, received, request, stderr } = yield* OfficialClient
      const calling = yield* Effect.forkChild(call("remind", { text: "the milk", afterMs: 60_000 }))
      yield* Child.until(() => stderr().includes("reminder of the milk: due"))
      const id = yield* lastCall
      yield* Fiber.interrupt(calling)
      yield* Child.until(() => stderr().includes("reminder of the milk: cancelled"))
      yield* request.ping
      assert.isFalse(received.some(isResponseTo(id)))
      assert.deepStrictEqual(errors.filter((error) => !isLateProgress(error)), [])
    }))

  it.effect("[TMO-03] a call that times out at the client is interrupted", () =>
    Effect.gen(function*() {
      const { stderr } = yield* OfficialClient
      const isDue = Child.until(() => stderr().includes("reminder of the bread: due"))
      const outcome = yield* timedOutAfter("remind", { text: "the bread", afterMs: 60_000 }, isDue)
      assert.notProperty(outcome, "text")
      yield* Child.until(() => stderr().includes("reminder of the bread: cancelled"))
    }))

  it.effect("[CAN-01] [CAN-04] a request that belongs to a call is cancelled with the call", () =>
    Effect.gen(function*() {
      const { handlers, request, sent } = yield* OfficialClient
      const { handler, interrupted, started } = yield* neverHandler
      handlers.sampling = handler
      const before = sent.length
      const calling = yield* Effect.forkChild(call("summarize", { name: "plan" }))
      yield* started
      yield* Fiber.interrupt(calling)
      yield* interrupted
      yield* request.ping
      assert.deepStrictEqual(
        sent.slice(before).map((message) => members(message)["method"]),
        ["tools/call", "notifications/cancelled", "ping"]
      )
    }))

  it.effect("[TMO-01] [TMO-03] [TMO-04] a request that times out is cancelled at the client", () =>
    Effect.gen(function*() {
      const { handlers } = yield* OfficialClient
      const { handler, interrupted } = yield* neverHandler
      handlers.sampling = handler
      assert.deepStrictEqual(yield* call("summarize", { name: "plan", timeoutMs: 50 }), {
        text: "sampling/createMessage: timed out after 50 ms; set timeout or totalTimeout to allow more",
        isError: true
      })
      yield* interrupted
    }))

  it.effect(`[CAN-05] [CAN-07] aborting a completed call sends ${peer.cancelsAnswered ? "a" : "no"} cancellation`, () =>
    Effect.gen(function*() {
      const { request, sent, stderr } = yield* OfficialClient
      const scope = yield* Scope.make()
      const signal = yield* Scope.provide(Effect.abortSignal, scope)
      assert.deepStrictEqual(yield* call("remind", { text: "nothing", afterMs: 0 }, { signal }), {
        text: "nothing",
        isError: false
      })
      const id = yield* lastCall
      const before = sent.length
      yield* Scope.close(scope, Exit.void)
      yield* request.ping
      const cancelled = sent.slice(before).map(members).filter(({ method }) => method === "notifications/cancelled")
      assert.deepStrictEqual(
        cancelled.map(({ params }) => members(params)["requestId"]),
        peer.cancelsAnswered ? [id] : []
      )
      assert.deepStrictEqual(yield* call("remind", { text: "everything", afterMs: 0 }), {
        text: "everything",
        isError: false
      })
      assert.notInclude(stderr(), "reminded of nothing")
    }))
}
