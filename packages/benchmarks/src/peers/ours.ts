import { Content } from "@effect-mcp/protocol"
import { ClientSession, MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { fromEffects, type Peer } from "./Peer.ts"
import { info, numberIn, sum } from "./tools.ts"

const nextTurn = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** Effect MCP on both sides. */
export const connect = (serialization: "json" | "none"): Promise<Peer> =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const pair = yield* MemoryTransport.make({ serialization })
    yield* ServerSession.make({
      "tools/call": (params) => {
        const result = { content: [Content.text(sum(params.arguments))] }
        return params.name === "add" ? Effect.succeed(result) : Effect.as(nextTurn, result)
      }
    }, { info }).pipe(Effect.provideService(Transport.Transport, pair.server), Scope.provide(scope))
    const client = yield* ClientSession.make({ info }).pipe(
      Effect.provideService(Transport.Transport, pair.client),
      Scope.provide(scope)
    )
    return fromEffects({
      name: "Effect MCP",
      add: (tool, a, b) => Effect.map(client.callTool(tool, { a, b }), numberIn),
      close: Scope.close(scope, Exit.void)
    })
  }).pipe(Effect.runPromise)
