import { Elicitation, Meta, MethodDefinition } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import type { Conditions } from "./conditions.ts"
import { callForText, errorResponse, rawServerRequest } from "./results.ts"

const burn = MethodDefinition.request("abacus/burn", { from: "client", params: Meta.Meta, result: Meta.EmptyResult })
const call = MethodDefinition.request("tools/call", { from: "client", params: Meta.Meta, result: Meta.EmptyResult })

export const errors = ({ host, it, peer }: Conditions) => {
  it.effect("[MSG-10] [MSG-27] receives errors of the server with code, message and data", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      assert.deepStrictEqual(yield* errorResponse(callTool("error")), {
        code: -32000,
        message: peer.errorMessage(-32000, "not today"),
        data: { retry: "tomorrow" }
      })
      assert.deepStrictEqual(yield* errorResponse(callTool("burn")), {
        code: -32602,
        message: peer.errorMessage(-32602, "Unknown tool: burn"),
        data: undefined
      })
    }))

  it.effect("[MSG-10] receives the error for an unknown method", () =>
    Effect.gen(function*() {
      const { extension } = yield* ClientSession.ClientSession
      assert.deepInclude(yield* errorResponse(extension(burn, {})), { code: -32601, message: "Method not found" })
    }))

  it.effect("[MSG-10] receives the error for invalid params with the code of the server, even a nonstandard one", () =>
    Effect.gen(function*() {
      const { extension } = yield* ClientSession.ClientSession
      assert.deepInclude(yield* errorResponse(extension(call, { name: 5 })), { code: peer.invalidParamsCode })
    }))

  it.effect("[ELI-14] receives the error that requires a URL elicitation", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      const { reason } = yield* Effect.flip(callTool("url-required"))
      assert(reason._tag === "ErrorResponse")
      assert.strictEqual(reason.error.code, -32042)
      assert.deepStrictEqual(Elicitation.requiredUrls(reason.error), [
        { mode: "url", message: "Sign in", url: "https://example.com/in", elicitationId: "page-1" }
      ])
    }))

  it.effect("[MSG-10] rejects a request that is unknown or undeclared", () =>
    Effect.gen(function*() {
      for (const [method, params] of [["host/burn", {}], ["tasks/get", { taskId: "1" }], ["tasks/list", {}]] as const) {
        const { code, error } = yield* rawServerRequest(method, params)
        assert.strictEqual(code, -32601, method)
        assert.include(String(error), `Method not found: ${method}`)
      }
    }))

  it.effect("[MSG-10] rejects invalid params with an error that names the position", () =>
    Effect.gen(function*() {
      const { code, error } = yield* rawServerRequest("sampling/createMessage", { messages: [], maxTokens: "many" })
      assert.strictEqual(code, -32602)
      assert.include(
        String(error),
        "Invalid params for sampling/createMessage: Expected number at [\"maxTokens\"]"
      )
    }))

  it.effect("[MSG-12] ignores an unknown notification", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* callForText("notify", { method: "notifications/burned", params: {} }), "sent")
      yield* Child.until(() =>
        host.events.some((event) => event._tag === "NotificationIgnored" && event.method === "notifications/burned")
      )
    }))
}
