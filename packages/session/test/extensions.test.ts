import { ErrorCode, JsonRpc, McpError, Meta, MethodDefinition } from "@effect-mcp/protocol"
import { Extension, RequestContext, StatelessServer } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { connectedStateless, stateless, withModernServer } from "./support/modernServers.ts"
import {
  client,
  codeOf,
  connected,
  forms,
  info,
  initialize,
  initialized,
  settled,
  start,
  text,
  tools,
  withRawClient
} from "./support/sessions.ts"

const Request = Schema.Struct({ _meta: Schema.optionalKey(Meta.RequestMeta), words: Schema.String })
const Reply = Schema.Struct({ words: Schema.String })

const echo = MethodDefinition.request("acme/echo", { from: "client", params: Request, result: Reply })
const either = MethodDefinition.request("acme/either", { from: "either", params: Request, result: Reply })
const late = MethodDefinition.request("acme/late", {
  from: "client",
  params: Request,
  result: Reply,
  since: "2025-11-25"
})
const reindexed = MethodDefinition.notification("acme/reindexed", { from: "server", params: Reply })
const opened = MethodDefinition.notification("acme/opened", { from: "client", params: Reply })

const exclaim = ({ words }: { readonly words: string }) => Effect.succeed({ words: `${words}!` })

describe("extension methods", () => {
  for (const { form, pair } of forms) {
    it.effect(`are served by both sides (${form})`, () =>
      Effect.gen(function*() {
        const { client, server } = yield* connected({
          pair,
          client: { extensions: [Extension.request(either, exclaim)] },
          server: { extensions: [Extension.request(echo, exclaim), Extension.request(either, exclaim)] }
        })
        assert.deepStrictEqual(yield* client.extension(echo, { words: "hello" }), { words: "hello!" })
        assert.deepStrictEqual(yield* client.extension(either, { words: "who" }), { words: "who!" })
        assert.deepStrictEqual(yield* server.extension(either, { words: "you" }), { words: "you!" })
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

  it.effect("[MSG-07] are rejected for invalid params, an older revision or the wrong sender", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({
        server: { extensions: [Extension.request(echo, exclaim), Extension.request(late, exclaim)] }
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

  it.effect("reply with the McpError of the handler, and hide its defect", () =>
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

  it.effect("do not replace a method of the method table, with or without a handler", () =>
    Effect.gen(function*() {
      const callTool = MethodDefinition.request("tools/call", {
        from: "client",
        params: Meta.Meta,
        result: Meta.EmptyResult
      })
      const ping = MethodDefinition.request("ping", { from: "either", params: Meta.Meta, result: Meta.EmptyResult })
      const replacement = () => Effect.die("it ran")
      const extensions = [Extension.request(callTool, replacement), Extension.request(ping, replacement)]
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

  it.effect("that are notifications reach their handlers, in the order of all notifications", () =>
    Effect.gen(function*() {
      const received: Array<string> = []
      const { client, server } = yield* connected({
        client: {
          handlers: { "notifications/tools/list_changed": () => Effect.sync(() => received.push("tools")) },
          extensions: [Extension.notification(reindexed, ({ words }) => Effect.sync(() => received.push(words)))]
        },
        server: {
          capabilities: { tools: { listChanged: true } },
          extensions: [Extension.notification(opened, ({ words }) => Effect.sync(() => received.push(words)))]
        }
      })
      yield* server.send(JsonRpc.notification("acme/reindexed", { words: "first" }))
      yield* server.toolListChanged
      yield* server.send(JsonRpc.notification("acme/reindexed", { words: "last" }))
      yield* settled
      yield* client.send(JsonRpc.notification("acme/opened", { words: "a file" }))
      yield* settled
      assert.deepStrictEqual(received, ["first", "tools", "last", "a file"])
    }))
})

describe("an extension that one side has, in 2026-07-28", () => {
  it.effect("[VER-18] is rejected by a server without it, which serves the core protocol to the client", () =>
    Effect.gen(function*() {
      const { session } = yield* connectedStateless(tools({ answer: Effect.succeed(text("42")) }), {
        client: {
          extensions: [Extension.request(either, exclaim), Extension.notification(reindexed, () => Effect.void)]
        }
      })
      const { reason } = yield* Effect.flip(session.extension(echo, { words: "hello" }))
      assert.deepInclude(reason, {
        _tag: "ErrorResponse",
        error: new McpError.McpError({ code: ErrorCode.MethodNotFound, message: "Method not found: acme/echo" })
      })
      assert.deepStrictEqual((yield* session.callTool("answer")).content, text("42").content)
    }))

  it.effect("[VER-18] is ignored by a client without it, which uses the core protocol of the server", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withModernServer({
        script: (message) => JsonRpc.isRequest(message) ? [JsonRpc.success(message.id, text("42"))] : []
      })
      yield* raw.send(JsonRpc.notification("acme/reindexed", { words: "all" }))
      yield* settled
      assert.deepStrictEqual(record.of("NotificationIgnored").map(({ method, problem }) => [method, problem]), [
        ["acme/reindexed", "unknown method"]
      ])
      assert.deepStrictEqual((yield* session.callTool("answer")).content, text("42").content)
    }))

  it.effect("[VER-18] of a server does not change what it does for a client without it", () =>
    Effect.gen(function*() {
      const { session } = yield* connectedStateless(tools({ answer: Effect.succeed(text("42")) }), {
        server: { extensions: [Extension.request(echo, exclaim)] }
      })
      assert.deepStrictEqual(session.profile.capabilities, { tools: {}, logging: {} })
      assert.deepStrictEqual((yield* session.callTool("answer")).content, text("42").content)
      assert.deepStrictEqual(yield* session.extension(echo, { words: "hello" }), { words: "hello!" })
    }))
})

describe("the name of an extension", () => {
  const search = { "com.example/search": { depth: 2 } }

  it.effect("[VER-17] is declared by either side, with its settings, and known to the other", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const answer = Effect.map(RequestContext.RequestContext, ({ profile }) => {
        seen.push(profile.capabilities)
        return text("42")
      })
      const { session } = yield* connectedStateless(tools({ answer }), {
        client: { capabilities: { extensions: search } },
        server: { capabilities: { extensions: search } }
      })
      yield* session.callTool("answer")
      assert.deepStrictEqual(session.profile.capabilities.extensions, search)
      assert.deepStrictEqual(seen, [{ extensions: search }])
    }))

  it.effect("[VER-17] has a prefix and the grammar of a key of _meta, or no client and no server starts", () =>
    Effect.gen(function*() {
      const invalid = ["search", "com.example/", "/search", "com..example/search", "1com/search", "com.example/a b", ""]
      for (const name of invalid) {
        const capabilities = { extensions: { [name]: {} } }
        const { transport } = yield* stateless({})
        for (
          const starting of [
            Effect.asVoid(client(transport, { capabilities })),
            Effect.asVoid(StatelessServer.make({}, { info, capabilities }))
          ]
        ) {
          const exit = yield* Effect.exit(starting)
          assert.include(
            Exit.isSuccess(exit) ? `${name} was accepted` : String(Cause.squash(exit.cause)),
            `capabilities.extensions ${JSON.stringify(name)}: the name of an extension needs a prefix`
          )
        }
      }
    }))
})

describe("the streams and senders of raw messages at a client", () => {
  it.effect("messages streams all received messages unchanged", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connected({ server: { extensions: [Extension.request(echo, exclaim)] } })
      const received: Array<JsonRpc.Message> = []
      yield* start(Stream.runForEach(client.messages, (message) => Effect.sync(() => received.push(message))))
      yield* client.extension(echo, { words: "hello" })
      yield* server.log({ level: "info", data: 1 })
      yield* settled
      assert.deepStrictEqual<unknown>(received, [
        { jsonrpc: "2.0", id: 1, result: { words: "hello!" } },
        { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: 1 } }
      ])
    }))

  it.effect("send sends a request whose response is reported as unmatched", () =>
    Effect.gen(function*() {
      const { client, records } = yield* connected()
      yield* client.send(JsonRpc.request("mine", "ping", undefined))
      yield* settled
      assert.deepStrictEqual(records.client.of("UnmatchedResponse").map(({ response }) => response), [
        JsonRpc.success("mine", {})
      ])
    }))
})
