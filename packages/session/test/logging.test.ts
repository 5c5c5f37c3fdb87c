import { ErrorCode, JsonRpc, Logging } from "@effect-mcp/protocol"
import { RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import { call, codeOf, names, performHandshake, settled, text, tools, withRawClient } from "./support/sessions.ts"

const logging = { capabilities: { logging: {} } }

const levelsIn = (messages: ReadonlyArray<JsonRpc.Message>) =>
  messages.flatMap((message) => "method" in message ? [message.params?.["level"]] : [])

describe("logging", () => {
  for (const params of [undefined, {}, { level: "loud" }, { level: "INFO" }, { level: 3 }, { level: null }]) {
    it.effect(`[LOG-04] setLevel with ${JSON.stringify(params)} is rejected with -32602, and the level stays`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawClient({ server: logging })
        yield* performHandshake(raw)
        yield* raw.send(JsonRpc.request(1, "logging/setLevel", { level: "error" }))
        yield* raw.response
        yield* raw.send(JsonRpc.request(2, "logging/setLevel", params))
        assert.strictEqual(codeOf(yield* raw.response), ErrorCode.InvalidParams)
        for (const level of Logging.levels) yield* session.log({ level, data: "x" })
        yield* settled
        assert.deepStrictEqual(levelsIn(yield* raw.pending), ["error", "critical", "alert", "emergency"])
      }))
  }

  it.effect("[LOG-03] a server sends all levels before the client sets one", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ server: logging })
      yield* performHandshake(raw)
      for (const level of Logging.levels) yield* session.log({ level, data: "x" })
      yield* settled
      assert.deepStrictEqual(levelsIn(yield* raw.pending), [...Logging.levels])
    }))

  it.effect("[LOG-02] a client can raise and lower the level", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ server: logging })
      yield* performHandshake(raw)
      const received: Array<ReadonlyArray<unknown>> = []
      for (const level of ["emergency", "debug", "warning"]) {
        yield* raw.send(JsonRpc.request(level, "logging/setLevel", { level }))
        yield* raw.response
        yield* session.log({ level: "warning", data: "x" })
        yield* session.log({ level: "info", data: "x" })
        yield* settled
        received.push(levelsIn(yield* raw.pending))
      }
      assert.deepStrictEqual(received, [[], ["warning", "info"], ["warning"]])
    }))

  it.effect("Redacted values stay redacted", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ server: logging })
      yield* performHandshake(raw)
      const password = Redacted.make("swordfish")
      yield* session.log({ level: "info", data: { user: "ada", password, list: [password] } })
      yield* session.log({ level: "info", data: password })
      yield* settled
      const received = JSON.stringify(yield* raw.pending)
      assert.include(received, "ada")
      assert.include(received, "<redacted>")
      assert.notInclude(received, "swordfish")
    }))

  it.effect("the session does not send the defect of a handler", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        server: logging,
        handlers: tools({ x: Effect.die(new Error("/etc/secrets: swordfish")) })
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x"))
      yield* settled
      const received = yield* raw.pending
      assert.deepStrictEqual(received.map(codeOf), [ErrorCode.InternalError])
      assert.notInclude(JSON.stringify(received), "swordfish")
    }).pipe(Effect.provide(Logger.layer([]))))
})

describe("a log message of a handler", () => {
  it.effect("[LOG-01] with the capability switched off, logging fails with an error that names the option", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient({
        handlers: tools({ x: Effect.as(RequestContext.log({ level: "info", data: "x" }), text("x")) }),
        server: { capabilities: { logging: false } }
      })
      yield* performHandshake(raw)
      const error = yield* Effect.flip(session.log({ level: "info", data: "x" }))
      assert.deepStrictEqual(error.reason, {
        _tag: "UndeclaredCapability",
        capability: "logging",
        option: "capabilities: { logging: {} }"
      })
      assert.strictEqual(
        error.message,
        "notifications/message: this side has not declared the capability \"logging\"; " +
          "set the option capabilities: { logging: {} } to declare it"
      )
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual((yield* raw.pending).map(codeOf), [ErrorCode.InternalError])
      assert.deepStrictEqual(record.of("HandlerFailed").map(({ cause }) => Cause.squash(cause)), [error])
    }).pipe(Effect.provide(Logger.layer([]))))

  for (const data of [undefined, () => 1, Symbol("x")]) {
    it.effect(`data that JSON omits is rejected, because the receiver would drop the message: ${typeof data}`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawClient()
        yield* performHandshake(raw)
        const { reason } = yield* Effect.flip(session.log({ level: "info", data }))
        assert.deepStrictEqual(reason, {
          _tag: "InvalidParams",
          problem: `data: expected a value that JSON can represent, got ${typeof data}; use null for no value`
        })
        yield* session.log({ level: "info", data: null })
        yield* settled
        assert.deepStrictEqual(names(yield* raw.pending), ["notifications/message"])
      }))
  }

  it.effect("[LOG-01] is sent before the result, without an option that declares logging", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        handlers: tools({
          x: Effect.as(RequestContext.log({ level: "emergency", data: { a: [1] }, logger: "l" }), text("x"))
        })
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual(yield* raw.pending, [
        JsonRpc.notification("notifications/message", { level: "emergency", data: { a: [1] }, logger: "l" }),
        JsonRpc.success(1, text("x"))
      ])
    }))
})

describe("the log of a handler that died", () => {
  const long = "n".repeat(200)
  const requests = [
    ["tools/call", { name: "weather", arguments: { city: "swordfish" } }, "tools/call \"weather\""],
    ["tools/call", { name: `a\n${long}` }, `tools/call "a\\n${"n".repeat(125)}…"`],
    ["prompts/get", { name: "plan", arguments: { day: "swordfish" } }, "prompts/get \"plan\""],
    ["resources/read", { uri: "app://one" }, "resources/read \"app://one\""],
    [
      "completion/complete",
      { ref: { type: "ref/prompt", name: "plan" }, argument: { name: "day", value: "swordfish" } },
      "completion/complete \"plan\""
    ],
    [
      "completion/complete",
      { ref: { type: "ref/resource", uri: "app://{id}" }, argument: { name: "id", value: "swordfish" } },
      "completion/complete \"app://{id}\""
    ],
    ["tools/list", {}, "tools/list"]
  ] as const

  it.effect("names the tool, the prompt or the resource, and no arguments", () => {
    const logged: Array<unknown> = []
    const broken = () => Effect.die(new Error("broken"))
    return Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        handlers: Object.fromEntries(requests.map(([method]) => [method, broken]))
      })
      yield* performHandshake(raw)
      for (const [id, [method, params]] of requests.entries()) {
        yield* raw.send(JsonRpc.request(id, method, params))
        yield* raw.response
      }
      yield* settled
      assert.deepStrictEqual(logged, requests.map(([, , target]) => [`the handler of ${target} failed`]))
    }).pipe(Effect.provide(Logger.layer([
      Logger.make(({ message }) => void logged.push(Array.isArray(message) ? message.slice(0, 1) : [message]))
    ])))
  })
})
