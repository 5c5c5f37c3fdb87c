/** The messages of Node below a request. */
import { assert, describe, it } from "@effect/vitest"
import * as Equal from "effect/Equal"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as NodeMessages from "../../../../src/internal/http/server/NodeMessages.ts"

const requestWith = (response: unknown) =>
  Object.assign(HttpServerRequest.fromWeb(new Request("http://localhost/mcp")), { response })

describe("messages that are compared by reference", () => {
  it("include the response", () => {
    const response = { status: 200 }
    NodeMessages.compareByReference(requestWith(response))
    assert.isFalse(Equal.equals(response, { status: 200 }))
  })

  it("do not include the response to an upgrade, which would hold the socket of the WebSocket", () => {
    let made = 0
    NodeMessages.compareByReference(requestWith(() => {
      made++
      return {}
    }))
    assert.strictEqual(made, 0)
  })
})
