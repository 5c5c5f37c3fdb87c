/** Laws that hold on lossy connections. */

import { Tool } from "@effect-mcp/protocol"
import { type ClientSession, HandshakeError } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as assert from "node:assert/strict"
import * as FiberCount from "../../FiberCount.ts"
import type { ClientEnd } from "../../laws/law/TransportSubject.ts"
import { law, type Timeless, topic } from "./Law.ts"
import { answering, eventually, type LawContext } from "./LawContext.ts"

/** A deadline that is long for a response that arrives, and short for one that does not. */
const deadline = 500

/** Returns the outcome of a call: its result, or the reason for its failure. */
const outcomeOf = (
  session: ClientSession.ClientSessionShape,
  tool: string,
  input: { readonly [name: string]: string | number } = {}
) =>
  Effect.map(
    Effect.result(session.callTool(tool, input, { timeout: deadline, totalTimeout: 2 * deadline })),
    Result.match({
      onSuccess: (result) => ({ ended: "Success", returned: Tool.structuredMembers(result)["value"] }),
      onFailure: ({ reason }) => ({ ended: reason._tag, returned: undefined })
    })
  )

/** Asserts that a call succeeds. On a busy machine, all calls may have run out of time together; one is repeated. */
const someSucceed = (
  call: Effect.Effect<{ readonly ended: string }>,
  outcomes: ReadonlyArray<{ readonly ended: string }>
): Effect.Effect<void> => {
  const isSuccess = ({ ended }: { readonly ended: string }): boolean => ended === "Success"
  return outcomes.some(isSuccess) ? Effect.void : Effect.map(
    Effect.repeat(call, { until: isSuccess, times: 20 }),
    (last) => assert.ok(isSuccess(last), "no call succeeded")
  )
}

/** Returns the laws that hold even if messages get lost, arrive twice, or overtake each other. */
export const lossyConnections = <Served extends ClientEnd>(
  { era, form, open }: LawContext<Served>
): ReadonlyArray<Timeless> => {
  // A truncated or repeated request may be rejected, and a stream may end without its response.
  const legal = new Set([
    "Success",
    "Timeout",
    "ErrorResponse",
    ...form === "OneStream" ? [] : ["SendFailed", "OutcomeUnknown"]
  ])
  const attempt = open({ handlers: answering, limits: { handshakeTimeout: deadline, discoverTimeout: deadline } })
  const operating = era === "legacy" ? "Operating" : "Modern"
  // The messages that open a session may get lost as well. Each attempt has a connection of its own.
  const opened = Effect.retry(attempt, { schedule: Schedule.recurs(100) })

  return topic("a lossy connection", [
    law(
      `${
        era === "legacy" ? "[INIT-16] " : ""
      }law 1: every attempt to open a session ends, with the session or a reason`,
      function*() {
        const results = yield* Effect.forEach(
          Array.from({ length: 20 }),
          () => Effect.result(Effect.scoped(attempt)),
          { concurrency: "unbounded" }
        )
        assert.ok(results.some(Result.isSuccess), "there was no session at all")
        for (const result of results.filter(Result.isFailure)) {
          assert.ok(result.failure instanceof HandshakeError.HandshakeError, String(result.failure))
        }
      }
    ),

    law("[TMO-03] [MSG-07] laws 1 and 3: every call ends, and a result is that of its own request", function*() {
      const session = yield* opened
      const values = Array.from({ length: 100 }, (_, index) => `value ${index}`)
      const outcomes = yield* Effect.forEach(
        values,
        (value) => Effect.map(outcomeOf(session, "echo", { value }), (outcome) => ({ ...outcome, value })),
        { concurrency: "unbounded" }
      )
      for (const { ended, returned, value } of outcomes) {
        assert.ok(legal.has(ended), `${value} ended as ${ended}`)
        if (ended === "Success") assert.strictEqual(returned, value)
      }
      yield* someSucceed(outcomeOf(session, "echo", { value: "once more" }), outcomes)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }),

    law(
      "laws 1 and 3: every call that asks the client ends, and a result has the answers to its own questions",
      function*() {
        const session = yield* opened
        const ask = (message: string) =>
          Effect.map(
            Effect.result(session.callTool("ask", { message }, { timeout: deadline, totalTimeout: 2 * deadline })),
            (outcome) => ({ message, outcome, ended: outcome._tag })
          )
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 50 }, (_, index) => `question ${index}`),
          ask,
          { concurrency: "unbounded" }
        )
        for (const { message, outcome } of outcomes) {
          if (Result.isSuccess(outcome)) {
            assert.deepStrictEqual(outcome.success.structuredContent, { answers: [`${message} 1`] })
          } else {
            const { _tag } = outcome.failure.reason
            assert.ok(legal.has(_tag), `${message} ended as ${_tag}`)
          }
        }
        yield* someSucceed(ask("once more"), outcomes)
        yield* eventually(Effect.map(session.inFlight, ({ sent, served }) => sent === 0 && served === 0))
      }
    ),

    law("law 7: a complete message is processed, whatever arrived before", function*() {
      const session = yield* opened
      yield* Effect.forEach(Array.from({ length: 100 }), () => outcomeOf(session, "steps", { count: 3 }), {
        concurrency: "unbounded"
      })
      yield* eventually(
        Effect.map(outcomeOf(session, "echo", { value: "still here" }), ({ returned }) => returned === "still here")
      )
      assert.strictEqual((yield* session.state)._tag, operating)
    }),

    law("law 2: after the scope has closed no fiber and no exchange is left", function*() {
      const fibers = FiberCount.make()
      yield* fibers.count(Effect.gen(function*() {
        const scope = yield* Scope.make()
        const session = yield* Scope.provide(opened, scope)
        const calls = yield* Effect.forEach(
          ["wait", "echo", "pingClient", "steps", "ask", "wait", "echo", "pingClient", "steps", "ask"],
          (tool) => Effect.forkDetach(outcomeOf(session, tool, { count: 3 }))
        )
        yield* Effect.sleep(50)
        yield* Scope.close(scope, Exit.void)
        yield* Effect.forEach(calls, Fiber.join)
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
        assert.strictEqual((yield* session.state)._tag, "Closed")
      }))
      yield* eventually(Effect.sync(() => fibers.living() === 0))
    }),

    law("law 10: two sessions do not affect each other", function*() {
      const [one, two] = [yield* opened, yield* opened]
      const indexes = Array.from({ length: 50 }, (_, index) => index)
      const all = (session: ClientSession.ClientSessionShape, name: string) =>
        Effect.forEach(indexes, (index) => outcomeOf(session, "echo", { value: `${name} ${index}` }), {
          concurrency: "unbounded"
        })
      const [ofOne, ofTwo] = yield* Effect.all([all(one, "one"), all(two, "two")], { concurrency: 2 })
      for (const [name, session, outcomes] of [["one", one, ofOne], ["two", two, ofTwo]] as const) {
        outcomes.forEach(({ ended, returned }, index) =>
          ended === "Success" && assert.strictEqual(returned, `${name} ${index}`)
        )
        yield* someSucceed(outcomeOf(session, "echo", { value: "once more" }), outcomes)
      }
      yield* one.close
      assert.strictEqual((yield* two.state)._tag, operating)
    })
  ])
}
