import { assert, describe, it } from "@effect/vitest"
import { type TaskRow, TasksInMemory } from "../../src/internal/store/TasksInMemory.ts"

const none = { maxTasks: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY }

const row = (id: string, changes: Partial<TaskRow> = {}): TaskRow => ({
  id,
  owner: "ada",
  createdAt: 1,
  version: 1,
  lease: undefined,
  endsAt: Number.POSITIVE_INFINITY,
  bytes: 10,
  state: "{}",
  text: "{}",
  ...changes
})

describe("TasksInMemory", () => {
  it("keeps the tasks of an owner sorted, in whatever order they are created and deleted", () => {
    const table = new TasksInMemory(none)
    const places = Array.from({ length: 50 }, (_, index) => (index * 37) % 50)
    for (const place of places) table.insert(row(String(place), { createdAt: place }), none)
    for (const place of places.slice(0, 25)) table.delete(String(place))
    const { hasMore, rows } = table.page("ada", undefined, 100)
    const left = places.slice(25).toSorted((one, other) => one - other)
    assert.deepStrictEqual(rows.map(({ id }) => Number(id)), left)
    assert.isFalse(hasMore)
    const after = table.page("ada", { createdAt: left[9] ?? 0, id: String(left[9]) }, 5)
    assert.deepStrictEqual(after.rows.map(({ id }) => Number(id)), left.slice(10, 15))
    assert.isTrue(after.hasMore)
  })

  it("notifies the callers that wait for an earlier version, and no others", () => {
    const table = new TasksInMemory(none)
    table.insert(row("a"), none)
    const notified: Array<string> = []
    const stop = table.watch("a", 1, () => {
      notified.push("first")
      stop()
    })
    const stopSecond = table.watch("a", 1, () => notified.push("second"))
    table.watch("a", 2, () => notified.push("third"))
    table.watch("b", 1, () => notified.push("other"))
    stopSecond()
    table.replace(row("a", { version: 2 }), none)
    assert.deepStrictEqual(notified, ["first"])
    table.delete("a")
    assert.deepStrictEqual(notified, ["first", "third"])
  })
})
