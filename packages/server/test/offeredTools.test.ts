/** Tools that run as tasks only, in the lists of clients that can call them, and of those that cannot. */
import { Content, JsonRpc, RequestMetadata, Revision, TaskExtension, type Tool as Protocol } from "@effect-mcp/protocol"
import { McpGroup, McpMount, McpServer, McpTool } from "@effect-mcp/server"
import { type RequestError, StatelessServer } from "@effect-mcp/session"
import { RemoteTasks } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { connect, info } from "./support/connect.ts"
import { describeForBothEras } from "./support/eras.ts"

const Works = McpGroup.make(
  "works",
  Tool.make("archive", { success: Schema.String }).annotate(McpTool.Task, "required"),
  Tool.make("count", { success: Schema.String }),
  Tool.make("report", { success: Schema.String }).annotate(McpTool.Task, "optional")
)

const WorksLive = Works.toLayer((handlers) =>
  handlers
    .tool("archive", () => Effect.succeed("archived"))
    .tool("count", () => Effect.succeed("counted"))
    .tool("report", () => Effect.succeed("reported"))
)

const withTasks = { extensions: { [TaskExtension.name]: {} } }

const namesOf = ({ tools }: Protocol.ListToolsResult) => tools.map(({ name }) => name)

/** Returns the texts of a tool's result, or the code of the error. */
const outcomeOf = <R>(call: Effect.Effect<Protocol.CallToolResult, RequestError.RequestError, R>) =>
  Effect.match(call, {
    onSuccess: ({ content }) => content.map((block) => block.type === "text" ? block.text : block.type).join(),
    onFailure: ({ reason }) => reason._tag === "ErrorResponse" ? reason.error.code : reason
  })

describeForBothEras("a tool that runs as a task only", ({ connect, isModern }) => {
  it.live("is listed for a client that can call it, and for no other", () =>
    Effect.gen(function*() {
      for (const pageSize of [1, 100]) {
        const able = yield* connect(WorksLive, { client: { capabilities: withTasks }, server: { pageSize } })
        const names: Array<string> = []
        let cursor: string | undefined
        do {
          const page = yield* able.listTools(cursor === undefined ? {} : { cursor })
          names.push(...namesOf(page))
          cursor = page.nextCursor
        } while (cursor !== undefined)
        assert.deepStrictEqual(names, ["archive", "count", "report"])
        assert.deepStrictEqual((yield* (yield* RemoteTasks.of(able).call("archive")).result).content, [
          Content.text("archived")
        ])
      }
      const plain = yield* connect(WorksLive)
      // A client of revision 2025-11-25 declares nothing, and can call the tool as a task.
      assert.deepStrictEqual(
        namesOf(yield* plain.listTools()),
        isModern ? ["count", "report"] : ["archive", "count", "report"]
      )
    }))

  it.effect("is called under a mount as it is listed there", () =>
    Effect.gen(function*() {
      const session = yield* connect(McpMount.prefixed("own", WorksLive))
      assert.deepStrictEqual(
        namesOf(yield* session.listTools()),
        isModern ? ["own_count", "own_report"] : ["own_archive", "own_count", "own_report"]
      )
    }))
})

describe("a list of tools", () => {
  for (const revision of [...Revision.legacy, ...Revision.modern]) {
    it.live(`${revision}: has the tools that a client without tasks of its own can call`, () =>
      Effect.gen(function*() {
        const session = yield* connect(WorksLive, { client: { revisions: [revision] } })
        const { tools } = yield* session.listTools()
        for (const { execution, name } of tools) {
          const called = execution?.taskSupport === "required"
            ? Effect.flatMap(RemoteTasks.of(session).call(name), ({ result }) => result)
            : session.callTool(name)
          assert.isString(yield* outcomeOf(called), name)
        }
        // What is not listed has its precise error.
        const unlisted = ["archive", "count", "report"].filter((name) => !tools.some((tool) => tool.name === name))
        assert.deepStrictEqual(unlisted, Revision.isModern(revision) ? ["archive"] : [])
        for (const name of unlisted) assert.strictEqual(yield* outcomeOf(session.callTool(name)), -32021)
      }))
  }

  it.effect("of a server without tasks has all tools, which are called without one", () =>
    Effect.gen(function*() {
      const handlers = yield* McpServer.makeStatelessHandlers(WorksLive)
      const { handle } = yield* StatelessServer.make(handlers, { info })
      for (const revision of [...Revision.legacy, ...Revision.modern]) {
        const send = (method: string, params: object) =>
          Effect.map(
            handle(
              JsonRpc.request(1, method, {
                ...params,
                _meta: RequestMetadata.write({
                  protocolVersion: "2026-07-28",
                  clientCapabilities: {},
                  clientInfo: undefined,
                  logLevel: undefined
                })
              }),
              { revision }
            ),
            (reply) => JSON.parse(JSON.stringify(reply)).result
          )
        const { tools } = yield* send("tools/list", {})
        assert.deepStrictEqual(
          tools.map((tool: Protocol.Tool) => [tool.name, tool.execution]),
          [["archive", undefined], ["count", undefined], ["report", undefined]]
        )
        assert.deepStrictEqual((yield* send("tools/call", { name: "archive" })).content, [Content.text("archived")])
      }
    }))

  it.effect("[CCH-08] that depends on the capabilities of its client is private", () =>
    Effect.gen(function*() {
      const caching = { tools: { ttl: "5 seconds", scope: "public" } } as const
      for (const capabilities of [{}, withTasks]) {
        const session = yield* connect(WorksLive, {
          client: { revisions: Revision.modern, capabilities },
          server: { caching }
        })
        const scopes: Array<unknown> = []
        const listed: object = yield* session.listTools()
        scopes.push(Reflect.get(listed, "cacheScope"))
        assert.deepStrictEqual(scopes, ["private"])
      }
    }))
})
