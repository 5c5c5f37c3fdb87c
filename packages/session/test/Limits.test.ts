import { Limits } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"

describe("limits", () => {
  it("[TMO-02] [TMO-04] [TMO-06] [PRG-06] have the defaults that are documented", () => {
    assert.deepStrictEqual(Limits.make(), {
      requestDeadline: 60_000,
      requestTotal: 3_600_000,
      handshake: 30_000,
      opening: Number.POSITIVE_INFINITY,
      gracefulClose: 5000,
      write: 30_000,
      outgoing: 1024,
      outgoingBytes: 33_554_432,
      incoming: 256,
      incomingBytes: 33_554_432,
      replies: 16_384,
      progress: 256,
      progressInterval: 0,
      notifications: 1024,
      notificationBytes: 33_554_432,
      profileBytes: 16_384,
      outputSchemas: 1024,
      pages: 10_000,
      batch: 100,
      malformedReplies: 10
    })
  })
})
