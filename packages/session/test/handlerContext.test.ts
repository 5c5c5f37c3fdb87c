import { RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { leak } from "./support/leakedContext.ts"
import { call, connected, info, performHandshake, start, text, tools, withRawClient } from "./support/sessions.ts"

describe("the RequestContext of a handler", () => {
  it.effect("has the id, the method, the metadata and the client's profile", () =>
    Effect.gen(function*() {
      const { effect, leaked } = leak()
      const { raw } = yield* withRawClient({ handlers: tools({ leak: effect }) })
      yield* performHandshake(raw, "2025-06-18")
      yield* raw.send(call("seven", "leak", { _meta: { progressToken: 0, "example.org/x": [1] } }))
      const context = yield* leaked
      assert.deepStrictEqual([context.id, context.method, context.meta, context.profile], [
        "seven",
        "tools/call",
        { progressToken: 0, "example.org/x": [1] },
        { revision: "2025-06-18", capabilities: {}, info }
      ])
    }))

  it.effect("has no metadata if the request has none", () =>
    Effect.gen(function*() {
      const { effect, leaked } = leak()
      const { raw } = yield* withRawClient({ handlers: tools({ leak: effect }) })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "leak"))
      assert.isUndefined((yield* leaked).meta)
    }))

  it.effect("law 10: each of several concurrent handlers has its own", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: tools({
          identify: (input) =>
            Effect.gen(function*() {
              yield* Effect.sleep(Number(input["wait"]))
              const { id, meta } = yield* RequestContext.RequestContext
              return text(`${id} ${String(meta?.["name"])}`)
            })
        })
      })
      const calls = yield* Effect.forEach([30, 10, 20], (wait) =>
        start(client.callTool("identify", { wait }, { meta: { name: `after ${wait}` } })))
      yield* TestClock.adjust(30)
      assert.deepStrictEqual(yield* Effect.forEach(calls, Fiber.join), [
        text("1 after 30"),
        text("2 after 10"),
        text("3 after 20")
      ])
    }))
})
