/** Definitions that a proxy changes or leaves out: tasks, headers of arguments, hints for caches. */
import { McpProxy } from "@effect-mcp/gateway"
import { Content, JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import { McpGroup, McpMount, McpResource, McpServer, McpTool } from "@effect-mcp/server"
import { ServerSession, StatelessServer } from "@effect-mcp/session"
import { ServerTasks, TaskStore } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { connect, handshake, info } from "../../server/test/support/connect.ts"
import { assertHeadersChecked, where } from "../../server/test/support/headerArguments.ts"

const logged = (messages: Array<string>) =>
  Logger.layer([Logger.make(({ message }) => void messages.push(String(message)))])

describe("a proxied tool that runs as a task only", () => {
  const remote = (hasTasks: boolean) =>
    Layer.unwrap(Effect.gen(function*() {
      const tasks = yield* ServerTasks.make({ tools: { work: "required" } })
      return ServerSession.layerMemory({
        "tools/list": () =>
          Effect.succeed({
            tools: [
              { name: "plain", inputSchema: { type: "object" } },
              { name: "work", inputSchema: { type: "object" }, execution: { taskSupport: "required" } }
            ]
          }),
        "tools/call": ({ name }) => Effect.succeed({ content: [Content.text(name)] })
      }, { info, ...(hasTasks ? { tasks } : {}) })
    })).pipe(Layer.provide(TaskStore.layerMemory()))

  for (const [hasTasks, names] of [[true, ["plain"]], [false, ["plain", "work"]]] as const) {
    it.live(`is ${hasTasks ? "left out with one warning" : "listed if its server has no tasks"}`, () =>
      Effect.gen(function*() {
        const messages: Array<string> = []
        const session = yield* Effect.provide(
          connect(McpProxy.layer("remote", remote(hasTasks), { info, ...handshake })),
          logged(messages)
        )
        const listed = (yield* session.listTools()).tools.map(({ name }) => name)
        assert.deepStrictEqual(listed, [...names])
        for (const name of listed) {
          assert.deepStrictEqual((yield* session.callTool(name)).content, [Content.text(name)])
        }
        const problem =
          "the proxy \"remote\" leaves out the tool \"work\": it runs as a task only, and a proxy passes " +
          "no tasks on"
        assert.deepStrictEqual(messages, hasTasks ? [problem] : [])
      }).pipe(Effect.scoped))
  }
})

it.live("a proxy passes no tasks on", () =>
  Effect.gen(function*() {
    const Reports = McpGroup.make(
      "reports",
      Tool.make("report").annotate(McpTool.Task, "optional"),
      Tool.make("archive").annotate(McpTool.Task, { support: "required", begins: "atOnce" })
    )
    const ReportsLive = Reports.toLayer((handlers) =>
      handlers.tool("report", () => Effect.void).tool("archive", () => Effect.void)
    )
    const session = yield* connect(
      Layer.merge(
        McpMount.prefixed("own", ReportsLive),
        McpProxy.layer("remote", McpServer.layerMemory(ReportsLive, { info }), { info })
      ),
      { client: handshake }
    )
    const { tools } = yield* session.listTools()
    assert.deepStrictEqual(
      tools.filter(({ execution }) => execution !== undefined).map(({ name }) => name),
      ["own_archive", "own_report"]
    )
  }).pipe(Effect.scoped))

describe("a proxied tool whose argument is repeated in a header", () => {
  it.live("[SHE-28] rejects a call whose header is missing, differs or is not expected, over HTTP", () =>
    assertHeadersChecked(McpProxy.layer("remote", McpServer.layerMemory(where, { info }), { info })))

  it.live("is left out if its annotation is invalid", () =>
    Effect.gen(function*() {
      const remote = ServerSession.layerMemory({
        "tools/list": () =>
          Effect.succeed({
            tools: ["A B", "A"].map((header) => ({
              name: header.replace(" ", "_"),
              inputSchema: { type: "object", properties: { a: { type: "string", "x-mcp-header": header } } }
            }))
          })
      }, { info })
      const messages: Array<string> = []
      const session = yield* connect(McpProxy.layer("remote", remote, { info })).pipe(Effect.provide(logged(messages)))
      assert.deepStrictEqual((yield* session.listTools()).tools.map(({ name }) => name), ["A"])
      assert.include(String(messages), "leaves out the tool \"A_B\": one of its arguments has a header, and")
    }).pipe(Effect.scoped))
})

it.live("a hint for caches of a proxied server is not passed on: its results are stale at once and private", () =>
  Effect.gen(function*() {
    const Fixed = McpGroup.make(
      "fixed",
      McpResource.make("fixed", { uri: "app://fixed", cache: { ttl: "1 minute", scope: "public" } })
    )
    const remote = McpServer.layerMemory(
      Fixed.toLayer((handlers) => handlers.resource("fixed", Effect.succeed("fixed"))),
      { info }
    )
    const handlers = yield* McpServer.makeStatelessHandlers(
      McpProxy.layer("remote", remote, { info, revisions: ["2026-07-28"] })
    )
    const { handle } = yield* StatelessServer.make(handlers, { info })
    const _meta = RequestMetadata.write({
      protocolVersion: "2026-07-28",
      clientCapabilities: {},
      clientInfo: undefined,
      logLevel: undefined
    })
    const request = JsonRpc.request(1, "resources/read", { uri: "app://fixed", _meta })
    const { result } = JSON.parse(JSON.stringify(yield* handle(request, { revision: "2026-07-28" })))
    assert.deepStrictEqual([result.ttlMs, result.cacheScope], [0, "private"])
  }).pipe(Effect.scoped))
