import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { connected, settled, start, text, tools } from "./support/sessions.ts"

describe("an arbitrary frame", () => {
  const orNull = <const Values extends ReadonlyArray<string | number | boolean>>(values: Values) =>
    Schema.Union([Schema.Literals(values), Schema.Null])
  const anyValue = Schema.Union([
    orNull([true, 0, 1, 2, -1, 1.5, 1e300, "", "1", "2.0", "ping", "x"]),
    Schema.Struct({}),
    Schema.Array(orNull([1, "x"])),
    Schema.Struct({ code: orNull([1, -32600, 1.5, "1"]), message: orNull(["no", 1]) }),
    Schema.Struct({
      name: orNull(["x", "wait", "die", 1]),
      arguments: Schema.optionalKey(orNull([1])),
      _meta: Schema.optionalKey(Schema.Union([
        orNull([1, "x"]),
        Schema.Struct({ progressToken: orNull([1, "1", 1.5]) })
      ]))
    }),
    Schema.Struct({
      requestId: Schema.optionalKey(orNull([0, 1, "1"])),
      progressToken: Schema.optionalKey(orNull([0, 1, "1"])),
      progress: Schema.optionalKey(orNull([1, -1, "1"])),
      level: Schema.optionalKey(Schema.Literals(["info", "loud"])),
      data: Schema.optionalKey(orNull([1]))
    })
  ])
  const methods = orNull([
    "ping",
    "initialize",
    "tools/list",
    "tools/call",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/message",
    "__proto__",
    "no/such",
    1
  ])
  const Frame = Schema.Union([
    anyValue,
    Schema.Struct({
      jsonrpc: Schema.optionalKey(Schema.Literals(["2.0", "2.0", "2.0", "1.0", 2])),
      id: Schema.optionalKey(orNull([0, 1, 2, 3, "1", "", 1.5])),
      method: Schema.optionalKey(methods),
      params: Schema.optionalKey(anyValue),
      result: Schema.optionalKey(anyValue),
      error: Schema.optionalKey(anyValue)
    })
  ])

  const deliverToBoth = Effect.fnUntraced(function*(frames: ReadonlyArray<unknown>) {
    const { client, links, server } = yield* connected({
      handlers: tools({ x: Effect.succeed(text("x")), wait: Effect.never, die: Effect.die("x") }),
      client: { handlers: { "notifications/message": () => Effect.void } }
    })
    const waiting = yield* start(Effect.exit(client.callTool("wait", {}, { onProgress: () => Effect.void })))
    yield* settled
    for (const frame of frames) {
      for (const link of [links.client, links.server]) link.deliver(JSON.parse(JSON.stringify(frame)))
    }
    yield* settled
    yield* client.ping()
    yield* server.ping()
    assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
    // No frame has ended a session.
    assert.deepStrictEqual([(yield* client.state)._tag, (yield* server.state)._tag], ["Operating", "Operating"])
    yield* Fiber.interrupt(waiting)
    assert.strictEqual((yield* client.inFlight).sent, 0)
  })

  it.effect("[MSG-01] [MSG-11] law 7: affects only itself, at a client and at a server", () =>
    Effect.gen(function*() {
      const outcome = yield* Arbitrary.checkEffect(
        Arbitrary.array(Arbitrary.schema(Frame), { maxLength: 12 }),
        (frames) => Effect.as(Effect.scoped(deliverToBoth(frames)), true),
        { runs: 300 }
      )
      assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
    }))
})
