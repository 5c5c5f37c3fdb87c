import { Elicitation, Meta, MethodDefinition } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import type { Conditions } from "./conditions.ts"
import { refusal, requested, said } from "./results.ts"

const burn = MethodDefinition.request("abacus/burn", { from: "client", params: Meta.Meta, result: Meta.EmptyResult })
const call = MethodDefinition.request("tools/call", { from: "client", params: Meta.Meta, result: Meta.EmptyResult })

export const errors = ({ host, it, peer }: Conditions) => {
  it.effect("[MSG-10] [MSG-27] errors of the server, with code, message and data", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      assert.deepStrictEqual(yield* refusal(callTool("refuse")), {
        code: -32000,
        message: peer.worded(-32000, "not today"),
        data: { retry: "tomorrow" }
      })
      assert.deepStrictEqual(yield* refusal(callTool("burn")), {
        code: -32602,
        message: peer.worded(-32602, "Unknown tool: burn"),
        data: undefined
      })
    }))

  it.effect("[MSG-10] a method that the server does not know", () =>
    Effect.gen(function*() {
      const { extension } = yield* ClientSession.ClientSession
      assert.deepInclude(yield* refusal(extension(burn, {})), { code: -32601, message: "Method not found" })
    }))

  it.effect("[MSG-10] params that do not fit; the code is the server's own idea, and is passed on", () =>
    Effect.gen(function*() {
      const { extension } = yield* ClientSession.ClientSession
      assert.deepInclude(yield* refusal(extension(call, { name: 5 })), { code: peer.misfit })
    }))

  it.effect("[ELI-14] a page that has to be visited first", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      const { reason } = yield* Effect.flip(callTool("page"))
      assert(reason._tag === "ErrorResponse")
      assert.strictEqual(reason.error.code, -32042)
      assert.deepStrictEqual(Elicitation.requiredUrls(reason.error), [
        { mode: "url", message: "Sign in", url: "https://example.com/in", elicitationId: "page-1" }
      ])
    }))

  it.effect("[MSG-10] answers a request that it does not know, or has not declared, with an error", () =>
    Effect.gen(function*() {
      for (const [method, params] of [["host/burn", {}], ["tasks/get", { taskId: "1" }], ["tasks/list", {}]] as const) {
        const { code, thrown } = yield* requested(method, params)
        assert.strictEqual(code, -32601, method)
        assert.include(String(thrown), `Method not found: ${method}`)
      }
    }))

  it.effect("[MSG-10] answers a request that does not fit with an error that says where", () =>
    Effect.gen(function*() {
      const { code, thrown } = yield* requested("sampling/createMessage", { messages: [], maxTokens: "many" })
      assert.strictEqual(code, -32602)
      assert.include(
        String(thrown),
        "Invalid params for sampling/createMessage: Expected number at [\"maxTokens\"]"
      )
    }))

  it.effect("[MSG-12] ignores a notification that it does not know", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* said("tell", { method: "notifications/burned", params: {} }), "told")
      yield* Child.until(() =>
        host.events.some((event) => event._tag === "NotificationIgnored" && event.method === "notifications/burned")
      )
    }))
}
