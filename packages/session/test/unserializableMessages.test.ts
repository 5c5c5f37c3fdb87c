import { McpError, Tool } from "@effect-mcp/protocol"
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

describe("values that JSON cannot carry", () => {
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
      it.effect(`law 5: ${what} in a result is sent to the peer as an internal error (${form})`, () =>
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

      it.effect(`${what} in the params fails the caller, and the session continues (${form})`, () =>
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

  it.effect("law 1: params that throw when they are read fail the caller, and leave no pending request", () =>
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

  it.effect("law 5: a bigint in the data of an error is sent to the peer as an internal error", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({ handlers: tools({ x: Effect.fail(McpError.invalidParams("x", 1n)) }) })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x"))
      assert.strictEqual(codeOf(yield* raw.response), -32603)
      assert.deepStrictEqual(yield* raw.pending, [])
    }))

  it.effect("a bigint in a log message fails session.log, and is dropped with an event in a handler", () =>
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

  it.effect("law 5: a handler that returns undefined gets a reply for its request", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        // A handler that is not type-checked can return this.
        handlers: { "tools/call": () => Effect.succeed(undefined as never) }
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x"))
      yield* settled
      const [reply] = yield* raw.pending
      assert.isDefined(reply, "the frame is no response, so the peer waits")
      assert.isTrue(codeOf(reply) === -32603 || "result" in reply)
    }))

  it.effect("without serialization the transport passes the objects themselves", () =>
    Effect.gen(function*() {
      const pair = MemoryTransport.make({ serialization: "none" })
      const { client } = yield* connected({
        pair,
        handlers: tools({ echo: (input) => Effect.succeed({ content: [], structuredContent: input }) })
      })
      const value = { big: 1n }
      const result = yield* client.callTool("echo", { value })
      assert.isTrue(Tool.structuredMembers(result)["value"] === value)
    }))

  it.effect("[INIT-02] an initialize that JSON cannot carry fails the handshake", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        Effect.scoped(withRawServer({ client: { capabilities: { experimental: { x: { big: 1n } } } } }))
      )
      assert.strictEqual(error.reason._tag, "Closed")
      assert.include(error.message, "JSON")
    }))

  it.effect("law 5: a result that throws in its projection is sent to the peer as an internal error", () =>
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
