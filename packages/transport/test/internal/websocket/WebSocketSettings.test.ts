import { assert, it } from "@effect/vitest"
import { constants } from "node:buffer"
import * as WebSocketSettings from "../../../src/internal/websocket/WebSocketSettings.ts"

it("the default of maxPayloadBytes is four times maxMessageBytes, and at most the longest string of Node", () => {
  assert.strictEqual(WebSocketSettings.maxPayload({}), 16 * 1024 * 1024)
  assert.strictEqual(WebSocketSettings.maxPayload({ maxMessageBytes: 1000 }), 4000)
  assert.strictEqual(WebSocketSettings.maxPayload({ maxPayloadBytes: 5 }), 5)
  assert.strictEqual(
    WebSocketSettings.maxPayload({ maxPayloadBytes: Number.POSITIVE_INFINITY }),
    WebSocketSettings.maxStringLength
  )
  assert.isAtMost(WebSocketSettings.maxStringLength, constants.MAX_STRING_LENGTH)
})
