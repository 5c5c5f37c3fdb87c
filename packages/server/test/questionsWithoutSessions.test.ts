/** Tools that ask clients of revision 2026-07-28, which have no session. */
import { JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import { McpGroup, McpRequest, McpServer } from "@effect-mcp/server"
import { RequestContext, StatelessServer } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const revision = "2026-07-28"

const Booking = McpGroup.make(
  "booking",
  Tool.make("book", { parameters: Schema.Struct({ to: Schema.String }), success: Schema.String })
)

const booking = (reserved: Array<string>) =>
  Booking.toLayer((handlers) =>
    handlers.tool("book", ({ to }) =>
      Effect.gen(function*() {
        const seat = yield* RequestContext.once(
          "reserve",
          { success: Schema.String },
          Effect.sync(() => {
            reserved.push(to)
            return "12A"
          })
        )
        const { meal } = yield* McpRequest.elicit(
          `Which meal in ${seat}?`,
          Schema.Struct({ meal: Schema.Literals(["fish", "beans"]) })
        )
        return `${to}, ${seat}, ${meal}`
      }))
  )

const request = (clientCapabilities: RequestMetadata.RequestMetadata["clientCapabilities"], retry: object = {}) =>
  JsonRpc.request(1, "tools/call", {
    name: "book",
    arguments: { to: "Oslo" },
    ...retry,
    _meta: RequestMetadata.write({
      protocolVersion: revision,
      clientCapabilities,
      clientInfo: undefined,
      logLevel: undefined
    })
  })

const isMembers = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null

const membersOf = (value: unknown) => isMembers(value) ? value : {}

const serving = (reserved: Array<string>) =>
  Effect.gen(function*() {
    const handlers = yield* McpServer.makeStatelessHandlers(booking(reserved))
    const { handle } = yield* StatelessServer.make(handlers, { info: { name: "air", version: "1" } })
    return (clientCapabilities: object, retry?: object) =>
      Effect.map(
        handle(request(clientCapabilities, retry), { revision }),
        (reply) => membersOf(reply !== undefined && "result" in reply ? reply.result : reply)
      )
  })

describe("a tool that asks a client without a session", () => {
  it.effect("receives the answer in the repeated call, and runs what is sealed once", () =>
    Effect.gen(function*() {
      const reserved: Array<string> = []
      const call = yield* serving(reserved)
      const { inputRequests, requestState, resultType } = yield* call({ elicitation: { form: {} } })
      assert.strictEqual(resultType, "input_required")
      const [key = "", question] = Object.entries(membersOf(inputRequests))[0] ?? []
      assert.strictEqual(membersOf(membersOf(question)["params"])["message"], "Which meal in 12A?")
      const { content, ...rest } = yield* call({ elicitation: { form: {} } }, {
        inputResponses: { [key]: { action: "accept", content: { meal: "beans" } } },
        requestState
      })
      assert.deepStrictEqual(content, [{ type: "text", text: "Oslo, 12A, beans" }])
      assert.strictEqual(rest["resultType"], "complete")
      assert.deepStrictEqual(reserved, ["Oslo"])
    }))

  it.effect("fails with −32021 if the client cannot answer, so that it can declare that it can", () =>
    Effect.gen(function*() {
      const call = yield* serving([])
      const { error } = yield* call({})
      assert.strictEqual(membersOf(error)["code"], -32021)
      assert.deepStrictEqual(membersOf(error)["data"], { requiredCapabilities: { elicitation: { form: {} } } })
    }))
})
