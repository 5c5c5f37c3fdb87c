import { McpProtocol, McpServer, McpTest, Tool, Toolkit } from "effect/ai"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { info } from "../peers/tools.ts"
import { type Application, description, names, ofEffects, type Size, sumIn } from "./Application.ts"

const parameters = Schema.Struct({ a: Schema.Finite, b: Schema.Finite })
const success = Schema.Struct({ sum: Schema.Finite })

/** Returns a toolkit of all tools, with their handlers. */
const registrations = (size: Size) => {
  const toolkit = Toolkit.make(...names(size).map((name) => Tool.make(name, { description, parameters, success })))
  const handlers = Object.fromEntries(
    names(size).map((name) => [name, ({ a, b }: typeof parameters.Type) => Effect.succeed({ sum: a + b })])
  )
  return McpServer.toolkit(toolkit).pipe(Layer.provide(toolkit.toLayer(handlers)))
}

/** Connects the MCP server of Effect and its test client. They always encode and parse JSON. */
export const connect = (size: Size): Promise<Application> =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const client = yield* McpTest.makeClient(registrations(size), {
      protocols: [McpProtocol.v2025_11_25],
      ...info
    }).pipe(Scope.provide(scope))
    return ofEffects({
      name: "effect/ai",
      size,
      add: (a, b) => Effect.map(client.callTool({ name: "add", arguments: { a, b } }), sumIn),
      list: Effect.map(client.listTools(), ({ tools }) => tools.length),
      run: Effect.runPromise,
      close: Scope.close(scope, Exit.void)
    })
  }).pipe(Effect.runPromise)
