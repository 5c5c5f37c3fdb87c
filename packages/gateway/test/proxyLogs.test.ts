import { McpProxy } from "@effect-mcp/gateway"
import { McpGroup, McpRequest, McpServer } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import { handshake, info } from "../../server/test/support/connect.ts"
import { clients } from "./support/proxies.ts"

describe("log messages of the server", () => {
  const logging = McpServer.layerMemory(
    McpGroup.make("log", Tool.make("log", { parameters: Schema.Struct({ text: Schema.String }) })).toLayer((handlers) =>
      handlers.tool("log", ({ text }) => McpRequest.log({ level: "warning", logger: "remote", data: text }))
    ),
    { info }
  )

  const heardBy = Effect.fnUntraced(function*(sessions: "each" | "shared") {
    const open = yield* clients(McpProxy.layer("log", logging, { info, sessions }))
    const heard = yield* Queue.unbounded<unknown>()
    const logged = (name: string) =>
      open(name, {
        ...handshake,
        handlers: { "notifications/message": ({ data, level }) => Queue.offer(heard, [name, level, data]) }
      })
    const ada = yield* logged("ada")
    const bob = yield* logged("bob")
    const eve = yield* logged("eve")
    yield* eve.setLogLevel("error")
    yield* Effect.all([
      ada.callTool("log", { text: "1" }),
      eve.callTool("log", { text: "2" }),
      bob.callTool("log", { text: "3" })
    ], { concurrency: "unbounded" })
    return heard
  })

  it.live("reach the client whose session they belong to, from its level on", () =>
    Effect.gen(function*() {
      const heard = yield* heardBy("each")
      assert.sameDeepMembers(yield* Queue.takeN(heard, 2), [["ada", "warning", "1"], ["bob", "warning", "3"]])
      assert.strictEqual(yield* Queue.size(heard), 0)
    }).pipe(Effect.scoped))

  it.live("are dropped if the clients share a session", () =>
    Effect.gen(function*() {
      const heard = yield* heardBy("shared")
      assert.strictEqual(yield* Queue.size(heard), 0)
    }).pipe(Effect.scoped))
})
