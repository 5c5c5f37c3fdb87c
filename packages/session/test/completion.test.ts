import { Completion, ErrorCode, JsonRpc, McpError } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RawServer from "./support/RawServer.ts"
import { connected, type ServerHandlers, settled, withRawServer } from "./support/sessions.ts"

const cities = Array.from({ length: 250 }, (_, index) => `city ${index}`)

/** A server that completes one argument of one prompt, and counts how often it is asked. */
const gazetteer = (most: number = Completion.maximumValues) => {
  const asked: Array<string> = []
  const handlers: ServerHandlers = {
    "completion/complete": ({ argument, ref }) => {
      if (ref.type !== "ref/prompt" || ref.name !== "travel" || argument.name !== "to") {
        return Effect.fail(McpError.invalidParams("Unknown argument"))
      }
      asked.push(argument.value)
      const found = cities.filter((city) => city.startsWith(argument.value))
      const values = found.slice(0, most)
      return Effect.succeed({
        completion: { values, total: found.length, hasMore: values.length < found.length }
      })
    }
  }
  return { handlers, asked }
}

const travel = (value: string): Completion.CompleteParams => ({
  ref: { type: "ref/prompt", name: "travel" },
  argument: { name: "to", value }
})

describe("completion", () => {
  it.effect("[CMP-02] a hundred values arrive, and that there are more", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({ handlers: gazetteer().handlers })
      const { completion } = yield* client.complete(travel("city"))
      assert.deepStrictEqual(completion, { values: cities.slice(0, 100), total: 250, hasMore: true })
      assert.deepStrictEqual((yield* client.complete(travel("city 24"))).completion.values.length, 11)
    }))

  it.effect("[CMP-02] a hundred and one are no completion", () =>
    Effect.gen(function*() {
      const { client, records } = yield* connected({ handlers: gazetteer(101).handlers })
      const { reason } = yield* Effect.flip(client.complete(travel("city")))
      assert.strictEqual(reason._tag === "ErrorResponse" && reason.error.code, ErrorCode.InternalError)
      assert.strictEqual(records.server.of("HandlerFailed").length, 1)
      // Nor does a client take them from a server that sends them all the same.
      const { raw, session } = yield* withRawServer({
        result: RawServer.initializeResult({ capabilities: { completions: {} } })
      })
      const asking = yield* Effect.forkChild(Effect.flip(session.complete(travel("city"))), { startImmediately: true })
      yield* raw.send(JsonRpc.success(1, { completion: { values: cities.slice(0, 101) } }))
      assert.strictEqual((yield* Fiber.join(asking)).reason._tag, "InvalidResult")
    }))

  const unknown: ReadonlyArray<readonly [string, Completion.CompleteParams]> = [
    ["a prompt that does not exist", { ...travel(""), ref: { type: "ref/prompt", name: "stay" } }],
    ["an argument that it has not", { ...travel(""), argument: { name: "from", value: "" } }],
    ["a template that does not exist", { ...travel(""), ref: { type: "ref/resource", uri: "map:///{city}" } }]
  ]

  for (const [what, params] of unknown) {
    it.effect(`[CMP-03] ${what}: −32602`, () =>
      Effect.gen(function*() {
        const { client } = yield* connected({ handlers: gazetteer().handlers })
        const { reason } = yield* Effect.flip(client.complete(params))
        assert.strictEqual(reason._tag === "ErrorResponse" && reason.error.code, ErrorCode.InvalidParams)
      }))
  }

  it.effect("who types fast asks once", () =>
    Effect.gen(function*() {
      const { asked, handlers } = gazetteer()
      const { client } = yield* connected({ handlers })
      const keys = yield* Queue.unbounded<string>()
      const shown: Array<number> = []
      const typing = yield* Effect.forkChild(
        Stream.fromQueue(keys).pipe(
          Stream.debounce("200 millis"),
          Stream.switchMap((value) => Stream.fromEffect(client.complete(travel(value)))),
          Stream.runForEach(({ completion }) => Effect.sync(() => shown.push(completion.values.length)))
        ),
        { startImmediately: true }
      )
      for (const value of ["c", "ci", "cit", "city"]) {
        yield* Queue.offer(keys, value)
        yield* TestClock.adjust("50 millis")
      }
      yield* TestClock.adjust("200 millis")
      yield* settled
      assert.deepStrictEqual([asked, shown], [["city"], [100]])
      yield* Queue.offer(keys, "city 249")
      yield* TestClock.adjust("200 millis")
      yield* settled
      assert.deepStrictEqual([asked, shown], [["city", "city 249"], [100, 1]])
      yield* Fiber.interrupt(typing)
    }))
})
