import { JsonRpc } from "@effect-mcp/protocol"
import { ClientRequestContext, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { call, performHandshake, settled, text, tools, withRawClient, withRawServer } from "./support/sessions.ts"

const start = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

/** Matches a key of the grammar: an optional prefix of labels separated by dots, with a slash, and a name. */
const key = /^(?:[a-z](?:[a-z\d-]*[a-z\d])?(?:\.[a-z](?:[a-z\d-]*[a-z\d])?)*\/)?(?:[a-z\d](?:[\w.-]*[a-z\d])?)?$/i

const isReserved = (name: string) => /(?:^|\.)(?:mcp|modelcontextprotocol)(?:\.|\/)/.test(name)

const metaOf = (messages: ReadonlyArray<JsonRpc.Message>) =>
  messages.flatMap((message) => "method" in message ? [message.params?.["_meta"]] : [])

const keysOf = (metas: ReadonlyArray<unknown>) =>
  Array.from(new Set(metas.flatMap((meta) => typeof meta === "object" && meta !== null ? Object.keys(meta) : [])))

describe("_meta", () => {
  it.effect("[MSG-29] [MSG-30] a session writes valid keys, and reserved keys only for their purpose", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      yield* start(session.callTool("x", {}, { onProgress: () => Effect.void }))
      yield* start(session.callTool("x", {}, { meta: { "example.org/a": 1 } }))
      yield* settled
      const served = yield* withRawClient()
      yield* performHandshake(served.raw)
      yield* start(served.session.ping({ onProgress: () => Effect.void }))
      yield* settled
      const built = served.session.buildCreateMessage({ messages: [], maxTokens: 1 }, { relatedTaskId: "1" })
      const keys = keysOf(metaOf([...raw.received, ...yield* served.raw.pending, built]))
      assert.sameMembers(keys, ["progressToken", "example.org/a", "io.modelcontextprotocol/related-task"])
      for (const name of keys) assert.match(name, key)
      assert.deepStrictEqual(keys.filter(isReserved), ["io.modelcontextprotocol/related-task"])
    }))

  it.effect("a request that is built for a task keeps its _meta", () =>
    Effect.gen(function*() {
      const { session } = yield* withRawClient()
      const params = { messages: [], maxTokens: 1, _meta: { "example.org/a": 1 } }
      const { params: built } = session.buildCreateMessage(params, { relatedTaskId: "t" })
      assert.deepStrictEqual(built?.["_meta"], {
        "example.org/a": 1,
        "io.modelcontextprotocol/related-task": { taskId: "t" }
      })
      assert.deepStrictEqual(session.buildCreateMessage(params).params?.["_meta"], { "example.org/a": 1 })
    }))

  // The `_meta` of a peer may have reserved keys, invalid keys, and values of any type.
  const unusual = {
    "io.modelcontextprotocol/acme": null,
    "modelcontextprotocol.io/": [1, { deep: true }],
    "dev.mcp/related-task": "1",
    "io.modelcontextprotocol/related-task": "no task",
    "mcp": 0,
    "..//--": "",
    "": false
  }

  it.effect("[MSG-28] a server accepts any _meta, and passes it to the handler unchanged", () =>
    Effect.gen(function*() {
      const seen = yield* Deferred.make<unknown>()
      const { raw } = yield* withRawClient({
        handlers: tools({
          x: Effect.gen(function*() {
            const { meta } = yield* RequestContext.RequestContext
            yield* Deferred.succeed(seen, meta)
            return text("x")
          })
        })
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x", { _meta: unusual }))
      assert.deepStrictEqual<unknown>(yield* raw.response, JsonRpc.success(1, text("x")))
      assert.deepStrictEqual(yield* Deferred.await(seen), unusual)
    }))

  it.effect("[MSG-28] a client accepts any _meta of requests and results", () =>
    Effect.gen(function*() {
      const seen = yield* Deferred.make<unknown>()
      const { raw, session } = yield* withRawServer({
        client: {
          handlers: {
            "roots/list": () =>
              Effect.gen(function*() {
                const { meta } = yield* ClientRequestContext.ClientRequestContext
                yield* Deferred.succeed(seen, meta)
                return { roots: [] }
              })
          }
        }
      })
      yield* raw.send(JsonRpc.request("r", "roots/list", { _meta: unusual }))
      assert.deepStrictEqual(yield* Deferred.await(seen), unusual)
      const calling = yield* start(session.callTool("x"))
      yield* settled
      yield* raw.send(JsonRpc.success(1, { ...text("x"), _meta: unusual }))
      assert.deepStrictEqual((yield* Fiber.join(calling))._meta, unusual)
    }))
})
