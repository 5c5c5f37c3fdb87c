import * as Notifications from "@effect-mcp/examples/src/host/notifications.ts"
import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Conditions } from "./conditions.ts"
import { callForJson, callForText, errorResponse } from "./results.ts"

const icons = [{ src: "https://example.com/bead.svg", mimeType: "image/svg+xml", sizes: ["any"] }]

export const resources = ({ it, peer }: Conditions) => {
  it.effect("[PAG-01] [PAG-02] [PAG-03] lists resources with all members, page by page", () =>
    Effect.gen(function*() {
      const session = yield* ClientSession.ClientSession
      assert.deepStrictEqual(yield* Stream.runCollect(session.resources), [
        {
          uri: "bead:///1",
          name: "1",
          title: "The first",
          description: "A bead",
          mimeType: "text/plain",
          size: 3,
          icons,
          annotations: { audience: ["user"], priority: 0.5, lastModified: "2025-11-25T00:00:00Z" },
          _meta: { "example.com/bead": 1 }
        },
        { uri: "bead:///2", name: "2", mimeType: "image/png" },
        { uri: "bead:///3", name: "3" }
      ])
    }))

  it.effect("[PAG-07] lists resource templates from a single page", () =>
    Effect.gen(function*() {
      const session = yield* ClientSession.ClientSession
      assert.deepStrictEqual(yield* Stream.runCollect(session.resourceTemplates), [
        { uriTemplate: "bead:///{number}", name: "bead", title: "A bead", mimeType: "text/plain", icons }
      ])
    }))

  it.effect("reads text and bytes, and receives the error for a missing resource", () =>
    Effect.gen(function*() {
      const { readResource } = yield* ClientSession.ClientSession
      assert.deepStrictEqual(yield* readResource("bead:///1"), {
        contents: [{ uri: "bead:///1", mimeType: "text/plain", text: "one" }],
        _meta: { "example.com/bead": 1 }
      })
      assert.deepStrictEqual((yield* readResource("bead:///2")).contents, [
        { uri: "bead:///2", mimeType: "image/png", blob: "AAAA" }
      ])
      assert.deepStrictEqual(yield* errorResponse(readResource("bead:///9")), {
        // One of these servers sends the code of a later revision.
        code: peer.notFoundCode,
        message: peer.errorMessage(-32002, "Resource not found: bead:///9"),
        data: { uri: "bead:///9" }
      })
    }))

  it.effect("subscribes to a resource, receives its update, and unsubscribes", () =>
    Effect.gen(function*() {
      const { subscribeResource, unsubscribeResource } = yield* ClientSession.ClientSession
      const uri = "bead:///1"
      yield* subscribeResource(uri)
      assert.deepInclude(yield* callForJson("observations"), { subscribed: [uri] })
      const method = "notifications/resources/updated"
      yield* callForText("notify", { method, params: { uri } })
      assert.deepStrictEqual(yield* Notifications.next(method), { method, params: { uri } })
      yield* unsubscribeResource(uri)
      assert.deepInclude(yield* callForJson("observations"), { subscribed: [] })
    }))
}
