import { ErrorCode, JsonRpc, McpError, Meta, MethodDefinition } from "@effect-mcp/protocol"
import { Extension, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import {
  codeOf,
  connected,
  forms,
  initialize,
  initialized,
  settled,
  start,
  text,
  withRawClient
} from "./support/sessions.ts"

const Words = Schema.Struct({ _meta: Schema.optionalKey(Meta.RequestMeta), words: Schema.String })
const Told = Schema.Struct({ words: Schema.String })

const echo = MethodDefinition.request("acme/echo", { from: "client", params: Words, result: Told })
const ask = MethodDefinition.request("acme/ask", { from: "either", params: Words, result: Told })
const late = MethodDefinition.request("acme/late", { from: "client", params: Words, result: Told, since: "2025-11-25" })
const reindexed = MethodDefinition.notification("acme/reindexed", { from: "server", params: Told })
const opened = MethodDefinition.notification("acme/opened", { from: "client", params: Told })

const answer = ({ words }: { readonly words: string }) => Effect.succeed({ words: `${words}!` })

describe("methods of one's own", () => {
  for (const { form, pair } of forms) {
    it.effect(`are served by both sides (${form})`, () =>
      Effect.gen(function*() {
        const { client, server } = yield* connected({
          pair,
          client: { extensions: [Extension.request(ask, answer)] },
          server: { extensions: [Extension.request(echo, answer), Extension.request(ask, answer)] }
        })
        assert.deepStrictEqual(yield* client.extension(echo, { words: "hello" }), { words: "hello!" })
        assert.deepStrictEqual(yield* client.extension(ask, { words: "who" }), { words: "who!" })
        assert.deepStrictEqual(yield* server.extension(ask, { words: "you" }), { words: "you!" })
      }))
  }

  it.effect("run with the context of their request, and can report progress", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({
        server: {
          extensions: [Extension.request(echo, ({ words }) =>
            Effect.gen(function*() {
              const { method } = yield* RequestContext.RequestContext
              yield* RequestContext.progress({ progress: 1 })
              return { words: `${method} ${words}` }
            }))]
        }
      })
      const steps: Array<number> = []
      const result = yield* client.extension(echo, { words: "x" }, {
        onProgress: ({ progress }) => Effect.sync(() => steps.push(progress))
      })
      assert.deepStrictEqual([result, steps], [{ words: "acme/echo x" }, [1]])
    }))

  it.effect("[MSG-07] pass the gates of all methods: their params, their revision, and who sends them", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        server: { extensions: [Extension.request(echo, answer), Extension.request(late, answer)] }
      })
      yield* raw.send(initialize("2025-06-18"))
      yield* raw.response
      yield* raw.send(initialized)
      const codes = []
      for (
        const [method, params] of [["acme/echo", { words: 1 }], ["acme/late", { words: "x" }], [
          "acme/opened",
          {}
        ]] as const
      ) {
        yield* raw.send(JsonRpc.request(1, method, params))
        codes.push(codeOf(yield* raw.response))
      }
      assert.deepStrictEqual(codes, [ErrorCode.InvalidParams, ErrorCode.MethodNotFound, ErrorCode.MethodNotFound])
    }))

  it.effect("answer with their McpError, and with nothing of what they die of", () =>
    Effect.gen(function*() {
      const { client, records } = yield* connected({
        server: {
          extensions: [Extension.request(echo, ({ words }) =>
            words === "fail" ? Effect.fail(new McpError.McpError({ code: 7, message: "no" })) : Effect.die("secret"))]
        }
      })
      const codes = []
      for (const words of ["fail", "die"]) {
        const { reason } = yield* Effect.flip(client.extension(echo, { words }))
        codes.push(reason._tag === "ErrorResponse" ? reason.error.code : reason._tag)
      }
      assert.deepStrictEqual(codes, [7, ErrorCode.InternalError])
      assert.strictEqual(records.server.of("HandlerFailed").length, 1)
    }))

  it.effect("do not replace a method of the table, handled or not", () =>
    Effect.gen(function*() {
      const own = MethodDefinition.request("tools/call", {
        from: "client",
        params: Meta.Meta,
        result: Meta.EmptyResult
      })
      const ping = MethodDefinition.request("ping", { from: "either", params: Meta.Meta, result: Meta.EmptyResult })
      const stolen = () => Effect.die("it ran")
      const extensions = [Extension.request(own, stolen), Extension.request(ping, stolen)]
      const handled = yield* connected({
        handlers: { "tools/call": () => Effect.succeed(text("the table's")) },
        server: { extensions }
      })
      assert.deepStrictEqual(yield* handled.client.callTool("x"), text("the table's"))
      yield* handled.client.ping()
      const unhandled = yield* connected({ server: { extensions, capabilities: { tools: {} } } })
      const { reason } = yield* Effect.flip(unhandled.client.callTool("x"))
      assert.strictEqual(reason._tag === "ErrorResponse" && reason.error.code, ErrorCode.MethodNotFound)
    }))

  it.effect("that nobody answers are listened to, in the order of all notifications", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const { client, server } = yield* connected({
        client: {
          handlers: { "notifications/tools/list_changed": () => Effect.sync(() => heard.push("tools")) },
          extensions: [Extension.notification(reindexed, ({ words }) => Effect.sync(() => heard.push(words)))]
        },
        server: {
          capabilities: { tools: { listChanged: true } },
          extensions: [Extension.notification(opened, ({ words }) => Effect.sync(() => heard.push(words)))]
        }
      })
      yield* server.send(JsonRpc.notification("acme/reindexed", { words: "first" }))
      yield* server.toolListChanged
      yield* server.send(JsonRpc.notification("acme/reindexed", { words: "last" }))
      yield* settled
      yield* client.send(JsonRpc.notification("acme/opened", { words: "a file" }))
      yield* settled
      assert.deepStrictEqual(heard, ["first", "tools", "last", "a file"])
    }))
})

describe("a client that looks on, and says what it likes", () => {
  it.effect("sees everything as it came", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected({ server: { extensions: [Extension.request(echo, answer)] } })
      const seen: Array<JsonRpc.Message> = []
      yield* start(Stream.runForEach(client.messages, (message) => Effect.sync(() => seen.push(message))))
      yield* client.extension(echo, { words: "hello" })
      yield* server.log({ level: "info", data: 1 })
      yield* settled
      assert.deepStrictEqual<unknown>(seen, [
        { jsonrpc: "2.0", id: 1, result: { words: "hello!" } },
        { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: 1 } }
      ])
    }))

  it.effect("may send a request by itself; its response is reported, as it belongs to none of the session's", () =>
    Effect.gen(function*() {
      const { client, records } = yield* connected()
      yield* client.send(JsonRpc.request("mine", "ping", undefined))
      yield* settled
      assert.deepStrictEqual(records.client.of("UnmatchedResponse").map(({ response }) => response), [
        JsonRpc.success("mine", {})
      ])
    }))
})
