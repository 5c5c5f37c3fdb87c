import { assert, describe, it } from "@effect/vitest"
import * as CollectedBody from "../../../src/internal/shared/CollectedBody.ts"

const bytes = (...values: ReadonlyArray<number>): Uint8Array => Uint8Array.from(values)

describe("a collected body", () => {
  it("is empty without chunks, and a single chunk is the body itself, without a copy", () => {
    const body = CollectedBody.make(4)
    assert.strictEqual(body.bytes().length, 0)
    const chunk = bytes(1, 2)
    assert.isTrue(body.push(chunk))
    assert.strictEqual(body.bytes(), chunk)
  })

  it("copies the chunks if there are several, because each holds the whole network read", () => {
    const body = CollectedBody.make(100)
    const chunk = bytes(1, 2)
    for (let count = 0; count < 3; count++) assert.isTrue(body.push(chunk))
    chunk.fill(9)
    assert.deepStrictEqual([...body.bytes()], [1, 2, 1, 2, 1, 2])
  })

  it("rejects a chunk that exceeds the limit, the first one or a later one", () => {
    const body = CollectedBody.make(3)
    assert.isFalse(body.push(bytes(1, 2, 3, 4)))
    assert.isTrue(body.push(bytes(1, 2)))
    assert.isFalse(body.push(bytes(3, 4)))
    assert.isTrue(body.push(bytes(3)))
    assert.isFalse(body.push(bytes(4)))
    assert.deepStrictEqual([...body.bytes()], [1, 2, 3])
  })
})
