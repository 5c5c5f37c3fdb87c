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

/** A server that completes one argument of one prompt, and records the values that it receives. */
const cityServer = (most: number = Completion.maximumValues) => {
  const received: Array<string> = []
  const handlers: ServerHandlers = {
    "completion/complete": ({ argument, ref }) => {
      if (ref.type !== "ref/prompt" || ref.name !== "travel" || argument.name !== "to") {
        return Effect.fail(McpError.invalidParams("Unknown argument"))
      }
      received.push(argument.value)
      const found = cities.filter((city) => city.startsWith(argument.value))
      const values = found.slice(0, most)
      return Effect.succeed({
        completion: { values, total: found.length, hasMore: values.length < found.length }
      })
    }
  }
  return { handlers, received }
}

const travel = (value: string): Completion.CompleteParams => ({
  ref: { type: "ref/prompt", name: "travel" },
  argument: { name: "to", value }
})

describe("completion", () => {
  it.effect("[CMP-02] the client receives 100 values with total and hasMore", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({ handlers: cityServer().handlers })
      const { completion } = yield* client.complete(travel("city"))
      assert.deepStrictEqual(completion, { values: cities.slice(0, 100), total: 250, hasMore: true })
      assert.deepStrictEqual((yield* client.complete(travel("city 24"))).completion.values.length, 11)
    }))

  it.effect("[CMP-02] a completion with 101 values is rejected by the server and by the client", () =>
    Effect.gen(function*() {
      const { client, records } = yield* connected({ handlers: cityServer(101).handlers })
      const { reason } = yield* Effect.flip(client.complete(travel("city")))
      assert.strictEqual(reason._tag === "ErrorResponse" && reason.error.code, ErrorCode.InternalError)
      assert.strictEqual(records.server.of("HandlerFailed").length, 1)
      // A client rejects them from a server that sends them.
      const { raw, session } = yield* withRawServer({
        result: RawServer.initializeResult({ capabilities: { completions: {} } })
      })
      const completing = yield* Effect.forkChild(Effect.flip(session.complete(travel("city"))), {
        startImmediately: true
      })
      yield* raw.send(JsonRpc.success(1, { completion: { values: cities.slice(0, 101) } }))
      assert.strictEqual((yield* Fiber.join(completing)).reason._tag, "InvalidResult")
    }))

  const unknown: ReadonlyArray<readonly [string, Completion.CompleteParams]> = [
    ["an unknown prompt", { ...travel(""), ref: { type: "ref/prompt", name: "stay" } }],
    ["an unknown argument", { ...travel(""), argument: { name: "from", value: "" } }],
    ["an unknown template", { ...travel(""), ref: { type: "ref/resource", uri: "map:///{city}" } }]
  ]

  for (const [what, params] of unknown) {
    it.effect(`[CMP-03] ${what} is rejected with -32602`, () =>
      Effect.gen(function*() {
        const { client } = yield* connected({ handlers: cityServer().handlers })
        const { reason } = yield* Effect.flip(client.complete(params))
        assert.strictEqual(reason._tag === "ErrorResponse" && reason.error.code, ErrorCode.InvalidParams)
      }))
  }

  it.effect("a client that debounces the input sends one request", () =>
    Effect.gen(function*() {
      const { received, handlers } = cityServer()
      const { client } = yield* connected({ handlers })
      const keys = yield* Queue.unbounded<string>()
      const sizes: Array<number> = []
      const typing = yield* Effect.forkChild(
        Stream.fromQueue(keys).pipe(
          Stream.debounce("200 millis"),
          Stream.switchMap((value) => Stream.fromEffect(client.complete(travel(value)))),
          Stream.runForEach(({ completion }) => Effect.sync(() => sizes.push(completion.values.length)))
        ),
        { startImmediately: true }
      )
      for (const value of ["c", "ci", "cit", "city"]) {
        yield* Queue.offer(keys, value)
        yield* TestClock.adjust("50 millis")
      }
      yield* TestClock.adjust("200 millis")
      yield* settled
      assert.deepStrictEqual([received, sizes], [["city"], [100]])
      yield* Queue.offer(keys, "city 249")
      yield* TestClock.adjust("200 millis")
      yield* settled
      assert.deepStrictEqual([received, sizes], [["city", "city 249"], [100, 1]])
      yield* Fiber.interrupt(typing)
    }))
})
