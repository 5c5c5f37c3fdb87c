import { McpError, type Tool } from "@effect-mcp/protocol"
import { MemoryTransport, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import {
  call,
  codeOf,
  connected,
  forms,
  names,
  performHandshake,
  settled,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

describe("what is not JSON", () => {
  const cycle = (): { readonly [name: string]: unknown } => {
    const self: { [name: string]: unknown } = {}
    self["self"] = self
    return self
  }
  const bad: ReadonlyArray<readonly [string, () => { readonly [name: string]: unknown }]> = [
    ["a bigint", () => ({ big: 1n })],
    ["a cycle", cycle],
    ["a toJSON that throws", () => ({
      toJSON: () => {
        throw new Error("no")
      }
    })]
  ]

  for (const { form, pair } of forms) {
    for (const [what, value] of bad) {
      it.effect(`law 5: ${what} in a result is an internal error to the peer (${form})`, () =>
        Effect.gen(function*() {
          const { client, records } = yield* connected({
            pair,
            handlers: tools({
              bad: Effect.sync((): Tool.CallToolResult => ({ content: [], structuredContent: value() })),
              x: Effect.succeed(text("x"))
            })
          })
          const error = yield* Effect.flip(client.callTool("bad"))
          assert.strictEqual(error.reason._tag, "ErrorResponse")
          if (error.reason._tag !== "ErrorResponse") return
          assert.deepStrictEqual([error.reason.error.code, error.reason.error.message], [-32603, "Internal error"])
          assert.deepStrictEqual(records.server.of("SendFailed").map((event) => event.error.reason._tag), [
            "Unserializable"
          ])
          assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
        }))

      it.effect(`${what} in the params fails their caller, and the session lives (${form})`, () =>
        Effect.gen(function*() {
          const { client, records } = yield* connected({ pair, handlers: tools({ x: Effect.succeed(text("x")) }) })
          const error = yield* Effect.flip(client.callTool("x", { value: value() }))
          assert.strictEqual(error.reason._tag, "SendFailed")
          if (error.reason._tag !== "SendFailed") return
          assert.strictEqual(error.reason.error.reason._tag, "Unserializable")
          assert.deepStrictEqual(records.client.of("SendFailed").map(({ method }) => method), ["tools/call"])
          assert.deepStrictEqual(yield* client.inFlight, { sent: 0, served: 0 })
          assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
        }))
    }
  }

  it.effect("law 1: params that throw when they are read fail their caller, and leave nothing", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({ handlers: tools({ x: Effect.succeed(text("x")) }) })
      const bad = {
        name: "x",
        get arguments(): never {
          throw new Error("no")
        }
      }
      const exit = yield* Effect.exit(client.request("tools/call", bad, { timeout: 1000 }))
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(yield* client.inFlight, { sent: 0, served: 0 })
      assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
    }))

  it.effect("law 5: in the data of an error it is an internal error, too", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({ handlers: tools({ x: Effect.fail(McpError.invalidParams("x", 1n)) }) })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x"))
      assert.strictEqual(codeOf(yield* raw.response), -32603)
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("in a log of the session's it fails who logs, in one of a handler's it is dropped and seen", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient({
        handlers: tools({ x: Effect.as(RequestContext.log({ level: "info", data: 1n }), text("x")) }),
        server: { capabilities: { logging: {} } }
      })
      yield* performHandshake(raw)
      assert.strictEqual((yield* Effect.flip(session.log({ level: "info", data: 1n }))).reason._tag, "SendFailed")
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual(names(yield* raw.pending), [1])
      assert.strictEqual(record.of("NotificationIgnored").length, 1)
    }))

  it.effect("law 5: a handler that answers with nothing at all is answered for", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        // What a handler written without types may do.
        handlers: { "tools/call": () => Effect.succeed(undefined as never) }
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x"))
      yield* settled
      const [reply] = yield* raw.pending
      assert.isDefined(reply, "what was sent is no response, and the peer waits")
      assert.isTrue(codeOf(reply) === -32603 || "result" in reply)
    }))

  it.effect("without serialization the objects themselves cross", () =>
    Effect.gen(function*() {
      const pair = MemoryTransport.make({ serialization: "none" })
      const { client } = yield* connected({
        pair,
        handlers: tools({ echo: (input) => Effect.succeed({ content: [], structuredContent: input }) })
      })
      const value = { big: 1n }
      const { structuredContent } = yield* client.callTool("echo", { value })
      assert.isTrue(structuredContent?.["value"] === value)
    }))

  it.effect("[INIT-02] an initialize that is not JSON fails the handshake", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        Effect.scoped(withRawServer({ client: { capabilities: { experimental: { x: { big: 1n } } } } }))
      )
      assert.strictEqual(error.reason._tag, "Closed")
      assert.include(error.message, "JSON")
    }))

  it.effect("law 5: a result that throws when it is made to fit an older revision is an internal error to the peer", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient({
        handlers: {
          "tools/call": () =>
            Effect.succeed({
              get content(): never {
                throw new Error("no")
              }
            })
        }
      })
      yield* performHandshake(raw, "2025-03-26")
      yield* raw.send(call(1, "x"))
      assert.strictEqual(codeOf(yield* raw.response), -32603)
      assert.strictEqual(record.of("HandlerFailed").length, 1)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))
})
