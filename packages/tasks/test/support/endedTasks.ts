/** Tasks that were created, awaited, ended and removed, of which a store in a database keeps nothing. */
import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
import * as TaskStoreSql from "@effect-mcp/tasks/TaskStoreSql"
import { FiberCount } from "@effect-mcp/testing"
import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { heapInUse } from "../../../session/test/support/heapInUse.ts"
import { counts, unlimited } from "./racingTasks.ts"
import { storedTask as task } from "./storedTask.ts"

/** Checks that this number of ended tasks leaves no fiber, no row, and less than this number of bytes. */
export const leaveNothing = (count: number, maxBytes: number) =>
  Effect.gen(function*() {
    const context = yield* Layer.build(NodeSqlite.layer({ filename: ":memory:" }))
    const sql = Context.get(context, SqlClient.SqlClient)
    const store = yield* Effect.provide(TaskStoreSql.make(), context)
    const fibers = FiberCount.make()
    const round = (name: string, count: number) =>
      fibers.count(Effect.gen(function*() {
        for (let index = 0; index < count; index++) {
          const id = `${name}-${index}`
          yield* store.create(task(id, { principal: id }), unlimited)
          const wait = yield* Effect.forkChild(store.awaitChange(id, 1), { startImmediately: true })
          const interrupted = yield* Effect.forkChild(store.awaitChange(id, 2), { startImmediately: true })
          const outcome = { _tag: "Result", result: { content: ["x".repeat(1000)] } } as const
          yield* store.replace(task(id, { principal: id, version: 2, outcome }), unlimited)
          yield* Fiber.join(wait)
          yield* Fiber.interrupt(interrupted)
        }
        for (let index = 0; index < count; index++) yield* store.remove(`${name}-${index}`)
      }))
    yield* round("warmup", Math.min(count, 1000))
    const before = heapInUse()
    yield* round("task", count)
    assert.isBelow(heapInUse() - before, maxBytes)
    assert.strictEqual(fibers.living(), 0)
    assert.deepStrictEqual(yield* counts(sql), [[], []])
  })
