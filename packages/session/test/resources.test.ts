import { ErrorCode, JsonRpc, McpError } from "@effect-mcp/protocol"
import type { RequestError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Stream from "effect/Stream"
import { connected, performHandshake, type ServerHandlers, settled, withRawClient } from "./support/sessions.ts"

const bytes = Uint8Array.from({ length: 1024 }, (_, index) => index % 256)

/** A server with two resources, which stores the subscribed URIs. */
const resourceServer = () => {
  const subscribed = new Set<string>()
  const notFound = (uri: string) =>
    Effect.fail(
      new McpError.McpError({ code: ErrorCode.ResourceNotFound, message: "Resource not found", data: { uri } })
    )
  const handlers: ServerHandlers = {
    "resources/list": () =>
      Effect.succeed({ resources: [{ uri: "note:///a", name: "a" }, { uri: "note:///b", name: "b" }] }),
    "resources/read": ({ uri }) => {
      if (!URL.canParse(uri)) return Effect.fail(McpError.invalidParams(`${uri} is no URI`))
      switch (uri) {
        case "note:///a":
          return Effect.succeed({ contents: [{ uri, text: "text" }] })
        case "note:///b":
          return Effect.succeed({
            contents: [{ uri, mimeType: "application/octet-stream", blob: Base64.encode(bytes) }]
          })
        default:
          return notFound(uri)
      }
    },
    "resources/subscribe": ({ uri }) => Effect.as(Effect.sync(() => subscribed.add(uri)), {}),
    "resources/unsubscribe": ({ uri }) => Effect.as(Effect.sync(() => subscribed.delete(uri)), {})
  }
  return { handlers, subscribed }
}

const errorOf = (effect: Effect.Effect<unknown, RequestError.RequestError>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason._tag === "ErrorResponse" ? reason.error : undefined)

describe("resources", () => {
  it.effect("a subscribed client receives updates until it unsubscribes", () =>
    Effect.gen(function*() {
      const { handlers, subscribed } = resourceServer()
      const { client, server } = yield* connected({ handlers })
      const changed = (uri: string) => subscribed.has(uri) ? server.resourceUpdated(uri) : Effect.void
      const updated: Array<string> = []
      yield* Effect.forkChild(
        Stream.runForEach(
          client.notifications("notifications/resources/updated"),
          ({ uri }) => Effect.sync(() => updated.push(uri))
        ),
        { startImmediately: true }
      )
      yield* settled
      yield* changed("note:///a")
      yield* client.subscribeResource("note:///a")
      yield* changed("note:///a")
      yield* changed("note:///b")
      yield* settled
      assert.deepStrictEqual(updated, ["note:///a"])
      yield* client.unsubscribeResource("note:///a")
      yield* changed("note:///a")
      yield* settled
      assert.deepStrictEqual(updated, ["note:///a"])
    }))

  it.effect("an unknown resource fails with -32002 and its URI", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({ handlers: resourceServer().handlers })
      const error = yield* errorOf(client.readResource("note:///c"))
      assert.deepStrictEqual([error?.code, error?.data], [-32_002, { uri: "note:///c" }])
    }))

  it.effect("binary contents arrive unchanged in base64", () =>
    Effect.gen(function*() {
      const { client, links } = yield* connected({ handlers: resourceServer().handlers })
      const { contents: [read] } = yield* client.readResource("note:///b")
      assert.deepStrictEqual<unknown>(read, {
        uri: "note:///b",
        mimeType: "application/octet-stream",
        blob: Buffer.from(bytes).toString("base64")
      })
      assert.include(JSON.stringify(links.server.sent), Buffer.from(bytes).toString("base64"))
    }))

  it.effect("an invalid URI is rejected by the handler, or before it runs", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({ handlers: resourceServer().handlers })
      assert.strictEqual((yield* errorOf(client.readResource("not a URI")))?.code, ErrorCode.InvalidParams)
      const { raw } = yield* withRawClient({ handlers: resourceServer().handlers })
      yield* performHandshake(raw)
      for (const params of [{}, { uri: null }, { uri: ["note:///a"] }]) {
        yield* raw.send(JsonRpc.request("r", "resources/read", params))
        const reply = yield* raw.response
        assert.strictEqual(JsonRpc.isFailure(reply) && reply.error.code, ErrorCode.InvalidParams)
      }
    }))
})
