/** This library's client against the official `server-everything`, which uses version 1 of the official SDK. */
import { AjvValidator } from "@effect-mcp/json-schema"
import { type Logging, Meta, MethodDefinition, Revision, type Tool } from "@effect-mcp/protocol"
import { ClientSession, type JsonSchemaValidator, type SessionEvent } from "@effect-mcp/session"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Child from "./fixtures/child.ts"

const info = { name: "effect-mcp", version: "0.1.0" }

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : "").join()

const everything = () => Child.server(Child.everything, "stdio")

const longRunning = "trigger-long-running-operation"

describe("server-everything", () => {
  for (const revision of Revision.legacy) {
    it.live(`[INIT-04] [STD-07] at ${revision}: handshake, list and call succeed; the server exits at the end`, () =>
      Effect.gen(function*() {
        const server = everything()
        const session = yield* Effect.gen(function*() {
          const session = yield* ClientSession.ClientSession
          assert.strictEqual(session.profile.revision, revision)
          assert.strictEqual(session.profile.info.name, "mcp-servers/everything")
          const { tools } = yield* session.listTools()
          assert.includeMembers(tools.map(({ name }) => name), ["echo", "get-sum", longRunning])
          const sum = yield* session.callTool("get-sum", { a: 15, b: 27 })
          assert.strictEqual(textOf(sum), "The sum of 15 and 27 is 42.")
          return session
        }).pipe(
          Effect.provide(Layer.provide(ClientSession.layer({ info, revisions: [revision] }), server.transport))
        )
        assert.deepStrictEqual(yield* session.closed, { _tag: "Requested" })
        assert.isFalse(Child.isRunning(server.pid()))
      }))
  }

  it.live("[TOOL-08] [MSG-32] the results of its tools match their output schemas", () => {
    const ajv = AjvValidator.make()
    const problems: Array<string | undefined> = []
    const validator: JsonSchemaValidator.JsonSchemaValidatorShape = {
      compile: (schema) =>
        Result.map(ajv.compile(schema), (check) => (value) => {
          const problem = check(value)
          problems.push(problem)
          return problem
        })
    }
    return Effect.gen(function*() {
      const { callTool, listTools } = yield* ClientSession.ClientSession
      const { tools } = yield* listTools()
      assert.deepStrictEqual(tools.filter((tool) => tool.outputSchema !== undefined).map(({ name }) => name), [
        "get-structured-content"
      ])
      for (const location of ["New York", "Chicago", "Los Angeles"]) {
        yield* callTool("get-structured-content", { location })
      }
      // A result without an output schema, or of a failed tool, is not checked.
      yield* callTool("get-sum", { a: 15, b: 27 })
      assert.isTrue((yield* callTool("get-structured-content", { location: "Atlantis" })).isError)
      assert.deepStrictEqual(problems, [undefined, undefined, undefined])
    }).pipe(Effect.provide(Layer.provide(ClientSession.layer({ info, validator }), everything().transport)))
  })

  const logs: Array<Logging.LogMessageParams> = []
  const events: Array<SessionEvent.SessionEvent> = []
  const server = everything()
  const session = ClientSession.layer({
    info,
    observe: (event) => events.push(event),
    handlers: { "notifications/message": (message) => Effect.sync(() => logs.push(message)) }
  }).pipe(Layer.provide(server.transport))

  layer(session, { excludeTestServices: true })("in one session", (it) => {
    it.effect("[STD-05] [STD-06] output on standard error is not a failure", () =>
      Effect.gen(function*() {
        const { ping } = yield* ClientSession.ClientSession
        yield* ping()
        assert.deepStrictEqual(server.stderr, ["Starting default (STDIO) server..."])
      }))

    it.effect("a notification without a handler is reported and ignored", () =>
      Effect.gen(function*() {
        const { ping } = yield* ClientSession.ClientSession
        const isListChanged = (event: SessionEvent.SessionEvent) =>
          event._tag === "NotificationIgnored" && event.method === "notifications/tools/list_changed"
        yield* Child.until(() => events.some(isListChanged))
        yield* ping()
      }))

    it.effect("content blocks of every type are received", () =>
      Effect.gen(function*() {
        const { callTool } = yield* ClientSession.ClientSession
        const kinds = Effect.fnUntraced(function*(name: string, input?: Record<string, unknown>) {
          const { content } = yield* callTool(name, input)
          return [...new Set(content.map(({ type }) => type))]
        })
        assert.deepStrictEqual(yield* kinds("get-tiny-image"), ["text", "image"])
        assert.deepStrictEqual(yield* kinds("get-resource-links", { count: 2 }), ["text", "resource_link"])
        assert.deepStrictEqual(yield* kinds("get-resource-reference"), ["text", "resource"])
        const { structuredContent } = yield* callTool("get-structured-content", { location: "Chicago" })
        assert.hasAllKeys(structuredContent, ["temperature", "conditions", "humidity"])
      }))

    it.effect("[PRG-03] progress arrives in order and before the result", () =>
      Effect.gen(function*() {
        const { callTool } = yield* ClientSession.ClientSession
        const received: Array<unknown> = []
        const result = yield* callTool(longRunning, { duration: 0.1, steps: 10 }, {
          onProgress: ({ progress, total }) => Effect.sync(() => received.push([progress, total]))
        })
        assert.match(textOf(result), /^Long running operation completed/)
        assert.deepStrictEqual(received, Array.from({ length: 10 }, (_, index) => [index + 1, 10]))
      }))

    it.effect("an unknown tool and invalid arguments are results with isError", () =>
      Effect.gen(function*() {
        const { callTool } = yield* ClientSession.ClientSession
        const unknown = yield* callTool("get-difference")
        assert.isTrue(unknown.isError)
        assert.strictEqual(textOf(unknown), "MCP error -32602: Tool get-difference not found")
        const invalid = yield* callTool("get-sum", { a: "fifteen", b: 27 })
        assert.isTrue(invalid.isError)
        assert.match(textOf(invalid), /Invalid arguments for tool get-sum/)
      }))

    it.effect("[MSG-10] invalid params are an error with the code of the server, even a nonstandard one", () =>
      Effect.gen(function*() {
        const { extension } = yield* ClientSession.ClientSession
        const call = MethodDefinition.request("tools/call", {
          from: "client",
          params: Meta.Meta,
          result: Meta.EmptyResult
        })
        const params = { name: "get-sum", arguments: "not an object" }
        const { reason } = yield* Effect.flip(extension(call, params))
        assert(reason._tag === "ErrorResponse")
        // JSON-RPC defines −32602.
        assert.strictEqual(reason.error.code, -32603)
        assert.match(reason.error.message, /expected record, received string/)
      }))

    it.effect("[CAN-06] [PRG-05] late progress of a cancelled call is dropped", () =>
      Effect.gen(function*() {
        const { callTool, inFlight, ping } = yield* ClientSession.ClientSession
        const started = yield* Deferred.make<void>()
        let steps = 0
        const call = yield* Effect.forkChild(
          callTool(longRunning, { duration: 0.2, steps: 4 }, {
            onProgress: () => {
              steps++
              return Deferred.succeed(started, undefined)
            }
          })
        )
        yield* Deferred.await(started)
        yield* Fiber.interrupt(call)
        assert.deepStrictEqual(yield* inFlight, { sent: 0, served: 0 })
        const isDropped = (event: SessionEvent.SessionEvent) =>
          event._tag === "ProgressDropped" && event.reason === "UnknownToken"
        yield* Child.until(() => steps + events.filter(isDropped).length === 4)
        yield* ping()
        assert.deepStrictEqual(events.filter(({ _tag }) => _tag === "UnmatchedResponse"), [])
      }))

    it.effect("[TMO-03] a call times out", () =>
      Effect.gen(function*() {
        const { callTool } = yield* ClientSession.ClientSession
        const { reason } = yield* Effect.flip(callTool(longRunning, { duration: 5, steps: 1 }, { timeout: 50 }))
        assert.deepStrictEqual(reason, { _tag: "Timeout", afterMillis: 50 })
      }))

    it.effect("[LOG-01] log messages arrive", () =>
      Effect.gen(function*() {
        const { callTool } = yield* ClientSession.ClientSession
        yield* callTool("toggle-simulated-logging")
        yield* Child.until(() => logs.length > 0)
        yield* callTool("toggle-simulated-logging")
        assert.match(String(logs[0]?.data), /message$/)
      }))
  })
})
