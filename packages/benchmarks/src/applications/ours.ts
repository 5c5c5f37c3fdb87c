import { Content, Revision } from "@effect-mcp/protocol"
import { McpGroup, McpServer } from "@effect-mcp/server"
import { ClientSession, MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { info } from "../peers/tools.ts"
import { type Application, description, names, ofEffects, type Size, sumIn } from "./Application.ts"

const parameters = Schema.Struct({ a: Schema.Finite, b: Schema.Finite })
const success = Schema.Struct({ sum: Schema.Finite })

const toolNamed = <const Name extends string>(name: Name) => Tool.make(name, { description, parameters, success })

/** Returns the groups of a server: one for each tool. */
const groups = (size: Size): Layer.Layer<never, never, McpServer.McpServer> =>
  // One flat merge, because hundreds of nested ones exceed the stack.
  Layer.mergeAll(
    Layer.empty,
    ...names(size).map((name) =>
      McpGroup.make(name, toolNamed(name)).toLayer((handlers) =>
        handlers.tool(name, ({ a, b }) => Effect.succeed({ sum: a + b }))
      )
    )
  )

/** The server without an application level: the handler of one tool, which checks nothing. */
const bare = ServerSession.serve({
  "tools/list": () => Effect.succeed({ tools: [{ name: "add", inputSchema: { type: "object" as const } }] }),
  "tools/call": ({ arguments: input }) => {
    const structuredContent = { sum: Number(input?.["a"]) + Number(input?.["b"]) }
    return Effect.succeed({ content: [Content.text(JSON.stringify(structuredContent))], structuredContent })
  }
}, { info })

const connectTo = (
  name: string,
  size: Size,
  serve: Effect.Effect<unknown, unknown, Transport.Transport>,
  serialization: "json" | "none"
): Promise<Application> =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const pair = yield* MemoryTransport.make({ serialization })
    yield* Effect.forkIn(Effect.provideService(serve, Transport.Transport, pair.server), scope)
    const client = yield* ClientSession.make({ info, revisions: [Revision.latestLegacy] }).pipe(
      Effect.provideService(Transport.Transport, pair.client),
      Scope.provide(scope)
    )
    return ofEffects({
      name,
      size,
      add: (a, b) => Effect.map(client.callTool("add", { a, b }), sumIn),
      list: Effect.map(client.listTools(), ({ tools }) => tools.length),
      run: Effect.runPromise,
      close: Scope.close(scope, Exit.void)
    })
  }).pipe(Effect.runPromise)

/** Connects a client to a handler that is written by hand. */
export const connectBare = (serialization: "json" | "none"): Promise<Application> =>
  connectTo("a handler without schemas", 1, bare, serialization)

/** Connects a client to a server of groups. */
export const connect = (size: Size, serialization: "json" | "none"): Promise<Application> =>
  connectTo("Effect MCP", size, McpServer.serve(groups(size), { info, pageSize: 1_000 }), serialization)
