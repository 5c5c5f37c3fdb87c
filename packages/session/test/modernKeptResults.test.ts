/** The results that a client of revision 2026-07-28 keeps for as long as its server allows. */
import { JsonRpc } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { discoverResult, withModernServer } from "./support/modernServers.ts"
import type * as RawServer from "./support/RawServer.ts"
import { type ClientOptions, names, settled, start } from "./support/sessions.ts"

/** A server whose results name the number of the request, with these hints. */
const numbered = (hint: object = { ttlMs: 60_000 }): RawServer.Script => {
  let count = 0
  return (message) => {
    if (!JsonRpc.isRequest(message)) return []
    const { method, params } = message
    const name = String(++count)
    const result = method === "tools/list"
      ? {
        tools: [{ name, inputSchema: { type: "object" } }],
        ...(params?.["cursor"] === undefined ? { nextCursor: "2" } : {})
      }
      : method === "resources/read"
      ? { contents: [{ uri: String(params?.["uri"]), text: name }] }
      : method === "prompts/list"
      ? { prompts: [{ name }] }
      : method === "resources/list"
      ? { resources: [{ uri: "x://1", name }] }
      : method === "resources/templates/list"
      ? { resourceTemplates: [{ uriTemplate: "x://{a}", name }] }
      : {}
    return [JsonRpc.success(message.id, { resultType: "complete", ...result, ...hint })]
  }
}

const connected = (script: RawServer.Script = numbered(), client: ClientOptions = {}) =>
  withModernServer({
    script,
    client,
    result: discoverResult({ capabilities: { tools: {}, prompts: {}, resources: {} } })
  })

const changed = (name: string) => JsonRpc.notification(`notifications/${name}/list_changed`)

const requested = (raw: RawServer.RawServer) => names(raw.received).slice(1)

describe("a result with a time", () => {
  it.effect("[CCH-04] is kept until then, and asked for again only when it is needed", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected()
      const first = yield* session.listTools()
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual(yield* session.listTools(), first)
      assert.strictEqual(requested(raw).length, 1)
      yield* TestClock.adjust("10 minutes")
      yield* settled
      assert.strictEqual(requested(raw).length, 1)
      assert.notDeepEqual(yield* session.listTools(), first)
    }))

  it.effect("[CCH-05] is never the result of another method, other params or another cursor", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected()
      yield* session.listTools()
      yield* session.listTools({ cursor: "2" })
      yield* session.listPrompts()
      yield* session.listResources()
      yield* session.listResourceTemplates()
      yield* session.readResource("x://1")
      yield* session.readResource("x://2")
      yield* session.listTools({}, { meta: { "example.com/user": "ada" } })
      yield* session.request("resources/read", JSON.parse("{ \"uri\": \"x://1\", \"version\": 2 }"))
      yield* session.listTools({}, { meta: { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" } })
      yield* session.listTools({ cursor: "2" })
      assert.deepStrictEqual((yield* session.readResource("x://2")).contents, [{ uri: "x://2", text: "7" }])
      assert.strictEqual(requested(raw).length, 9)
    }))

  it.effect("all pages of a list are kept, and a stream reads them without a request", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected()
      const once = yield* Stream.runCollect(session.tools)
      assert.deepStrictEqual(yield* Stream.runCollect(session.tools), once)
      assert.strictEqual(requested(raw).length, 2)
    }))

  it.effect("[CCH-03] is not kept if the time is missing, negative, zero or no number", () =>
    Effect.gen(function*() {
      for (const hint of [{}, { ttlMs: -1 }, { ttlMs: 0 }, { ttlMs: "60000" }, { ttlMs: null }]) {
        const { raw, session } = yield* connected(numbered(hint))
        yield* Effect.ignore(session.listPrompts())
        yield* Effect.ignore(session.listPrompts())
        assert.strictEqual(requested(raw).length, 2, JSON.stringify(hint))
      }
    }))

  it.effect("is asked for again with `reload`, and the new result is kept", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected()
      yield* session.listPrompts()
      const reloaded = yield* session.listPrompts({}, { reload: true })
      assert.deepStrictEqual(yield* session.listPrompts(), reloaded)
      assert.strictEqual(requested(raw).length, 2)
    }))

  it.effect("is kept for a day at most", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected(numbered({ ttlMs: Number.MAX_SAFE_INTEGER }))
      yield* session.listPrompts()
      yield* TestClock.adjust("23 hours")
      yield* session.listPrompts()
      assert.strictEqual(requested(raw).length, 1)
      yield* TestClock.adjust("2 hours")
      yield* session.listPrompts()
      assert.strictEqual(requested(raw).length, 2)
    }))

  it.effect("its time begins with the request, and a result that travelled longer is not kept", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected(() => [])
      const waiting = yield* start(session.listPrompts())
      yield* settled
      yield* TestClock.adjust("30 seconds")
      const id = raw.received.findLast(JsonRpc.isRequest)?.id ?? "none"
      yield* raw.send(JsonRpc.success(id, { resultType: "complete", prompts: [], ttlMs: 20_000 }))
      yield* Fiber.join(waiting)
      yield* start(session.listPrompts())
      yield* settled
      assert.strictEqual(requested(raw).length, 2)
    }))
})

describe("a kept result is dropped", () => {
  it.effect("[CCH-11] when its list changes, and no other", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected()
      const all = Effect.all([
        session.listTools(),
        session.listPrompts(),
        session.listResources(),
        session.listResourceTemplates(),
        session.readResource("x://1"),
        session.readResource("x://2")
      ])
      yield* all
      const again = Effect.fnUntraced(function*(notification: JsonRpc.Notification) {
        const before = requested(raw).length
        yield* raw.send(notification)
        yield* settled
        yield* all
        return requested(raw).slice(before)
      })
      assert.deepStrictEqual(yield* again(changed("tools")), ["tools/list"])
      assert.deepStrictEqual(yield* again(changed("prompts")), ["prompts/list"])
      assert.deepStrictEqual(yield* again(changed("resources")), ["resources/list", "resources/templates/list"])
      assert.deepStrictEqual(
        yield* again(JsonRpc.notification("notifications/resources/updated", { uri: "x://2" })),
        ["resources/read"]
      )
    }))

  it.effect("[CCH-11] when its list changes while it is on its way", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected(() => [])
      const waiting = yield* start(session.listPrompts())
      yield* settled
      const id = raw.received.findLast(JsonRpc.isRequest)?.id ?? "none"
      yield* raw.send(changed("prompts"), JsonRpc.success(id, { resultType: "complete", prompts: [], ttlMs: 60_000 }))
      yield* Fiber.join(waiting)
      yield* start(session.listPrompts())
      yield* settled
      assert.strictEqual(requested(raw).length, 2)
    }))

  it.effect("[CCH-09] with all pages of its list, when the server rejects a cursor", () =>
    Effect.gen(function*() {
      const serving = numbered()
      const { raw, session } = yield* connected((message) =>
        JsonRpc.isRequest(message) && message.params?.["cursor"] === "gone"
          ? [JsonRpc.failure(message.id, { code: -32602, message: "unknown cursor" })]
          : serving(message)
      )
      yield* session.listTools()
      yield* session.listPrompts()
      yield* Effect.flip(session.listTools({ cursor: "gone" }))
      yield* session.listTools()
      yield* session.listPrompts()
      assert.deepStrictEqual(requested(raw), ["tools/list", "prompts/list", "tools/list", "tools/list"])
    }))

  it.effect("when all together are larger than the limit, the least recently used first", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected(numbered(), { limits: { maxKeptResultBytes: 800 } })
      yield* session.readResource("x://1")
      yield* session.readResource("x://2")
      yield* session.readResource("x://2")
      assert.strictEqual(requested(raw).length, 2)
      yield* session.readResource("x://1")
      assert.strictEqual(requested(raw).length, 3)
      const none = yield* connected(numbered(), { limits: { maxKeptResultBytes: 0 } })
      yield* none.session.listPrompts()
      yield* none.session.listPrompts()
      assert.strictEqual(requested(none.raw).length, 2)
    }))
})

describe("a page of a list", () => {
  it.effect("is kept only if there is room for its cursor as well, which its server has chosen", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected(numbered(), { limits: { maxKeptResultBytes: 8_000 } })
      for (const cursor of ["short", "c".repeat(5_000)]) {
        yield* session.listTools({ cursor })
        yield* session.listTools({ cursor })
      }
      assert.strictEqual(requested(raw).length, 3)
    }))
})

describe("the list of tools", () => {
  const mismatch: RawServer.Script = (message) =>
    JsonRpc.isRequest(message) && message.method === "tools/call"
      ? [JsonRpc.failure(message.id, { code: -32020, message: "Header mismatch" })]
      : []

  it.effect("is dropped when the server rejects the headers of a call", () =>
    Effect.gen(function*() {
      const listing = numbered()
      const { raw, session } = yield* connected((message) =>
        JsonRpc.isRequest(message) && message.method === "tools/call" ? mismatch(message) : listing(message)
      )
      yield* session.listTools()
      yield* Effect.flip(session.callTool("absent"))
      yield* session.listTools()
      assert.deepStrictEqual(
        requested(raw),
        ["tools/list", "tools/call", "tools/list", "tools/list", "tools/list"]
      )
    }))

  it.effect("is read within the time of the call whose headers the server has rejected", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected(mismatch)
      const calling = yield* start(Effect.flip(session.callTool("slow", {}, { timeout: "3 seconds" })))
      yield* settled
      yield* TestClock.adjust("3 seconds")
      assert.include((yield* Fiber.join(calling)).message, "error -32020")
      assert.deepStrictEqual(requested(raw).slice(0, 2), ["tools/call", "tools/list"])
    }))
})

describe("a result that is not kept", () => {
  it.effect("[CCH-06] is one for which the server has asked questions", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected(
        (message) =>
          !JsonRpc.isRequest(message)
            ? []
            : message.params?.["inputResponses"] === undefined
            ? [JsonRpc.success(message.id, {
              resultType: "input_required",
              inputRequests: { roots: { method: "roots/list" } }
            })]
            : [JsonRpc.success(message.id, { resultType: "complete", contents: [], ttlMs: 60_000 })],
        { handlers: { "roots/list": () => Effect.succeed({ roots: [] }) } }
      )
      yield* session.readResource("x://1")
      yield* session.readResource("x://1")
      assert.strictEqual(requested(raw).length, 4)
      yield* session.request("resources/read", JSON.parse("{ \"uri\": \"x://1\", \"inputResponses\": {} }"))
      yield* session.request("resources/read", JSON.parse("{ \"uri\": \"x://1\", \"inputResponses\": {} }"))
      assert.strictEqual(requested(raw).length, 6)
    }))

  it.effect("[CCH-07] belongs to a call whose baggage names another tenant", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected()
      for (const baggage of ["tenant=acme", "tenant=other"]) yield* session.listPrompts({}, { meta: { baggage } })
      yield* session.listPrompts()
      assert.strictEqual(requested(raw).length, 3)
    }))

  it.effect("[CCH-07] belongs to another session", () =>
    Effect.gen(function*() {
      const script = numbered({ ttlMs: 60_000, cacheScope: "private" })
      const ada = yield* connected(script)
      const bob = yield* connected(script)
      yield* ada.session.listPrompts()
      yield* bob.session.listPrompts()
      assert.deepStrictEqual([requested(ada.raw).length, requested(bob.raw).length], [1, 1])
    }))

  it.effect("is an error", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* connected((message) =>
        JsonRpc.isRequest(message) ? [JsonRpc.failure(message.id, { code: -32603, message: "no" })] : []
      )
      yield* Effect.flip(session.listPrompts())
      yield* Effect.flip(session.listPrompts())
      assert.strictEqual(requested(raw).length, 2)
    }))
})
