import { assert, it } from "@effect/vitest"
import { constants } from "node:buffer"
import * as settings from "../../../src/internal/websocket/settings.ts"

it("the default of maxPayloadBytes is four times maxMessageBytes, and at most the longest string of Node", () => {
  assert.strictEqual(settings.maxPayload({}), 16 * 1024 * 1024)
  assert.strictEqual(settings.maxPayload({ maxMessageBytes: 1000 }), 4000)
  assert.strictEqual(settings.maxPayload({ maxPayloadBytes: 5 }), 5)
  assert.strictEqual(settings.maxPayload({ maxPayloadBytes: Number.POSITIVE_INFINITY }), settings.maxStringLength)
  assert.isAtMost(settings.maxStringLength, constants.MAX_STRING_LENGTH)
})
