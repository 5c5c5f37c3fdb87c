import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { connected, settled, start, text, tools } from "./support/sessions.ts"

describe("an arbitrary frame", () => {
  const orNull = <const Values extends ReadonlyArray<string | number | boolean>>(values: Values) =>
    Schema.Union([Schema.Literals(values), Schema.Null])
  /** The metadata of a request without a handshake, nearly. */
  const metadata = Schema.Struct({
    "io.modelcontextprotocol/protocolVersion": Schema.optionalKey(
      orNull(["2026-07-28", "2026-07-28", "2099-01-01", 1])
    ),
    "io.modelcontextprotocol/clientCapabilities": Schema.optionalKey(
      Schema.Union([Schema.Struct({}), Schema.Struct({ elicitation: orNull([1, true]) }), orNull([1])])
    ),
    "io.modelcontextprotocol/clientInfo": Schema.optionalKey(
      Schema.Union([Schema.Struct({ name: orNull(["x", 1]), version: orNull(["1", 1]) }), orNull([1])])
    ),
    "io.modelcontextprotocol/logLevel": Schema.optionalKey(orNull(["info", "loud", 1])),
    "io.modelcontextprotocol/subscriptionId": Schema.optionalKey(orNull([0, 1, 2, "1"]))
  })
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
        Schema.Struct({ progressToken: orNull([1, "1", 1.5]) }),
        metadata
      ])),
      inputResponses: Schema.optionalKey(Schema.Union([
        orNull([1, "x"]),
        Schema.Struct({ question: Schema.Union([orNull([1]), Schema.Struct({ action: orNull(["accept", 1]) })]) })
      ])),
      requestState: Schema.optionalKey(orNull(["", "x", 1]))
    }),
    Schema.Struct({
      notifications: Schema.Union([
        orNull([1, "x"]),
        Schema.Struct({
          toolsListChanged: Schema.optionalKey(orNull([true, "x"])),
          resourceSubscriptions: Schema.optionalKey(Schema.Union([orNull([1]), Schema.Array(orNull(["test://a", 1]))]))
        })
      ]),
      _meta: Schema.optionalKey(metadata)
    }),
    Schema.Struct({
      resultType: orNull(["complete", "input_required", "task", 1]),
      inputRequests: Schema.optionalKey(Schema.Union([
        orNull([1, "x"]),
        Schema.Struct({ question: Schema.Union([orNull([1]), Schema.Struct({ method: orNull(["roots/list", 1]) })]) })
      ])),
      requestState: Schema.optionalKey(orNull(["", "x", 1]))
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
    "server/discover",
    "subscriptions/listen",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/message",
    "notifications/subscriptions/acknowledged",
    "notifications/resources/updated",
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

  /** A server of both eras. */
  const handlers = {
    ...tools({ x: Effect.succeed(text("x")), wait: Effect.never, die: Effect.die("x") }),
    "subscriptions/listen": () => Effect.succeed({ notifications: { resourceSubscriptions: ["test://a"] } })
  }

  const deliver = (
    { links }: Pick<Effect.Success<ReturnType<typeof connected>>, "links">,
    frames: ReadonlyArray<unknown>
  ) =>
    Effect.sync(() => {
      for (const frame of frames) {
        for (const link of [links.client, links.server]) link.deliver(JSON.parse(JSON.stringify(frame)))
      }
    })

  const withHandshake = Effect.fnUntraced(function*(frames: ReadonlyArray<unknown>) {
    const session = yield* connected({ handlers, client: { handlers: { "notifications/message": () => Effect.void } } })
    const { client, server } = session
    const waiting = yield* start(Effect.exit(client.callTool("wait", {}, { onProgress: () => Effect.void })))
    yield* settled
    yield* deliver(session, frames)
    yield* settled
    yield* client.ping()
    yield* server.ping()
    assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
    // No frame has ended a session.
    assert.deepStrictEqual([(yield* client.state)._tag, (yield* server.state)._tag], ["Operating", "Operating"])
    yield* Fiber.interrupt(waiting)
    assert.strictEqual((yield* client.inFlight).sent, 0)
  })

  const withoutHandshake = Effect.fnUntraced(function*(frames: ReadonlyArray<unknown>) {
    const session = yield* connected({
      handlers,
      client: {
        revisions: ["2026-07-28"],
        handlers: { "notifications/message": () => Effect.void, "roots/list": () => Effect.succeed({ roots: [] }) }
      }
    })
    const { client, server } = session
    const waiting = yield* start(Effect.exit(client.callTool("wait", {}, { onProgress: () => Effect.void })))
    yield* settled
    yield* deliver(session, frames)
    yield* settled
    assert.deepStrictEqual((yield* client.callTool("x")).content, text("x").content)
    // No frame has ended a session. One of them may have been the handshake of another client.
    assert.strictEqual((yield* client.state)._tag, "Modern")
    assert.include(["Modern", "Negotiated", "Operating"], (yield* server.state)._tag)
    yield* Fiber.interrupt(waiting)
    assert.strictEqual((yield* client.inFlight).sent, 0)
  })

  for (const [era, hold] of [["a handshake", withHandshake], ["revision 2026-07-28", withoutHandshake]] as const) {
    it.effect(`[MSG-01] [MSG-11] law 7: affects only itself, at a client and at a server of both eras (${era})`, () =>
      Effect.gen(function*() {
        const outcome = yield* Arbitrary.checkEffect(
          Arbitrary.array(Arbitrary.schema(Frame), { maxLength: 12 }),
          (frames) => Effect.as(Effect.scoped(hold(frames)), true),
          { runs: 300 }
        )
        assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
      }))
  }
})
