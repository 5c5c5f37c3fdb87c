import { Limits } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"

describe("limits", () => {
  it("[TMO-02] [TMO-04] [TMO-06] [PRG-06] have the defaults that are documented", () => {
    assert.deepStrictEqual(Limits.make(), {
      requestTimeout: 60_000,
      requestTotalTimeout: 3_600_000,
      handshakeTimeout: 30_000,
      discoverTimeout: 5000,
      initializeTimeout: Number.POSITIVE_INFINITY,
      gracefulTimeout: 5000,
      writeTimeout: 30_000,
      maxOutgoingMessages: 1024,
      maxOutgoingBytes: 33_554_432,
      maxIncomingRequests: 256,
      maxIncomingBytes: 33_554_432,
      maxOutgoingReplies: 16_384,
      maxProgressSteps: 256,
      progressInterval: 0,
      maxNotifications: 1024,
      maxNotificationBytes: 33_554_432,
      maxProfileBytes: 16_384,
      maxOutputSchemas: 1024,
      maxKeptResultBytes: 8_388_608,
      maxPages: 10_000,
      maxRounds: 16,
      maxListeners: 10_000,
      maxRequestStateCharacters: 65_536,
      maxBatchMessages: 100,
      maxMalformedRepliesPerSecond: 10
    })
  })
})
