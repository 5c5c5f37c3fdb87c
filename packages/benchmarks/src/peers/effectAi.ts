import { McpProtocol, McpServer, McpTest, Tool, Toolkit } from "effect/ai"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { fromEffects, type Peer } from "./Peer.ts"
import { info, numberIn } from "./tools.ts"

const parameters = Schema.Struct({ a: Schema.Finite, b: Schema.Finite })
const tools = Toolkit.make(
  Tool.make("add", { parameters, success: Schema.Finite }),
  Tool.make("addLater", { parameters, success: Schema.Finite })
)

const nextTurn = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

const registrations = McpServer.toolkit(tools).pipe(
  Layer.provide(tools.toLayer({
    add: ({ a, b }) => Effect.succeed(a + b),
    addLater: ({ a, b }) => Effect.as(nextTurn, a + b)
  }))
)

/** Connects the MCP server of Effect and its test client. They always encode and parse JSON. */
export const connect = (): Promise<Peer> =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const client = yield* McpTest.makeClient(registrations, { protocols: [McpProtocol.v2025_11_25], ...info }).pipe(
      Scope.provide(scope)
    )
    return fromEffects({
      name: "effect/ai",
      add: (tool, a, b) => Effect.map(client.callTool({ name: tool, arguments: { a, b } }), numberIn),
      close: Scope.close(scope, Exit.void)
    })
  }).pipe(Effect.runPromise)
