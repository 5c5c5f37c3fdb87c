/** What a handler acquires, and how it lets go of it. */
import { JsonRpc, McpError } from "@effect-mcp/protocol"
import { ClientSession, MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import { FiberCount, RawPeer } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { closedEvents } from "./support/closing.ts"
import { call, codeOf, info, names, performHandshake, recorder, settled, start, text } from "./support/sessions.ts"

type Ending = Effect.Effect<void, McpError.McpError, Scope.Scope>

/** A server with one tool, which acquires something and then ends like this. */
const serving = Effect.fnUntraced(function*(release: () => Effect.Effect<void>, ending: Ending = Effect.void) {
  const pair = yield* MemoryTransport.make()
  const record = recorder()
  const session = yield* ServerSession.make({
    "tools/call": () => Effect.addFinalizer(release).pipe(Effect.andThen(ending), Effect.as(text("done")))
  }, { info, observe: record.observe, limits: { gracefulCloseTimeout: "2 seconds" } }).pipe(
    Effect.provideService(Transport.Transport, pair.server)
  )
  const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
  yield* performHandshake(raw)
  return { raw, record, session }
})

const mine = new McpError.McpError({ code: 7, message: "mine" })

const defectsOf = (record: ReturnType<typeof recorder>) =>
  record.of("HandlerFailed").map(({ cause }) =>
    cause.reasons.flatMap((reason) => Cause.isDieReason(reason) ? [reason.defect] : [])
  )

describe("letting go of what a handler has acquired", () => {
  it.effect("law 5: the reply waits until it has been let go of", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* serving(() => Effect.sleep("1 second"))
      yield* raw.send(call(1, "x"))
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.strictEqual((yield* session.inFlight).served, 1)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* raw.pending, [JsonRpc.success(1, text("done"))])
    }))

  it.effect("law 5: [CAN-04] a request cancelled meanwhile has no reply, and is let go of to the end", () =>
    Effect.gen(function*() {
      let released = false
      const { raw, session } = yield* serving(() =>
        Effect.andThen(
          Effect.sleep("1 second"),
          Effect.sync(() => {
            released = true
          })
        )
      )
      yield* raw.send(call(1, "x"))
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* TestClock.adjust("1 second")
      assert.isTrue(released)
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  for (
    const [how, release] of [
      ["dies", () => Effect.die("release")],
      ["throws", () => {
        // What throws is no Error: nothing may be taken for granted of it.
        throw "release"
      }]
    ] as const
  ) {
    it.effect(`law 5: where that ${how}, the request fails, whatever its handler ended with, and nothing is lost`, () =>
      Effect.gen(function*() {
        const endings: ReadonlyArray<readonly [Ending, ReadonlyArray<unknown>]> = [
          [Effect.void, ["release"]],
          [Effect.die("handler"), ["handler", "release"]],
          [Effect.fail(mine), [mine, "release"]]
        ]
        for (const [ending, defects] of endings) {
          const { raw, record } = yield* serving(release, ending)
          yield* raw.send(call(1, "x"))
          const answer = yield* raw.response
          assert.deepStrictEqual([answer.id, codeOf(answer)], [1, -32603])
          assert.notInclude(JSON.stringify(answer), "release")
          assert.deepStrictEqual(defectsOf(record), [defects])
        }
      }))
  }

  it.effect("law 5: an error that a handler chose is its answer, once it has let go in good order", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* serving(() => Effect.void, Effect.fail(mine))
      yield* raw.send(call(1, "x"))
      assert.strictEqual(codeOf(yield* raw.response), 7)
      assert.deepStrictEqual(defectsOf(record), [])
    }))

  it.effect("law 2: what it has started in its scope ends with it", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const { raw } = yield* census.count(
        serving(() => Effect.void, Effect.asVoid(Effect.forkScoped(Effect.never, { startImmediately: true })))
      )
      const before = census.living()
      yield* raw.send(call(1, "x"))
      yield* raw.response
      yield* settled
      assert.strictEqual(census.living(), before)
    }))

  it.effect("law 2: where that never ends, the session says so when it closes, and does not wait for it", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* serving(() => Effect.never)
      yield* raw.send(call(1, "x"))
      yield* settled
      const closing = yield* start(session.close)
      yield* TestClock.adjust("10 seconds")
      assert.isDefined(closing.pollUnsafe())
      assert.deepStrictEqual(closedEvents(record).map(({ unfinished }) => unfinished), [
        [{ method: "tools/call", count: 1 }]
      ])
      assert.deepStrictEqual(names(yield* raw.pending), [])
    }))
})

describe("what a handler acquires", () => {
  it.effect("law 2: is released when its request has ended, before it is answered, and not with the session", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const held: Effect.Effect<void, never, Scope.Scope> = Effect.acquireRelease(
        Effect.sync(() => {
          said.push("acquired")
        }),
        () => Effect.sync(() => said.push("released"))
      )
      const pair = yield* MemoryTransport.make()
      const handlers = ServerSession.handlers({
        "tools/call": ({ name }) => Effect.andThen(held, name === "wait" ? Effect.never : Effect.succeed(text(name)))
      })
      yield* ServerSession.make(handlers, { info }).pipe(Effect.provideService(Transport.Transport, pair.server))
      const client = yield* ClientSession.make({ info }).pipe(Effect.provideService(Transport.Transport, pair.client))
      yield* client.callTool("x")
      assert.deepStrictEqual(said, ["acquired", "released"])
      const waiting = yield* start(client.callTool("wait"))
      yield* settled
      yield* Fiber.interrupt(waiting)
      yield* settled
      assert.deepStrictEqual(said, ["acquired", "released", "acquired", "released"])
    }))
})
