import type { Revision } from "@effect-mcp/protocol"
import { McpGroup, McpServer } from "@effect-mcp/server"
import { ClientSession } from "@effect-mcp/session"
import { Authentication, StreamableHttpClient, StreamableHttpServer } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { info } from "./support/connect.ts"

/** Counts how often a tool's definition is encoded. */
class Encodings {
  count = 0

  /** Returns a group with a tool. */
  tool(name: string, options?: McpGroup.Options<never>) {
    const counted = {
      toJSON: () => {
        this.count++
        return true
      }
    }
    const tool = Tool.make(name, { success: Schema.String }).annotate(Tool.Meta, { counted })
    return McpGroup.make(name, tool).toLayer((handlers) => handlers.tool(name, () => Effect.succeed(name), options))
  }
}

/** Returns an effect that connects a client of one revision. */
const connected = (revision: Revision.Revision) =>
  Effect.map(HttpServer, ({ address }) => {
    const url = `http://127.0.0.1:${"port" in address ? address.port : 0}/mcp`
    return Effect.map(
      Layer.build(
        Layer.provide(ClientSession.layer({ info, revisions: [revision] }), StreamableHttpClient.layerNode({ url }))
      ),
      Context.get(ClientSession.ClientSession)
    )
  })

const serve = <A, E>(groups: Layer.Layer<A, E, McpServer.McpServer>) =>
  StreamableHttpServer.layerNode({ port: 0 }).pipe(
    Layer.provideMerge(
      McpServer.layerHost(groups, { info, pageSize: 2, caching: { tools: { ttl: "1 minute", scope: "public" } } })
    ),
    Layer.provide(Authentication.anonymous)
  )

/** Lists all pages, and returns the names of the tools. */
const names = ({ listTools }: ClientSession.ClientSessionShape) =>
  Effect.gen(function*() {
    const listed: Array<string> = []
    let page = yield* listTools()
    listed.push(...page.tools.map(({ name }) => name))
    while (page.nextCursor !== undefined) {
      page = yield* listTools({ cursor: page.nextCursor })
      listed.push(...page.tools.map(({ name }) => name))
    }
    return listed.join(" ")
  })

describe.each(["2025-11-25", "2026-07-28"] as const)("the list of tools in %s", (revision) => {
  it.live("is encoded once for all clients and all its pages, until the tools change", () => {
    const encodings = new Encodings()
    return Effect.gen(function*() {
      const connect = yield* connected(revision)
      for (let client = 0; client < 3; client++) assert.strictEqual(yield* names(yield* connect), "a b c d e")
      assert.strictEqual(encodings.count, 5)

      const scope = yield* Scope.make()
      yield* Effect.provideService(
        Layer.buildWithScope(encodings.tool("bb"), scope),
        McpServer.McpServer,
        yield* McpServer.McpServer
      )
      for (let client = 0; client < 2; client++) assert.strictEqual(yield* names(yield* connect), "a b bb c d e")
      assert.strictEqual(encodings.count, 11)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        serve(Layer.mergeAll(Layer.empty, ...["a", "b", "c", "d", "e"].map((name) => encodings.tool(name))))
      )
    )
  })

  it.live("is encoded for each request if some tool is hidden from some clients", () => {
    const encodings = new Encodings()
    let isVisible = true
    return Effect.gen(function*() {
      const connect = yield* connected(revision)
      assert.strictEqual(yield* names(yield* connect), "a b")
      isVisible = false
      assert.strictEqual(yield* names(yield* connect), "a")
      assert.strictEqual(encodings.count, 3)
    }).pipe(
      Effect.scoped,
      Effect.provide(serve(
        Layer.merge(encodings.tool("a"), encodings.tool("b", { visible: Effect.sync(() => isVisible) }))
      ))
    )
  })
})
