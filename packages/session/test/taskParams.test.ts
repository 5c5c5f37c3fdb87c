import { Content, MethodTable } from "@effect-mcp/protocol"
import type { RequestError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { connected, text, tools } from "./support/sessions.ts"

const task = { ttl: 60_000 }

describe("a request with the param task", () => {
  it.effect("fails before it is sent, for each request and both sides", () =>
    Effect.gen(function*() {
      const { client, links, server } = yield* connected({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        client: {
          capabilities: {
            tasks: { requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
            elicitation: { form: {}, url: {} }
          },
          handlers: {
            "sampling/createMessage": () =>
              Effect.succeed({ role: "assistant" as const, content: Content.text("x"), model: "m" }),
            "elicitation/create": () => Effect.succeed({ action: "cancel" as const })
          }
        }
      })
      const sent = [links.client.sent.length, links.server.sent.length]
      const form = { type: "object", properties: {} } as const
      const page = { mode: "url", url: "https://example.com", elicitationId: "1" } as const
      const attempts: ReadonlyArray<Effect.Effect<unknown, RequestError.RequestError>> = [
        client.request("tools/call", { name: "x", task }),
        client.extension(MethodTable.requests["tools/call"], { name: "x", task }),
        server.createMessage({ messages: [], maxTokens: 1, task }),
        server.request("elicitation/create", { message: "m", requestedSchema: form, task }),
        server.request("elicitation/create", { message: "m", ...page, task })
      ]
      for (const attempt of attempts) {
        assert.deepStrictEqual((yield* Effect.flip(attempt)).reason, {
          _tag: "InvalidParams",
          problem: "task: a request that becomes a task has another result; use `RemoteTasks`"
        })
      }
      assert.deepStrictEqual([links.client.sent.length, links.server.sent.length], sent)
    }))
})
