/** Tools that run as tasks only, in a toolkit of remote tools. */
import { McpClients, McpTarget } from "@effect-mcp/client"
import * as McpRemoteToolkit from "@effect-mcp/client/McpRemoteToolkit"
import { Content, TaskExtension } from "@effect-mcp/protocol"
import { ServerSession } from "@effect-mcp/session"
import { ServerTasks, TaskStore } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"

const info = { name: "host", version: "1.0.0" }

describe("a tool that runs as a task only", () => {
  const server = (hasTasks: boolean) =>
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

  for (
    const [hasTasks, revision, offered] of [
      [true, "2025-11-25", ["s__plain"]],
      [false, "2025-11-25", ["s__plain", "s__work"]],
      // Here a call that becomes a task is a call like any other.
      [true, "2026-07-28", ["s__plain", "s__work"]]
    ] as const
  ) {
    it.live(`${revision}, ${hasTasks ? "with" : "without"} tasks: the model gets ${offered.join(" and ")}`, () =>
      Effect.gen(function*() {
        const clients = yield* McpClients.make({ s: McpTarget.transport(server(hasTasks), "s") }, {
          info,
          names: "model",
          revisions: [revision],
          capabilities: { extensions: { [TaskExtension.name]: {} } }
        })
        const messages: Array<string> = []
        const toolkit = yield* Effect.andThen(McpRemoteToolkit.make(clients), McpRemoteToolkit.make(clients)).pipe(
          Effect.provide(Logger.layer([Logger.make(({ message }) => void messages.push(String(message)))]))
        )
        assert.deepStrictEqual(Object.keys(toolkit.tools), [...offered])
        for (const name of offered) {
          assert.deepStrictEqual((yield* clients.callTool(name)).content, [Content.text(name.slice(3))])
        }
        const problem = "the tool \"s__work\" is not offered to the model: it runs as a task only; call it by " +
          "tasks.call of its client"
        assert.deepStrictEqual(messages, offered.length === 1 ? [problem] : [])
      }).pipe(Effect.scoped))
  }
})
