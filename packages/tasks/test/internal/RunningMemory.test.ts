import { MemoryBudget } from "@effect-mcp/session"
import { Weight } from "@effect-mcp/session/internal"
import type { StoredTask } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as RunningMemory from "../../src/internal/runs/RunningMemory.ts"

const task = (principal: string | undefined, arrays = 1_000): StoredTask.StoredTask => ({
  id: "task",
  principal,
  request: {
    method: "tools/call",
    params: { name: "x", arguments: { arrays: Array.from({ length: arrays }, () => []) } }
  },
  createdAt: 0,
  updatedAt: 0,
  ttlMillis: undefined,
  pollMillis: 1_000,
  cancelRequested: false,
  questions: [],
  steps: [],
  lease: undefined,
  resumption: undefined,
  version: 1
})

/** Makes the memory for this number of tasks. */
const memoryFor = (tasks: number) =>
  RunningMemory.of(MemoryBudget.make({ maxBytes: 4 * tasks * Weight.of(task("bob")) }))

/** Holds tasks of a principal until one is rejected, and returns the functions that release them. */
const fill = (memory: RunningMemory.RunningMemory, principal: string | undefined): ReadonlyArray<() => void> => {
  const release = memory.hold(task(principal))
  return release === undefined ? [] : [release, ...fill(memory, principal)]
}

describe("the memory of running tasks", () => {
  it("law 12: is shared: a principal has no more than is free for others, and clients without one are one", () => {
    for (
      const [first, second, third] of [["ada", "bob", "eve"], ["ada", undefined, "bob"], [undefined, "ada", "bob"]]
    ) {
      const memory = memoryFor(16)
      assert.lengthOf(fill(memory, first), 8)
      assert.lengthOf(fill(memory, second), 4)
      assert.lengthOf(fill(memory, third), 2)
      assert.lengthOf(fill(memory, first), 0)
    }
  })

  it("law 12: a principal without a task gets all the room for its first one", () => {
    const memory = memoryFor(4)
    const release = memory.hold(task("ada", 3_500))
    assert.isDefined(release)
    assert.isUndefined(memory.hold(task("bob")))
    release?.()
    assert.isDefined(memory.hold(task("bob", 3_500)))
  })

  it("law 12: leaves messages their buffers: the budget is not scarce when tasks have all of theirs", () => {
    const budget = MemoryBudget.make({ maxBytes: 400 * Weight.of(task("bob")) })
    const memory = RunningMemory.of(budget)
    for (let principal = 0; fill(memory, String(principal)).length > 0;) principal++
    assert.isFalse(MemoryBudget.isScarce(budget))
    // A request of another client.
    assert.isTrue(budget.take(budget.maxBytes / 8))
    assert.isFalse(MemoryBudget.isScarce(budget))
  })

  it("is free for a principal again when its tasks have ended, each released once", () => {
    const memory = memoryFor(8)
    for (let round = 0; round < 3; round++) {
      const releases = fill(memory, "ada")
      assert.lengthOf(releases, 4)
      for (const release of releases) {
        release()
        release()
      }
    }
    assert.lengthOf(fill(memory, "bob"), 4)
    assert.lengthOf(fill(memory, "ada"), 2)
  })
})
