/** Requests that wait in the outbox. */
import { JsonRpc } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Lane from "../../../src/internal/engine/Lane.ts"
import { Outbox } from "../../../src/internal/engine/Outbox.ts"
import * as PendingRequests from "../../../src/internal/engine/PendingRequests.ts"
import { Timer } from "../../../src/internal/engine/Timer.ts"
import * as Limits from "../../../src/Limits.ts"
import * as MemoryBudget from "../../../src/MemoryBudget.ts"
import { settled } from "../../support/sessions.ts"

describe("a request that waits in the outbox", () => {
  it.effect("is not sent after it has failed, although its caller has not withdrawn it yet", () =>
    Effect.gen(function*() {
      const sent: Array<JsonRpc.Frame> = []
      const free = yield* Deferred.make<void>()
      const clock = yield* Clock.Clock
      const context = yield* Effect.context()
      const fork = Effect.runForkWith(context)
      const outbox = new Outbox({
        budget: MemoryBudget.make(),
        connection: {
          run: () => Effect.never,
          send: ({ message }) => {
            sent.push(message)
            return Deferred.await(free)
          }
        },
        limits: Limits.make(),
        timer: new Timer({ clock, fork, expire: () => Number.POSITIVE_INFINITY }),
        fork,
        stalled: () => {},
        overflowed: () => {}
      })
      const table = new PendingRequests.PendingRequests(1)
      const offer = (method: string) =>
        Effect.map(
          table.open({
            method,
            progress: undefined,
            openedAt: 0,
            deadline: Number.POSITIVE_INFINITY,
            allowedMillis: Number.POSITIVE_INFINITY,
            extendsTo: undefined,
            onResponse: undefined
          }, () => {}),
          (exchange) => {
            if (!PendingRequests.isExchange(exchange)) throw new Error("the table is closed")
            const entry = Lane.entry(
              { message: JsonRpc.request(exchange.id, method, {}), replyTo: undefined, last: false },
              { exchange, done: () => {} }
            )
            outbox.offer(entry)
            return { entry, exchange }
          }
        )
      yield* offer("first")
      const second = yield* offer("second")
      yield* offer("third")
      table.close({ _tag: "Requested" })
      Deferred.doneUnsafe(free, Exit.void)
      yield* settled
      assert.deepStrictEqual(sent.map((message) => "method" in message ? message.method : "none"), ["first"])
      assert.isFalse(second.exchange.handed)
      assert.isTrue(outbox.withdraw(second.entry), "the transport has not received it")
    }))
})
