/** The ids of tasks: those of a hostile server, and those of a store that is interrupted in its write. */
import { TaskIds } from "@effect-mcp/client"
import * as TaskIdsKeyValue from "@effect-mcp/client/TaskIdsKeyValue"
import { JsonRpc } from "@effect-mcp/protocol"
import { ClientSession, MemoryTransport, Transport } from "@effect-mcp/session"
import { RawPeer } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as References from "effect/References"
import * as TestClock from "effect/testing/TestClock"
import * as SupervisedTasks from "../../src/internal/supervision/SupervisedTasks.ts"

const info = { name: "test", version: "1.0.0" }

/** Connects a client with a server whose tasks have an id of this length. */
const sessionWithIds = Effect.fnUntraced(function*(length: number) {
  const pair = yield* MemoryTransport.make()
  const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.server))
  const task = {
    taskId: "x".repeat(length),
    status: "working",
    createdAt: "2026-01-01T00:00:00Z",
    lastUpdatedAt: "2026-01-01T00:00:00Z",
    ttl: null
  }
  const results: { readonly [method: string]: object } = {
    initialize: {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
      serverInfo: info
    },
    "tools/list": {
      tools: [{ name: "work", inputSchema: { type: "object" }, execution: { taskSupport: "required" } }]
    },
    "tools/call": { task }
  }
  const answer = Effect.flatMap(raw.receive, (message) =>
    JsonRpc.isRequest(message)
      ? Effect.orDie(raw.send(JsonRpc.success(message.id, results[message.method] ?? {})))
      : Effect.void)
  yield* Effect.forkScoped(Effect.forever(answer), { startImmediately: true })
  return yield* ClientSession.make({ info, revisions: ["2025-11-25"], limits: { gracefulTimeout: 0 } }).pipe(
    Effect.provideService(Transport.Transport, pair.client)
  )
})

describe("the ids of a server's tasks", () => {
  it.effect("are stored up to 4,096 characters", () =>
    Effect.gen(function*() {
      const ids = yield* TaskIds.makeMemory
      for (const length of [4_096, 4_097]) {
        const session = yield* sessionWithIds(length)
        const tasks = SupervisedTasks.make({
          server: "s",
          ids,
          session: Effect.succeed(session),
          send: (_options, _reads, request) => request(session)
        })
        assert.strictEqual((yield* tasks.call("work")).id?.length, length)
      }
      assert.deepStrictEqual((yield* ids.list("s")).map(({ id }) => id.length), [4_096])
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None")))
})

describe("TaskIdsKeyValue", () => {
  it.effect("does not interrupt a write, which would lose all ids", () =>
    Effect.gen(function*() {
      let text: string | undefined
      const slow = KeyValueStore.makeStringOnly({
        get: () => Effect.sync(() => text),
        set: (_, value) =>
          Effect.gen(function*() {
            text = ""
            yield* Effect.sleep("1 minute")
            text = value
          }),
        remove: () => Effect.void,
        clear: Effect.void,
        size: Effect.succeed(0),
        keys: Effect.succeed([])
      })
      const layer = TaskIdsKeyValue.layer.pipe(Layer.provide(Layer.succeed(KeyValueStore.KeyValueStore, slow)))
      yield* Effect.gen(function*() {
        const ids = yield* TaskIds.TaskIds
        const adding = yield* Effect.forkChild(ids.add("s", { id: "t", tool: "work", startedAt: 1 }), {
          startImmediately: true
        })
        const interrupting = yield* Effect.forkChild(Fiber.interrupt(adding), { startImmediately: true })
        yield* TestClock.adjust("1 minute")
        yield* Fiber.join(interrupting)
        assert.deepStrictEqual((yield* ids.list("s")).map(({ id }) => id), ["t"])
      }).pipe(Effect.provide(layer))
    }))
})
