import { MemoryBudget } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as SlidingBuffer from "../../../src/internal/collections/SlidingBuffer.ts"

const drained = <A>(buffer: SlidingBuffer.SlidingBuffer<A>): ReadonlyArray<A> => {
  const items: Array<A> = []
  for (let taken = buffer.shift(); taken !== undefined; taken = buffer.shift()) {
    items.push(taken.item)
    buffer.release(taken)
  }
  return items
}

const budget = MemoryBudget.make()

describe("a SlidingBuffer", () => {
  it("law 12: drops the oldest item if it has more than `capacity`", () => {
    const buffer = SlidingBuffer.make<number>({ capacity: 2, bytes: 100, budget })
    assert.deepStrictEqual([1, 2, 3].map((item) => buffer.offer(item, 0)), [true, true, false])
    assert.strictEqual(buffer.size(), 2)
    assert.deepStrictEqual(drained(buffer), [2, 3])
  })

  it("law 12: drops as many of the oldest items as the limit of bytes requires", () => {
    const buffer = SlidingBuffer.make<number>({ capacity: 10, bytes: 100, budget })
    assert.deepStrictEqual([40, 40, 20, 1].map((bytes, item) => buffer.offer(item, bytes)), [true, true, true, false])
    assert.deepStrictEqual(drained(buffer), [1, 2, 3])
    buffer.offer(4, 60)
    buffer.offer(5, 40)
    assert.isFalse(buffer.offer(6, 90))
    assert.deepStrictEqual(drained(buffer), [6])
  })

  it("has an item larger than the limit until the next one arrives", () => {
    const buffer = SlidingBuffer.make<number>({ capacity: 10, bytes: 100, budget })
    buffer.offer(1, 10)
    assert.isFalse(buffer.offer(2, 1000))
    assert.strictEqual(buffer.size(), 1)
    assert.isFalse(buffer.offer(3, 1))
    assert.deepStrictEqual(drained(buffer), [3])
  })

  it("has room again after an item is taken or the buffer is cleared", () => {
    const buffer = SlidingBuffer.make<number>({ capacity: 10, bytes: 100, budget })
    buffer.offer(1, 100)
    buffer.shift()
    assert.isTrue(buffer.offer(2, 100))
    buffer.clear()
    assert.isTrue(buffer.offer(3, 100))
    assert.deepStrictEqual(drained(buffer), [3])
  })

  it("law 12: drops items if the memory budget is full, the new one if nothing else is left", () => {
    const budget = MemoryBudget.make({ maxBytes: 100 })
    const one = SlidingBuffer.make<number>({ capacity: 10, bytes: 100, budget })
    budget.take(60)
    assert.deepStrictEqual([one.offer(1, 20), one.offer(2, 20), one.offer(3, 30)], [true, true, false])
    assert.deepStrictEqual([one.size(), budget.usedBytes()], [1, 90])
    assert.isFalse(one.offer(4, 50))
    assert.deepStrictEqual([one.size(), budget.usedBytes()], [0, 60])
  })

  it("law 12: yields to a smaller buffer, and reports that at the next offer", () => {
    const budget = MemoryBudget.make({ maxBytes: 100 })
    const large = SlidingBuffer.make<number>({ capacity: 10, bytes: 100, budget })
    const small = SlidingBuffer.make<number>({ capacity: 10, bytes: 100, budget })
    assert.deepStrictEqual([large.offer(1, 30), large.offer(2, 40), small.offer(3, 20)], [true, true, true])
    const taken = large.shift()
    assert.isTrue(small.offer(4, 30))
    // An item that the consumer has taken stays charged.
    assert.deepStrictEqual([large.size(), small.size(), budget.usedBytes()], [0, 2, 80])
    assert.deepStrictEqual([large.offer(5, 10), large.offer(6, 10)], [false, true])
    assert.isFalse(small.offer(7, 10))
    assert.deepStrictEqual(drained(small), [4, 7])
    if (taken !== undefined) large.release(taken)
    assert.deepStrictEqual(drained(large), [5, 6])
    assert.strictEqual(budget.usedBytes(), 0)
  })

  it("law 2: charges waiting items, and taken items until they are released", () => {
    const budget = MemoryBudget.make()
    const buffer = SlidingBuffer.make<number>({ capacity: 10, bytes: 100, budget })
    buffer.offer(1, 10)
    buffer.offer(2, 20)
    buffer.offer(3, 30)
    const taken = buffer.shift()
    assert.strictEqual(budget.usedBytes(), 60)
    if (taken !== undefined) buffer.release(taken)
    assert.strictEqual(budget.usedBytes(), 50)
    buffer.clear()
    assert.strictEqual(budget.usedBytes(), 0)
  })
})
