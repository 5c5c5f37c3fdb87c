/** The delays between the attempts of a supervised client to connect, in virtual time. */
import { McpClient, McpTarget, type ServerStatus } from "@effect-mcp/client"
import { Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as SimulatedServer from "./support/SimulatedServer.ts"
import { virtually } from "./support/virtually.ts"

const info = { name: "host", version: "1.0.0" }

type Down = Extract<ServerStatus.ServerStatus, { readonly _tag: "Down" }>

/** Waits for the next times that the server is down. */
const downs = (client: McpClient.McpClientShape, count: number): Effect.Effect<ReadonlyArray<Down>> =>
  Stream.runCollect(client.statuses.pipe(
    Stream.filter((status) => status._tag === "Down"),
    Stream.take(count)
  ))

const delaysOf = (some: ReadonlyArray<Down>) => some.map(({ retryMillis }) => retryMillis ?? 0)

const untilReady = (client: McpClient.McpClientShape) =>
  Stream.runHead(Stream.filter(client.statuses, ({ _tag }) => _tag === "Ready"))

/** Makes a client of a server that cannot be started yet. */
const missing = Effect.fnUntraced(function*(options: Partial<McpClient.Options> = {}) {
  const server = SimulatedServer.make()
  server.isInstalled = false
  return { server, client: yield* McpClient.make(server.target, { info, ...options }) }
})

describe("the default schedule", () => {
  it("doubles its delays up to 30 seconds, and shortens each by up to half at random", () =>
    virtually(Effect.gen(function*() {
      const { client } = yield* missing()
      const delays = delaysOf(yield* downs(client, 100))
      for (const [attempt, delay] of delays.entries()) {
        const longest = Math.min(500 * 2 ** attempt, 30_000)
        assert.isAtLeast(delay, longest / 2)
        assert.isAtMost(delay, longest)
      }
      // At the longest delay, too, clients do not return together.
      assert.isAbove(new Set(delays.slice(10)).size, 50)
    })))

  it("begins anew after a session that stood", () =>
    virtually(Effect.gen(function*() {
      const { client, server } = yield* missing()
      yield* downs(client, 8)
      server.isInstalled = true
      yield* untilReady(client)
      yield* Effect.sleep("10 seconds")
      yield* server.kill
      yield* Effect.sleep(1)
      const [down] = yield* downs(client, 1)
      assert.strictEqual(down?.attempts, 1)
      assert.isAtMost(down?.retryMillis ?? 0, 500)
    })))

  it("goes on after a session that did not stand, so that a server that starts and crashes is not started often", () =>
    virtually(Effect.gen(function*() {
      const { client, server } = yield* missing()
      server.isInstalled = true
      for (let crash = 0; crash < 10; crash++) {
        yield* untilReady(client)
        yield* Effect.sleep("9 seconds")
        yield* server.kill
        yield* Effect.sleep(1)
        const [down] = yield* downs(client, 1)
        assert.strictEqual(down?.attempts, crash + 1)
        assert.isAtLeast(down?.retryMillis ?? 0, Math.min(500 * 2 ** crash, 30_000) / 2)
      }
    })))

  it("fails no call before its time, and each then", () =>
    virtually(Effect.gen(function*() {
      const { client } = yield* missing({ waitTimeout: "1 minute" })
      const waited = (waitTimeout?: string) =>
        Effect.gen(function*() {
          const began = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
          const options = waitTimeout === undefined ? {} : { waitTimeout: "5 seconds" } as const
          const error = yield* Effect.flip(client.callTool("x", {}, options))
          assert.strictEqual(error._tag, "ServerUnavailableError")
          return (yield* Effect.clockWith((clock) => clock.currentTimeMillis)) - began
        })
      assert.deepStrictEqual(
        yield* Effect.all([waited(), waited("5 seconds")], { concurrency: "unbounded" }),
        [60_000, 5_000]
      )
    })))
})

describe("a schedule of the program", () => {
  it("is used as it is, and begins anew after a session that stood for steadyAfter", () =>
    virtually(Effect.gen(function*() {
      const { client, server } = yield* missing({ reconnect: Schedule.exponential("1 minute"), steadyAfter: "1 hour" })
      assert.deepStrictEqual(delaysOf(yield* downs(client, 3)), [60_000, 120_000, 240_000])
      server.isInstalled = true
      yield* untilReady(client)
      yield* Effect.sleep("59 minutes")
      yield* server.kill
      yield* Effect.sleep(1)
      assert.deepStrictEqual(delaysOf(yield* downs(client, 1)), [480_000])
      yield* untilReady(client)
      yield* Effect.sleep("60 minutes")
      yield* server.kill
      yield* Effect.sleep(1)
      assert.deepStrictEqual(delaysOf(yield* downs(client, 1)), [60_000])
    })))

  it("does not begin anew after a session that ended at once, however long its transport takes to close", () =>
    virtually(Effect.gen(function*() {
      const server = SimulatedServer.make()
      const slowly = Layer.effect(
        Transport.Transport,
        Effect.map(Transport.Transport, (transport) => ({
          ...transport,
          connect: Effect.andThen(Effect.addFinalizer(() => Effect.sleep("1 hour")), transport.connect)
        }))
      )
      const client = yield* McpClient.make(McpTarget.transport(Layer.provide(slowly, server.target.transport)), {
        info,
        reconnect: Schedule.upTo(Schedule.spaced("1 second"), { times: 2 })
      })
      yield* Effect.forkScoped(
        Stream.runForEach(client.statuses, ({ _tag }) => _tag === "Ready" ? server.kill : Effect.void)
      )
      const all = yield* Stream.runCollect(Stream.filter(client.statuses, ({ _tag }) => _tag === "Down"))
      assert.deepStrictEqual(all.map((status) => status._tag === "Down" ? status.attempts : 0), [1, 2, 3])
    })))

  it("that ends ends the attempts, and fails calls at once, those that wait as well", () =>
    virtually(Effect.gen(function*() {
      const { client, server } = yield* missing({
        reconnect: Schedule.upTo(Schedule.spaced("1 second"), { times: 2 }),
        waitTimeout: "1 hour"
      })
      const error = yield* Effect.flip(client.callTool("x"))
      assert.include(error.message, "down after 3 attempts")
      assert.match(
        error.message,
        /no further attempt; the call waited 2000 ms; set reconnect to a schedule that goes on$/
      )
      const status = yield* client.status
      assert.deepStrictEqual(
        status._tag === "Down" ? [status.problem._tag, status.attempts, status.retryMillis] : [],
        ["TargetFailed", 3, undefined]
      )
      server.isInstalled = true
      yield* Effect.sleep("2 hours")
      const later = yield* Effect.flip(client.callTool("x"))
      assert.strictEqual(later._tag === "ServerUnavailableError" ? later.waitedMillis : undefined, 0)
      assert.strictEqual(server.processes(), 0)
    })))

  const dying: ReadonlyArray<readonly [string, Schedule.Schedule<unknown>]> = [
    ["dies at its beginning", Schedule.fromStep(Effect.die(new Error("no delays")))],
    [
      "throws an error",
      Schedule.fromStep(Effect.succeed((): never => {
        throw new Error("no delays")
      }))
    ],
    ["dies at a step", Schedule.modifyDelay(Schedule.forever, () => Effect.die(new Error("no delays")))]
  ]
  for (const [when, reconnect] of dying) {
    it(`that ${when} counts as one that has ended`, () =>
      virtually(Effect.gen(function*() {
        const { client } = yield* missing({ reconnect })
        const error = yield* Effect.flip(client.callTool("x"))
        assert.include(error.message, "not installed; no further attempt")
      })))
  }
})
