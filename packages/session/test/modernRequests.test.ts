/** Requests of revision 2026-07-28, which carry their revision and their client. */
import { JsonRpc, McpError, RequestMetadata, Revision } from "@effect-mcp/protocol"
import { type Handlers, RequestContext, StatelessServer } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { info, text } from "./support/sessions.ts"

const revision = "2026-07-28"

const metadata: RequestMetadata.RequestMetadata = {
  protocolVersion: revision,
  clientCapabilities: { elicitation: { form: {} } },
  clientInfo: { name: "client", version: "1" },
  logLevel: undefined
}

const request = (method: string, params: object = {}, client: Partial<RequestMetadata.RequestMetadata> = {}) =>
  JsonRpc.request(1, method, { ...params, _meta: RequestMetadata.write({ ...metadata, ...client }) })

const handlers: Handlers.Handlers<"client", RequestContext.RequestContext> = {
  "tools/list": () => Effect.succeed({ tools: [] }),
  "tools/call": ({ name }) =>
    Effect.gen(function*() {
      const { log, profile, progress } = yield* RequestContext.RequestContext
      if (name === "log") {
        yield* log({ level: "debug", data: "quiet" })
        yield* log({ level: "error", data: "loud" })
      }
      yield* progress({ progress: 1 })
      return { ...text(`${profile.info?.name} ${Object.keys(profile.capabilities).join()}`), _meta: { a: 1 } }
    }),
  "resources/list": () => Effect.succeed({ resources: [], ttlMs: 5_000, cacheScope: "public" }),
  "resources/read": ({ uri }) => Effect.fail(McpError.resourceNotFound(uri)),
  "resources/subscribe": () => Effect.succeed({}),
  "resources/unsubscribe": () => Effect.succeed({})
}

const serving = Effect.map(
  StatelessServer.make(handlers, {
    info,
    instructions: "Ask.",
    revisions: ["2025-06-18", "2026-07-28", "2025-11-25"]
  }),
  ({ handle }) => (frame: unknown, from: Partial<StatelessServer.IncomingFrame> = {}) =>
    handle(frame, { revision, ...from })
)

const errorIn = (reply: StatelessServer.Reply | undefined) =>
  reply !== undefined && "error" in reply ? reply.error : undefined

const serverInfo = { "io.modelcontextprotocol/serverInfo": info }

describe("a request of revision 2026-07-28", () => {
  it.effect("[MSG-18] [VER-05] [CCH-01] is answered with the type of the result, the server and a cache hint", () =>
    Effect.gen(function*() {
      const handle = yield* serving
      assert.deepStrictEqual(yield* handle(request("tools/list")), {
        jsonrpc: "2.0",
        id: 1,
        result: { tools: [], ttlMs: 0, cacheScope: "private", resultType: "complete", _meta: serverInfo }
      })
      assert.deepStrictEqual(yield* handle(request("resources/list")), {
        jsonrpc: "2.0",
        id: 1,
        result: { resources: [], ttlMs: 5_000, cacheScope: "public", resultType: "complete", _meta: serverInfo }
      })
      assert.deepStrictEqual(yield* handle(request("tools/call", { name: "x" })), {
        jsonrpc: "2.0",
        id: 1,
        result: { ...text("client elicitation"), resultType: "complete", _meta: { a: 1, ...serverInfo } }
      })
    }))

  it.effect("[VER-04] [VER-12] is served for the client that its own metadata describes", () =>
    Effect.gen(function*() {
      const handle = yield* serving
      const call = (client: Partial<RequestMetadata.RequestMetadata>) =>
        Effect.map(handle(request("tools/call", { name: "x" }, client)), (reply) => JSON.stringify(reply))
      assert.include(yield* call({}), "client elicitation")
      const other = { clientInfo: undefined, clientCapabilities: { roots: {} } }
      const [one, two] = yield* Effect.all([call(other), call({})], { concurrency: "unbounded" })
      assert.include(one, "undefined roots")
      assert.include(two, "client elicitation")
    }))

  it.effect("[VER-09] server/discover returns the revisions, the capabilities and the instructions of the server", () =>
    Effect.gen(function*() {
      const handle = yield* serving
      assert.deepStrictEqual(yield* handle(request("server/discover")), {
        jsonrpc: "2.0",
        id: 1,
        result: {
          supportedVersions: ["2026-07-28", "2025-11-25", "2025-06-18"],
          capabilities: { tools: {}, resources: {}, logging: {} },
          instructions: "Ask.",
          ttlMs: 0,
          cacheScope: "private",
          resultType: "complete",
          _meta: serverInfo
        }
      })
    }))

  it.effect("[VER-03] without its metadata, or with invalid metadata, is rejected with the field", () =>
    Effect.gen(function*() {
      const handle = yield* serving
      const meta = RequestMetadata.write(metadata)
      for (const key of ["io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"]) {
        const { [key]: _, ...rest } = meta
        const error = errorIn(yield* handle(JsonRpc.request(1, "tools/list", { _meta: rest })))
        assert.strictEqual(error?.code, -32602)
        assert.strictEqual(error?.message, `Invalid metadata of tools/list: Missing key at ["${key}"]`)
      }
      assert.strictEqual(errorIn(yield* handle(JsonRpc.request(1, "tools/list", undefined)))?.code, -32602)
    }))

  it.effect("law 12: is rejected with an error of bounded size, however large its method and metadata are", () =>
    Effect.gen(function*() {
      const handle = yield* serving
      const large = "x".repeat(1_000_000)
      const invalid = [
        JsonRpc.request(1, large, undefined),
        JsonRpc.request(1, "tools/list", { _meta: { "io.modelcontextprotocol/protocolVersion": [large] } }),
        request("tools/list", {}, { protocolVersion: large }),
        request(large)
      ]
      for (const frame of invalid) assert.isBelow(JSON.stringify(yield* handle(frame)).length, 1_000)
    }))

  it.effect("[CCH-02] has a hint for caches that is never negative", () =>
    Effect.gen(function*() {
      const { handle } = yield* StatelessServer.make({
        "tools/list": () => Effect.succeed({ tools: [], ttlMs: -1, cacheScope: "public" })
      }, { info })
      assert.deepNestedInclude(yield* handle(request("tools/list"), { revision }), {
        "result.ttlMs": 0,
        "result.cacheScope": "public"
      })
    }))

  it.effect("[VER-07] of a revision that the server does not serve so is rejected with those that it serves", () =>
    Effect.gen(function*() {
      const handle = yield* serving
      const rejected: ReadonlyArray<readonly [requested: string, remedy: string]> = [
        ["1900-01-01", ""],
        ["2025-11-25", ", which has a handshake: send initialize, and no revision in _meta"]
      ]
      for (const [requested, remedy] of rejected) {
        const error = errorIn(yield* handle(request("tools/list", {}, { protocolVersion: requested })))
        assert.deepInclude(error, {
          code: -32022,
          message: `Unsupported protocol version: ${requested}${remedy}`,
          data: { supported: ["2026-07-28", "2025-11-25", "2025-06-18"], requested }
        })
      }
    }))

  it.effect("[PING-04] of a method that only other revisions have is rejected with -32601", () =>
    Effect.gen(function*() {
      const handle = yield* serving
      const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: info }
      const removed: ReadonlyArray<readonly [string, object]> = [
        ["initialize", initialize],
        ["ping", {}],
        ["logging/setLevel", { level: "debug" }],
        ["resources/subscribe", { uri: "app://one" }],
        ["resources/unsubscribe", { uri: "app://one" }]
      ]
      for (const [method, params] of removed) {
        assert.strictEqual(errorIn(yield* handle(request(method, params)))?.code, -32601, method)
      }
      // The same handlers serve them in a revision that has them.
      const legacy = yield* handle(JsonRpc.request(1, "ping", undefined), { revision: "2025-11-25" })
      assert.deepStrictEqual(legacy, { jsonrpc: "2.0", id: 1, result: {} })
      const discover = yield* handle(request("server/discover"), { revision: Revision.latestLegacy })
      assert.strictEqual(errorIn(discover)?.code, -32601)
    }))

  it.effect("[MSG-23] [RES-06] has no codes of errors that only other revisions have", () =>
    Effect.gen(function*() {
      const handle = yield* serving
      const read = { uri: "app://none" }
      const error = errorIn(yield* handle(request("resources/read", read)))
      assert.deepStrictEqual([error?.code, error?.data], [-32602, read])
      const legacy = yield* handle(JsonRpc.request(1, "resources/read", read), { revision: "2025-11-25" })
      assert.strictEqual(errorIn(legacy)?.code, -32002)
    }))

  it.effect("[MSG-22] [MSG-23] has no codes of the specification's range without a meaning, whatever its handler", () =>
    Effect.gen(function*() {
      let code = 0
      const { handle } = yield* StatelessServer.make({
        "tools/list": () => Effect.fail(new McpError.McpError({ code, message: "no" }))
      }, { info })
      const replied = (failed: number) =>
        Effect.suspend(() => {
          code = failed
          return Effect.map(handle(request("tools/list"), { revision }), (reply) => errorIn(reply)?.code)
        })
      for (const failed of [-32023, -32042, -32099]) assert.strictEqual(yield* replied(failed), -32603)
      for (const failed of [-32020, -32021, -32022, -32019, -32100, 7]) {
        assert.strictEqual(yield* replied(failed), failed)
      }
    }))

  it.effect("[MSG-21] has the type of its result, whatever type its handler gives it", () =>
    Effect.gen(function*() {
      const { handle } = yield* StatelessServer.make({
        "tools/list": () => Effect.succeed({ tools: [], resultType: "task" })
      }, { info })
      assert.deepNestedInclude(yield* handle(request("tools/list"), { revision }), { "result.resultType": "complete" })
    }))

  it.effect("[LOG-07] gets log messages from its own level on, and none without a level", () =>
    Effect.gen(function*() {
      const handle = yield* serving
      const logged = (logLevel: RequestMetadata.RequestMetadata["logLevel"]) =>
        Effect.gen(function*() {
          const sent: Array<unknown> = []
          yield* handle(request("tools/call", { name: "log" }, { logLevel }), {
            notify: ({ params }) => Effect.sync(() => void sent.push(params?.["data"]))
          })
          return sent
        })
      assert.deepStrictEqual(yield* logged("debug"), ["quiet", "loud"])
      assert.deepStrictEqual(yield* logged("warning"), ["loud"])
      assert.deepStrictEqual(yield* logged(undefined), [])
    }))

  it.effect("[LOG-04] is rejected with -32602 if its level of log messages is unknown", () =>
    Effect.gen(function*() {
      const handle = yield* serving
      const _meta = { ...RequestMetadata.write(metadata), "io.modelcontextprotocol/logLevel": "loud" }
      assert.strictEqual(errorIn(yield* handle(JsonRpc.request(1, "tools/list", { _meta })))?.code, -32602)
    }))

  it.effect("gets the progress that it asks for", () =>
    Effect.gen(function*() {
      const handle = yield* serving
      const sent: Array<unknown> = []
      const call = request("tools/call", { name: "x" })
      const params = { ...call.params, _meta: { ...RequestMetadata.write(metadata), progressToken: "p" } }
      yield* handle({ ...call, params }, { notify: ({ params }) => Effect.sync(() => void sent.push(params)) })
      assert.deepStrictEqual(sent, [{ progress: 1, progressToken: "p" }])
    }))

  it.effect("is not part of a batch", () =>
    Effect.gen(function*() {
      const handle = yield* serving
      assert.strictEqual(errorIn(yield* handle([request("tools/list")]))?.code, -32600)
    }))
})
