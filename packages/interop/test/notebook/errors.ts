import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { OfficialClient } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"

export const errors = ({ it, over, peer, revision }: Conditions) => {
  const refusal = Effect.fnUntraced(function*(method: string, params?: { readonly [name: string]: unknown }) {
    const { request } = yield* OfficialClient
    const failure = yield* Effect.flip(request.raw(method, params))
    assert(failure._tag === "Refused", failure.message)
    return { code: failure.code, message: failure.message }
  })

  it.effect("[MSG-10] a method that nobody knows", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* refusal("notebook/burn"), {
        code: -32601,
        message: peer.worded(-32601, "Method not found: notebook/burn")
      })
    }))

  it.effect("[INIT-15] tasks, which it has not declared", () =>
    Effect.gen(function*() {
      const { code } = yield* refusal("tasks/get", { taskId: "1" })
      assert.strictEqual(code, -32601)
      assert.strictEqual((yield* refusal("tasks/list")).code, -32601)
      assert.strictEqual((yield* refusal("tasks/result", { taskId: "1" })).code, -32601)
      assert.strictEqual((yield* refusal("tasks/cancel", { taskId: "1" })).code, -32601)
    }))

  it.effect("[TSK-06] a call that is to become a task is answered as any other", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const result = yield* request.raw("tools/call", {
        name: "remind",
        arguments: { text: "the sea", afterMs: 0 },
        task: { ttl: 1000 }
      })
      assert.deepStrictEqual(result, { content: [{ type: "text", text: "the sea" }] })
    }))

  it.effect("[MSG-10] params that do not fit their method are named", () =>
    Effect.gen(function*() {
      const refused = (message: string) => ({ code: -32602, message: peer.worded(-32602, message) })
      assert.deepStrictEqual(
        yield* refusal("resources/read", { uri: 5 }),
        refused("Invalid params for resources/read: Expected string at [\"uri\"]")
      )
      assert.deepStrictEqual(
        yield* refusal("prompts/get", {}),
        refused("Invalid params for prompts/get: Missing key at [\"name\"]")
      )
    }))

  // Over HTTP these clients say it where a new session begins, or do not read what a status comes with.
  if (over !== "stdio") return

  it.effect("[law 6] a second handshake changes nothing", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const { code } = yield* refusal("initialize", {
        protocolVersion: revision === "2025-11-25" ? "2024-11-05" : "2025-11-25",
        capabilities: {},
        clientInfo: { name: "other", version: "2" }
      })
      assert.strictEqual(code, -32600)
      const { content } = yield* request.callTool({ name: "status" })
      assert.include(JSON.stringify(content), revision)
      assert.include(JSON.stringify(content), "official 1.0.0")
    }))
}
