import { assert, describe, it } from "@effect/vitest"
import { createHmac } from "node:crypto"
import * as DpopNonces from "../../../src/internal/resource/DpopNonces.ts"

const bytes = new TextEncoder().encode("a secret of at least 32 characters")

describe("the nonces of a server", () => {
  it("are the authentication codes of their periods", () => {
    const { current } = DpopNonces.make(() => bytes, 1000)
    const expected = createHmac("sha256", bytes).update("dpop nonce 7").digest("base64url")
    assert.deepStrictEqual([current(7000), current(7999)], [expected, expected])
    assert.notStrictEqual(current(8000), expected)
  })

  it("are accepted in their period and the next one, by each process with the secret, and by no other", () => {
    const nonce = DpopNonces.make(() => bytes, 1000).current(7000)
    const other = DpopNonces.make(() => bytes, 1000)
    assert.deepStrictEqual([6999, 7000, 8999, 9000].map((now) => other.accepts(nonce, now)), [false, true, true, false])
    assert.isFalse(other.accepts(`${nonce.slice(0, -1)}${nonce.endsWith("A") ? "B" : "A"}`, 7000))
    assert.isFalse(other.accepts(nonce.slice(1), 7000))
    assert.isFalse(DpopNonces.make(() => bytes.slice(1), 1000).accepts(nonce, 7000))
  })

  it("need no secret before the first one", () => {
    let count = 0
    const nonces = DpopNonces.make(() => {
      count++
      return bytes
    }, 1000)
    assert.strictEqual(count, 0)
    nonces.current(1)
    nonces.current(2001)
    assert.strictEqual(count, 1)
  })
})
