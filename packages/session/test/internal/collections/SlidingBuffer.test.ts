import { MemoryBudget } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as SlidingBuffer from "../../../src/internal/collections/SlidingBuffer.ts"

const drained = <A>(backlog: SlidingBuffer.SlidingBuffer<A>): ReadonlyArray<A> => {
  const items: Array<A> = []
  for (let taken = backlog.shift(); taken !== undefined; taken = backlog.shift()) {
    items.push(taken.item)
    backlog.release(taken)
  }
  return items
}

const budget = MemoryBudget.make()

describe("a backlog", () => {
  it("law 12: holds so many; the oldest makes room", () => {
    const backlog = SlidingBuffer.make<number>({ capacity: 2, bytes: 100, budget })
    assert.deepStrictEqual([1, 2, 3].map((item) => backlog.offer(item, 0)), [true, true, false])
    assert.strictEqual(backlog.size(), 2)
    assert.deepStrictEqual(drained(backlog), [2, 3])
  })

  it("law 12: holds so many bytes; as many of the oldest make room as it takes", () => {
    const backlog = SlidingBuffer.make<number>({ capacity: 10, bytes: 100, budget })
    assert.deepStrictEqual([40, 40, 20, 1].map((bytes, item) => backlog.offer(item, bytes)), [true, true, true, false])
    assert.deepStrictEqual(drained(backlog), [1, 2, 3])
    backlog.offer(4, 60)
    backlog.offer(5, 40)
    assert.isFalse(backlog.offer(6, 90))
    assert.deepStrictEqual(drained(backlog), [6])
  })

  it("keeps one that is larger than all of it, until the next comes", () => {
    const backlog = SlidingBuffer.make<number>({ capacity: 10, bytes: 100, budget })
    backlog.offer(1, 10)
    assert.isFalse(backlog.offer(2, 1000))
    assert.strictEqual(backlog.size(), 1)
    assert.isFalse(backlog.offer(3, 1))
    assert.deepStrictEqual(drained(backlog), [3])
  })

  it("has room again for what was taken or cleared", () => {
    const backlog = SlidingBuffer.make<number>({ capacity: 10, bytes: 100, budget })
    backlog.offer(1, 100)
    backlog.shift()
    assert.isTrue(backlog.offer(2, 100))
    backlog.clear()
    assert.isTrue(backlog.offer(3, 100))
    assert.deepStrictEqual(drained(backlog), [3])
  })

  it("law 12: makes room when the process has no memory left, and drops what finds none", () => {
    const budget = MemoryBudget.make({ maxBytes: 100 })
    const one = SlidingBuffer.make<number>({ capacity: 10, bytes: 100, budget })
    budget.take(60)
    assert.deepStrictEqual([one.offer(1, 20), one.offer(2, 20), one.offer(3, 30)], [true, true, false])
    assert.deepStrictEqual([one.size(), budget.usedBytes()], [1, 90])
    assert.isFalse(one.offer(4, 50))
    assert.deepStrictEqual([one.size(), budget.usedBytes()], [0, 60])
  })

  it("law 12: makes room for a smaller one, and says so with the next that is offered", () => {
    const budget = MemoryBudget.make({ maxBytes: 100 })
    const large = SlidingBuffer.make<number>({ capacity: 10, bytes: 100, budget })
    const small = SlidingBuffer.make<number>({ capacity: 10, bytes: 100, budget })
    assert.deepStrictEqual([large.offer(1, 30), large.offer(2, 40), small.offer(3, 20)], [true, true, true])
    const taken = large.shift()
    assert.isTrue(small.offer(4, 30))
    // What its consumer has taken stays charged.
    assert.deepStrictEqual([large.size(), small.size(), budget.usedBytes()], [0, 2, 80])
    assert.deepStrictEqual([large.offer(5, 10), large.offer(6, 10)], [false, true])
    assert.isFalse(small.offer(7, 10))
    assert.deepStrictEqual(drained(small), [4, 7])
    if (taken !== undefined) large.release(taken)
    assert.deepStrictEqual(drained(large), [5, 6])
    assert.strictEqual(budget.usedBytes(), 0)
  })

  it("law 2: charges what waits, and what was taken until it is released", () => {
    const budget = MemoryBudget.make()
    const backlog = SlidingBuffer.make<number>({ capacity: 10, bytes: 100, budget })
    backlog.offer(1, 10)
    backlog.offer(2, 20)
    backlog.offer(3, 30)
    const taken = backlog.shift()
    assert.strictEqual(budget.usedBytes(), 60)
    if (taken !== undefined) backlog.release(taken)
    assert.strictEqual(budget.usedBytes(), 50)
    backlog.clear()
    assert.strictEqual(budget.usedBytes(), 0)
  })
})
