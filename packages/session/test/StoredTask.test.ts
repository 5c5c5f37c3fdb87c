/** The rules of stored tasks: their bytes, times, changes and cursors. */
import { StoredTask } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import { storedTask } from "./support/storedTask.ts"

const task = storedTask("t", { createdAt: 1000, updatedAt: 1000 })

const ended: StoredTask.StoredTask = { ...task, outcome: { _tag: "Cancelled" } }

describe("StoredTask.bytesOf", () => {
  it("counts two bytes for each UTF-16 code unit of what a client or a handler stores", () => {
    const bytes = StoredTask.bytesOf(ended)
    assert.strictEqual(StoredTask.bytesOf({ ...ended, message: "é🙂" }) - bytes, 2 * ",\"message\":\"é🙂\"".length)
    const question = { key: "a", request: { method: "elicitation/create" }, answer: 1 }
    assert.strictEqual(
      StoredTask.bytesOf({ ...ended, questions: [question] }) - bytes,
      2 * JSON.stringify(question).length
    )
  })

  it("counts the members that every change replaces as 512 bytes, and 2,048 for the end of an unfinished task", () => {
    const changed = {
      ...ended,
      updatedAt: 1e15,
      version: 1e15,
      cancelRequested: true,
      lease: { owner: "x".repeat(1000), expiresAt: 1 }
    }
    assert.strictEqual(StoredTask.bytesOf(changed), StoredTask.bytesOf(ended))
    const outcome = 2 * ",\"outcome\":{\"_tag\":\"Cancelled\"}".length
    assert.strictEqual(StoredTask.bytesOf(task), StoredTask.bytesOf(ended) - outcome + 2048)
    const { cancelRequested: _, updatedAt: __, version: ___, ...counted } = ended
    assert.strictEqual(StoredTask.bytesOf(ended), 2 * JSON.stringify(counted).length + 512)
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
