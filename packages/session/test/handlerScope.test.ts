/** Resources that a handler acquires, and their release. */
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

/** A server with one tool, which acquires a resource and then ends with `ending`. */
const serverReleasing = Effect.fnUntraced(function*(release: () => Effect.Effect<void>, ending: Ending = Effect.void) {
  const pair = yield* MemoryTransport.make()
  const record = recorder()
  const session = yield* ServerSession.make({
    "tools/call": () => Effect.addFinalizer(release).pipe(Effect.andThen(ending), Effect.as(text("done")))
  }, { info, observe: record.observe, limits: { gracefulTimeout: "2 seconds" } }).pipe(
    Effect.provideService(Transport.Transport, pair.server)
  )
  const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
  yield* performHandshake(raw)
  return { raw, record, session }
})

const handlerError = new McpError.McpError({ code: 7, message: "from the handler" })

const defectsOf = (record: ReturnType<typeof recorder>) =>
  record.of("HandlerFailed").map(({ cause }) =>
    cause.reasons.flatMap((reason) => Cause.isDieReason(reason) ? [reason.defect] : [])
  )

describe("the release of a handler's resources", () => {
  it.effect("law 5: the reply waits for the release", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* serverReleasing(() => Effect.sleep("1 second"))
      yield* raw.send(call(1, "x"))
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [])
      assert.strictEqual((yield* session.inFlight).served, 1)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* raw.pending, [JsonRpc.success(1, text("done"))])
    }))

  it.effect("law 5: [CAN-04] a request cancelled during the release gets no reply, and the release completes", () =>
    Effect.gen(function*() {
      let released = false
      const { raw, session } = yield* serverReleasing(() =>
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
        // The thrown value is not an Error, so the session cannot rely on its members.
        throw "release"
      }]
    ] as const
  ) {
    it.effect(`law 5: a release that ${how} fails the request, and the event has all defects`, () =>
      Effect.gen(function*() {
        const endings: ReadonlyArray<readonly [Ending, ReadonlyArray<unknown>]> = [
          [Effect.void, ["release"]],
          [Effect.die("handler"), ["handler", "release"]],
          [Effect.fail(handlerError), [handlerError, "release"]]
        ]
        for (const [ending, defects] of endings) {
          const { raw, record } = yield* serverReleasing(release, ending)
          yield* raw.send(call(1, "x"))
          const reply = yield* raw.response
          assert.deepStrictEqual([reply.id, codeOf(reply)], [1, -32603])
          assert.notInclude(JSON.stringify(reply), "release")
          assert.deepStrictEqual(defectsOf(record), [defects])
        }
      }))
  }

  it.effect("law 5: the McpError of a handler is the reply after a successful release", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* serverReleasing(() => Effect.void, Effect.fail(handlerError))
      yield* raw.send(call(1, "x"))
      assert.strictEqual(codeOf(yield* raw.response), 7)
      assert.deepStrictEqual(defectsOf(record), [])
    }))

  it.effect("law 2: fibers that a handler forks in its scope end with it", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const { raw } = yield* census.count(
        serverReleasing(() => Effect.void, Effect.asVoid(Effect.forkScoped(Effect.never, { startImmediately: true })))
      )
      const before = census.living()
      yield* raw.send(call(1, "x"))
      yield* raw.response
      yield* settled
      assert.strictEqual(census.living(), before)
    }))

  it.effect("law 2: a release that never ends is reported when the session closes, and does not delay the close", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* serverReleasing(() => Effect.never)
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

describe("a resource that a handler acquires", () => {
  it.effect("law 2: is released when its request ends, before the reply, and not with the session", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const resource: Effect.Effect<void, never, Scope.Scope> = Effect.acquireRelease(
        Effect.sync(() => {
          events.push("acquired")
        }),
        () => Effect.sync(() => events.push("released"))
      )
      const pair = yield* MemoryTransport.make()
      const handlers = ServerSession.handlers({
        "tools/call": ({ name }) =>
          Effect.andThen(resource, name === "wait" ? Effect.never : Effect.succeed(text(name)))
      })
      yield* ServerSession.make(handlers, { info }).pipe(Effect.provideService(Transport.Transport, pair.server))
      const client = yield* ClientSession.make({ info }).pipe(Effect.provideService(Transport.Transport, pair.client))
      yield* client.callTool("x")
      assert.deepStrictEqual(events, ["acquired", "released"])
      const waiting = yield* start(client.callTool("wait"))
      yield* settled
      yield* Fiber.interrupt(waiting)
      yield* settled
      assert.deepStrictEqual(events, ["acquired", "released", "acquired", "released"])
    }))
})
