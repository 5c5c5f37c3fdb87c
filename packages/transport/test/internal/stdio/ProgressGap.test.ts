import { JsonRpc } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { ProgressGap } from "../../../src/internal/stdio/ProgressGap.ts"

const progress = (progressToken: string | number) =>
  JsonRpc.notification("notifications/progress", { progressToken, progress: 1 })

const reply = (id: string | number) => JsonRpc.success(id, {})

/** Observes that everything is written: first what is ready is taken, then it is written. */
const write = (gap: ProgressGap) => {
  gap.onWritten()
  gap.onWritten()
}

/** Waits for a few milliseconds without leaving the turn of the event loop. */
const spend = (millis: number) => {
  const end = performance.now() + millis
  while (performance.now() < end);
}

describe("the gap between progress and its reply", () => {
  it("makes the reply to the request of the progress wait, and no other message", () => {
    const gap = new ProgressGap(60_000)
    const others = [
      reply(1),
      progress(1),
      progress("1"),
      JsonRpc.notification("notifications/message", { data: 1 }),
      JsonRpc.request(1, "ping", {}),
      reply(2)
    ]
    for (const message of others) assert.isUndefined(gap.waitBefore(message))
    write(gap)
    for (const id of [1, "1"]) {
      const millis = gap.waitBefore(reply(id))?.() ?? 0
      assert.isTrue(millis > 59_000 && millis <= 60_000)
      assert.isUndefined(gap.waitBefore(reply(id)))
    }
  })

  it("counts from the write of the progress, however long that takes", () => {
    const gap = new ProgressGap(20)
    gap.waitBefore(progress(1))
    spend(25)
    const wait = gap.waitBefore(reply(1))
    assert.strictEqual(wait?.(), 20)
    // The sink takes the chunk with the progress.
    gap.onWritten()
    spend(25)
    assert.strictEqual(wait?.(), 20)
    gap.onWritten()
    assert.isAtMost(wait?.() ?? 0, 20)
    spend(20)
    assert.isAtMost(wait?.() ?? 0, 0)
  })

  it("does not make a reply wait that comes later", () => {
    const gap = new ProgressGap(5)
    gap.waitBefore(progress(1))
    write(gap)
    spend(6)
    assert.isUndefined(gap.waitBefore(reply(1)))
  })

  it("counts from the last progress of the request", () => {
    const gap = new ProgressGap(20)
    gap.waitBefore(progress(1))
    gap.onWritten()
    gap.waitBefore(progress(1))
    gap.onWritten()
    spend(25)
    assert.strictEqual(gap.waitBefore(reply(1))?.(), 20)
  })

  it("makes a batch wait that has such a reply", () => {
    const gap = new ProgressGap(60_000)
    gap.waitBefore(progress(2))
    assert.strictEqual(gap.waitBefore([reply(1), reply(2)])?.(), 60_000)
  })

  it("law 12: remembers the newest 64 tokens", () => {
    const gap = new ProgressGap(60_000)
    for (let token = 0; token < 100; token++) gap.waitBefore(progress(token))
    assert.isUndefined(gap.waitBefore(reply(35)))
    assert.isDefined(gap.waitBefore(reply(36)))
    assert.isDefined(gap.waitBefore(reply(99)))
  })
})
