import { JsonRpc } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { ProgressGap } from "../../../src/internal/stdio/ProgressGap.ts"

const progress = (progressToken: string | number) =>
  JsonRpc.notification("notifications/progress", { progressToken, progress: 1 })

const reply = (id: string | number) => JsonRpc.success(id, {})

describe("the gap between progress and its reply", () => {
  it("makes the reply to the request of the progress wait, and no other message", () => {
    const gap = new ProgressGap(60_000)
    const waits = [
      reply(1),
      progress(1),
      progress("1"),
      JsonRpc.notification("notifications/message", { data: 1 }),
      JsonRpc.request(1, "ping", {}),
      reply(2)
    ].map((message) => gap.waitBefore(message))
    assert.deepStrictEqual(waits, [0, 0, 0, 0, 0, 0])
    for (const id of [1, "1"]) {
      const millis = gap.waitBefore(reply(id))
      assert.isTrue(millis > 0 && millis <= 60_000)
      assert.strictEqual(gap.waitBefore(reply(id)), 0)
    }
  })

  it("makes a batch wait that has such a reply", () => {
    const gap = new ProgressGap(60_000)
    gap.waitBefore(progress(2))
    assert.isAbove(gap.waitBefore([reply(1), reply(2)]), 0)
  })

  it("law 12: remembers the newest 64 tokens", () => {
    const gap = new ProgressGap(60_000)
    for (let token = 0; token < 100; token++) gap.waitBefore(progress(token))
    assert.strictEqual(gap.waitBefore(reply(35)), 0)
    assert.isAbove(gap.waitBefore(reply(99)), 0)
  })
})
