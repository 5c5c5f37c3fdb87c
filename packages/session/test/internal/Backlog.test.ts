import { assert, describe, it } from "@effect/vitest"
import * as Backlog from "../../src/internal/Backlog.ts"

const drained = <A>(backlog: Backlog.Backlog<A>): ReadonlyArray<A> => {
  const items: Array<A> = []
  for (let item = backlog.shift(); item !== undefined; item = backlog.shift()) items.push(item)
  return items
}

describe("a backlog", () => {
  it("law 12: holds so many; the oldest makes room", () => {
    const backlog = Backlog.make<number>({ capacity: 2, bytes: 100 })
    assert.deepStrictEqual([1, 2, 3].map((item) => backlog.offer(item, 0)), [true, true, false])
    assert.strictEqual(backlog.size(), 2)
    assert.deepStrictEqual(drained(backlog), [2, 3])
  })

  it("law 12: holds so many bytes; as many of the oldest make room as it takes", () => {
    const backlog = Backlog.make<number>({ capacity: 10, bytes: 100 })
    assert.deepStrictEqual([40, 40, 20, 1].map((bytes, item) => backlog.offer(item, bytes)), [true, true, true, false])
    assert.deepStrictEqual(drained(backlog), [1, 2, 3])
    backlog.offer(4, 60)
    backlog.offer(5, 40)
    assert.isFalse(backlog.offer(6, 90))
    assert.deepStrictEqual(drained(backlog), [6])
  })

  it("keeps one that is larger than all of it, until the next comes", () => {
    const backlog = Backlog.make<number>({ capacity: 10, bytes: 100 })
    backlog.offer(1, 10)
    assert.isFalse(backlog.offer(2, 1000))
    assert.strictEqual(backlog.size(), 1)
    assert.isFalse(backlog.offer(3, 1))
    assert.deepStrictEqual(drained(backlog), [3])
  })

  it("has room again for what was taken or cleared", () => {
    const backlog = Backlog.make<number>({ capacity: 10, bytes: 100 })
    backlog.offer(1, 100)
    backlog.shift()
    assert.isTrue(backlog.offer(2, 100))
    backlog.clear()
    assert.isTrue(backlog.offer(3, 100))
    assert.deepStrictEqual(drained(backlog), [3])
  })
})
