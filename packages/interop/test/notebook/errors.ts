import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { OfficialClient } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"

export const errors = ({ it, over, peer, revision }: Conditions) => {
  const errorOf = Effect.fnUntraced(function*(method: string, params?: { readonly [name: string]: unknown }) {
    const { request } = yield* OfficialClient
    const failure = yield* Effect.flip(request.raw(method, params))
    assert(failure._tag === "ErrorResponse", failure.message)
    return { code: failure.code, message: failure.message }
  })

  it.effect("[MSG-10] rejects an unknown method", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* errorOf("notebook/burn"), {
        code: -32601,
        message: peer.errorMessage(-32601, "Method not found: notebook/burn")
      })
    }))

  it.effect("[INIT-15] rejects task requests, because it has not declared tasks", () =>
    Effect.gen(function*() {
      const { code } = yield* errorOf("tasks/get", { taskId: "1" })
      assert.strictEqual(code, -32601)
      assert.strictEqual((yield* errorOf("tasks/list")).code, -32601)
      assert.strictEqual((yield* errorOf("tasks/result", { taskId: "1" })).code, -32601)
      assert.strictEqual((yield* errorOf("tasks/cancel", { taskId: "1" })).code, -32601)
    }))

  it.effect("[TSK-06] answers a call with task params like any other call", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const result = yield* request.raw("tools/call", {
        name: "remind",
        arguments: { text: "the sea", afterMs: 0 },
        task: { ttl: 1000 }
      })
      assert.deepStrictEqual(result, { content: [{ type: "text", text: "the sea" }] })
    }))

  it.effect("[MSG-10] rejects invalid params with an error that names the method and the position", () =>
    Effect.gen(function*() {
      const invalid = (message: string) => ({ code: -32602, message: peer.errorMessage(-32602, message) })
      assert.deepStrictEqual(
        yield* errorOf("resources/read", { uri: 5 }),
        invalid("Invalid params for resources/read: Expected string at [\"uri\"]")
      )
      assert.deepStrictEqual(
        yield* errorOf("prompts/get", {}),
        invalid("Invalid params for prompts/get: Missing key at [\"name\"]")
      )
    }))

  // Over HTTP these clients start a new session with it, or ignore the body of the response.
  if (over !== "stdio") return

  it.effect("[law 6] a second handshake changes nothing", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const { code } = yield* errorOf("initialize", {
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
