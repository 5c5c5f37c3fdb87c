/** The rules of stored tasks: their bytes, times, changes and cursors. */
import { Weight } from "@effect-mcp/session/internal"
import { StoredTask } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import { storedTask } from "./support/storedTask.ts"

const task = storedTask("t", { createdAt: 1000, updatedAt: 1000 })

const ended: StoredTask.StoredTask = { ...task, outcome: { _tag: "Cancelled" } }

describe("StoredTask.bytesOf", () => {
  it("counts the memory of the parsed task, which many small arrays take", () => {
    const bytes = StoredTask.bytesOf(ended)
    const arrays = Array.from({ length: 1_000 }, () => [])
    const grown = StoredTask.bytesOf({ ...ended, steps: [{ key: "a", result: arrays }] }) - bytes
    // V8 takes 40 bytes for an empty array and 8 for its place, and the text has 3 characters.
    assert.isAtLeast(grown, 48 * arrays.length)
    assert.isAtMost(grown, 70 * arrays.length)
  })

  it("counts at least two bytes for each UTF-16 code unit of what a client or a handler stores", () => {
    const text = "é🙂".repeat(1_000)
    const bytes = StoredTask.bytesOf(ended)
    assert.isAtLeast(StoredTask.bytesOf({ ...ended, steps: [{ key: "a", result: text }] }) - bytes, 2 * text.length)
    const numbers = Array.from({ length: 1_000 }, () => 123_456_789)
    const whole = StoredTask.bytesOf({ ...ended, steps: [{ key: "a", result: numbers }] })
    assert.isAtLeast(whole, 2 * JSON.stringify(numbers).length)
  })

  it("counts a task as its copy from JSON, which has no members that are undefined", () => {
    const resumption = {
      profile: { revision: "2026-07-28", capabilities: {}, info: { name: "n", version: "1" } },
      claims: undefined,
      runs: 1
    } as const
    const some = { ...task, principal: undefined, ttlMillis: undefined, resumption }
    assert.strictEqual(StoredTask.bytesOf(some), StoredTask.bytesOf(JSON.parse(JSON.stringify(some))))
  })

  it("counts 2,560 bytes for the members that every change replaces, and 2,048 for the end of a task", () => {
    const changed = {
      ...ended,
      updatedAt: 1e15,
      version: 1e15,
      cancelRequested: true,
      message: "x".repeat(1000),
      lease: { owner: "x".repeat(1000), expiresAt: 1 }
    }
    assert.strictEqual(StoredTask.bytesOf(changed), StoredTask.bytesOf(ended))
    const { cancelRequested: _, updatedAt: __, version: ___, ...counted } = ended
    assert.strictEqual(StoredTask.bytesOf(ended), Weight.of(counted) + 2560)
    const { outcome: ____, ...unfinished } = counted
    assert.strictEqual(StoredTask.bytesOf(task), Weight.of(unfinished) + 2560 + 2048)
  })
})

describe("StoredTask.change", () => {
  it("keeps only the method of the request of a task that has ended", () => {
    const { params: _, ...request } = task.request
    assert.deepStrictEqual(StoredTask.change(task, { ...task, version: 2 })?.request, task.request)
    assert.deepStrictEqual(StoredTask.change(task, { ...ended, version: 2 })?.request, request)
  })

  it("[TSK-24] keeps the outcome of a task that has ended, and nothing makes it run again", () => {
    const { outcome: _, ...running } = ended
    const next = { ...running, version: ended.version + 1 }
    const changes: ReadonlyArray<StoredTask.StoredTask> = [
      next,
      { ...next, outcome: { _tag: "Result", result: {} } },
      { ...next, outcome: { _tag: "Error", error: { code: -32603, message: "The server has stopped" } } }
    ]
    for (const changed of changes) assert.isUndefined(StoredTask.change(ended, changed))
    assert.deepStrictEqual(
      StoredTask.change(ended, { ...ended, message: "late", version: next.version })?.outcome,
      ended.outcome
    )
  })
})

describe("StoredTask.dueAt", () => {
  it("is the end of the ttl, or of the lease of an unfinished task, or never", () => {
    const lease = { owner: "a", expiresAt: 1500 }
    assert.strictEqual(StoredTask.dueAt(task), Number.POSITIVE_INFINITY)
    assert.strictEqual(StoredTask.dueAt({ ...task, ttlMillis: 0 }), 1000)
    assert.strictEqual(StoredTask.dueAt({ ...task, ttlMillis: 1000, lease }), 1500)
    assert.strictEqual(StoredTask.dueAt({ ...task, ttlMillis: 100, lease }), 1100)
    assert.strictEqual(StoredTask.dueAt({ ...ended, ttlMillis: 1000, lease }), 2000)
    assert.strictEqual(StoredTask.dueAt({ ...ended, lease }), Number.POSITIVE_INFINITY)
  })
})

describe("StoredTask.positionOf", () => {
  it("returns the position of each cursor, whatever the id", () => {
    for (const id of ["t", "", "é漢🙂", "\u0000", "\ud800", "\"'\\", "x".repeat(1000)]) {
      for (const createdAt of [0, 1.5, -1, 1_780_000_000_000]) {
        const cursor = StoredTask.cursorOf({ createdAt, id })
        assert.match(cursor, /^[\w-]+$/)
        assert.deepStrictEqual(StoredTask.positionOf(cursor), { createdAt, id })
      }
    }
  })

  it("returns undefined for another text, also for one that decodes to a position", () => {
    const encoded = (json: string) => Buffer.from(json).toString("base64url")
    const texts = ["", "W10", "x", "WzEsImEiXQ==", "WzEsImEiXQ\n", "WzEsImEiXR"]
    const jsons = ["[1]", "[\"1\",\"a\"]", "[1,\"a\",2]", "[1, \"a\"]", "[1e999,\"a\"]", "[1.0,\"a\"]", "null", "{}"]
    assert.deepStrictEqual(StoredTask.positionOf("WzEsImEiXQ"), { createdAt: 1, id: "a" })
    for (const text of [...texts, ...jsons.map(encoded)]) assert.isUndefined(StoredTask.positionOf(text), text)
  })
})
