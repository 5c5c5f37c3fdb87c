import { JsonRpc, McpError, Meta, MethodDefinition } from "@effect-mcp/protocol"
import { Extension, Metrics } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as Scheduler from "effect/Scheduler"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { call, connected, performHandshake, settled, start, text, tools, withRawClient } from "./support/sessions.ts"

/** Runs an effect with its own registry of metrics. */
const withOwnRegistry = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => Effect.provideService(effect, Metric.MetricRegistry, new Map()))

interface Series {
  readonly attributes: Readonly<Record<string, string>>
  readonly count?: number
  readonly sum?: number
  readonly value?: number
}

/** Returns the series of a metric, each with its attributes, and the count and sum of its values. */
const seriesOf = (id: string) =>
  Effect.map(Metric.snapshot, (all) =>
    all.flatMap((snapshot): ReadonlyArray<Series> => {
      if (snapshot.id !== id) return []
      const { unit: _, ...attributes } = snapshot.attributes ?? {}
      return snapshot.type === "Histogram"
        ? [{ attributes, count: snapshot.state.count, sum: snapshot.state.sum }]
        : snapshot.type === "Gauge"
        ? [{ attributes, value: Number(snapshot.state.value) }]
        : []
    }))

const isOther = (label: string) => ({ attributes }: Series): boolean => attributes[label] === "_OTHER"

const { middleware } = Metrics
const tool = (name: string) => ({ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name })
const common = { "mcp.method.name": "tools/call", "mcp.protocol.version": "2025-11-25" }

describe("metrics", () => {
  it.effect("operation.duration has the duration in seconds and the outcome of requests, at both sides", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: tools({ slow: Effect.as(Effect.sleep("2 seconds"), text("x")), dies: Effect.die("no") }),
        client: { middleware },
        server: { middleware }
      })
      const slow = yield* start(client.callTool("slow"))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(slow)
      yield* Effect.flip(client.callTool("dies"))
      const failed = { "error.type": "-32603", "rpc.response.status_code": "-32603" }
      const expected = [
        { attributes: { ...common, ...tool("slow") }, count: 1, sum: 2 },
        { attributes: { ...common, ...tool("_OTHER"), ...failed }, count: 1, sum: 0 }
      ]
      assert.deepStrictEqual(yield* seriesOf("mcp.client.operation.duration"), expected)
      assert.deepStrictEqual(yield* seriesOf("mcp.server.operation.duration"), expected)
    }).pipe(withOwnRegistry))

  it.effect("active_requests counts the requests in flight, however they end", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: tools({ wait: Effect.never }),
        client: { middleware },
        server: { middleware }
      })
      const active = Effect.all([seriesOf("mcp.client.active_requests"), seriesOf("mcp.server.active_requests")])
      const one = yield* start(client.callTool("wait"))
      const two = yield* start(client.callTool("wait"))
      yield* settled
      const series = (value: number) => [{ attributes: { "mcp.method.name": "tools/call" }, value }]
      assert.deepStrictEqual(yield* active, [series(2), series(2)])
      yield* Fiber.interrupt(one)
      yield* settled
      assert.deepStrictEqual(yield* active, [series(1), series(1)])
      yield* client.close
      yield* Fiber.await(two)
      yield* settled
      assert.deepStrictEqual(yield* active, [series(0), series(0)])
    }).pipe(withOwnRegistry))

  it.effect("active_requests does not count a request whose caller is interrupted at any step", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({ handlers: tools({ wait: Effect.never }), client: { middleware } })
      // Each caller is interrupted one step later than the previous one.
      for (let steps = 0; steps < 60; steps++) {
        const calling = yield* start(
          Effect.provideService(client.callTool("wait"), Scheduler.MaxOpsBeforeYield, 3)
        )
        for (let step = 0; step < steps; step++) yield* Effect.yieldNow
        yield* Fiber.interrupt(calling)
      }
      assert.deepStrictEqual(yield* seriesOf("mcp.client.active_requests"), [
        { attributes: { "mcp.method.name": "tools/call" }, value: 0 }
      ])
    }).pipe(withOwnRegistry))

  it.effect("a tool has its own series after a call of it has succeeded", () =>
    Effect.gen(function*() {
      let ready = false
      const { client } = yield* connected({
        handlers: tools({ late: Effect.suspend(() => ready ? Effect.succeed(text("x")) : Effect.die("no")) }),
        client: { middleware }
      })
      yield* Effect.flip(client.callTool("none"))
      yield* Effect.flip(client.callTool("late"))
      ready = true
      yield* client.callTool("late")
      ready = false
      yield* Effect.flip(client.callTool("late"))
      const failed = (code: string) => ({ "rpc.response.status_code": code, "error.type": code })
      assert.deepStrictEqual(yield* seriesOf("mcp.client.operation.duration"), [
        { attributes: { ...common, ...tool("_OTHER"), ...failed("-32602") }, count: 1, sum: 0 },
        { attributes: { ...common, ...tool("_OTHER"), ...failed("-32603") }, count: 1, sum: 0 },
        { attributes: { ...common, ...tool("late") }, count: 1, sum: 0 },
        { attributes: { ...common, ...tool("late"), ...failed("-32603") }, count: 1, sum: 0 }
      ])
    }).pipe(withOwnRegistry))

  it.effect("names of failed calls create no series", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        server: { middleware }
      })
      yield* performHandshake(raw)
      for (let id = 1; id <= 100; id++) {
        yield* raw.send(call(id, `invented ${id}`))
        yield* raw.send(JsonRpc.request(`m${id}`, `invented/${id}`, {}))
      }
      yield* settled
      assert.deepStrictEqual(yield* seriesOf("mcp.server.operation.duration"), [
        { attributes: { ...common, ...tool("_OTHER"), "rpc.response.status_code": "-32602" }, count: 100, sum: 0 }
      ])
    }).pipe(withOwnRegistry))

  it.effect("3,000 names of a peer become 100 series and one for the others, even if the calls succeed", () =>
    Effect.gen(function*() {
      const indices = Array.from({ length: 3000 }, (_, index) => index)
      const rowOf = (index: number) =>
        MethodDefinition.request(`invented/${index}`, {
          from: "client",
          params: Meta.RequestParams,
          result: Schema.Struct({})
        })
      const extensions = indices.slice(0, 300).map((index) => Extension.request(rowOf(index), () => Effect.succeed({})))
      const { client } = yield* connected({
        handlers: {
          "tools/call": ({ name }) => Effect.succeed(text(name)),
          "prompts/get": () => Effect.succeed({ messages: [] })
        },
        client: { middleware },
        server: { middleware, extensions }
      })
      for (const index of indices) {
        yield* client.callTool(`tool ${index}`)
        yield* client.getPrompt(`prompt ${index}`)
        if (index < extensions.length) yield* client.extension(rowOf(index), {})
      }
      yield* client.callTool("x".repeat(129))
      for (const side of ["client", "server"]) {
        const series = yield* seriesOf(`mcp.${side}.operation.duration`)
        const labels = (method: string) => series.filter(({ attributes }) => attributes["mcp.method.name"] === method)
        // 100 names of tools and prompts together, one series of other tools, and one of other prompts.
        assert.strictEqual(labels("tools/call").length + labels("prompts/get").length, 102)
        assert.strictEqual(labels("tools/call").find(isOther("gen_ai.tool.name"))?.count, 3001 - 50)
        assert.strictEqual(series.find(isOther("mcp.method.name"))?.count, 200)
        assert.strictEqual(series.length, 102 + 101)
        assert.isAtMost((yield* seriesOf(`mcp.${side}.active_requests`)).length, 103)
      }
    }).pipe(withOwnRegistry))

  it.effect("unknown error codes of a peer share one series", () =>
    Effect.gen(function*() {
      let code = 0
      const { client } = yield* connected({
        handlers: {
          "tools/call": () => Effect.suspend(() => Effect.fail(new McpError.McpError({ code: ++code, message: "no" })))
        },
        client: { middleware },
        server: { middleware }
      })
      for (let count = 0; count < 200; count++) yield* Effect.flip(client.callTool("x"))
      const failed = { "rpc.response.status_code": "_OTHER", "error.type": "_OTHER" }
      for (const side of ["client", "server"]) {
        assert.deepStrictEqual(yield* seriesOf(`mcp.${side}.operation.duration`), [
          { attributes: { ...common, ...tool("_OTHER"), ...failed }, count: 200, sum: 0 }
        ])
      }
    }).pipe(withOwnRegistry))

  it.effect("session.duration has the duration and the error of sessions, without middleware", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { client, links } = yield* Scope.provide(connected(), scope)
      yield* TestClock.adjust("90 seconds")
      yield* client.close
      yield* Scope.close(scope, Exit.void)
      const revision = { "mcp.protocol.version": "2025-11-25" }
      assert.deepStrictEqual(yield* seriesOf("mcp.client.session.duration"), [{
        attributes: revision,
        count: 1,
        sum: 90
      }])
      assert.deepStrictEqual(yield* seriesOf("mcp.server.session.duration"), [{
        attributes: revision,
        count: 1,
        sum: 90
      }])
      assert.isFalse(links.client.isOpen())

      const { session } = yield* withRawClient({ server: { limits: { initializeTimeout: "10 seconds" } } })
      yield* TestClock.adjust("10 seconds")
      yield* session.closed
      assert.deepStrictEqual((yield* seriesOf("mcp.server.session.duration")).at(-1), {
        attributes: { "error.type": "HandshakeTimeout" },
        count: 1,
        sum: 10
      })
    }).pipe(withOwnRegistry))
})
