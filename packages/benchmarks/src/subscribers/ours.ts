import { McpGroup, McpResource, McpServer } from "@effect-mcp/server"
import { ClientSession, MemoryTransport, SessionHost, Transport } from "@effect-mcp/session"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { info } from "../peers/tools.ts"
import { delivery, type Subscribers, uri } from "./Subscribers.ts"

const group = McpGroup.make("benchmark", McpResource.make("resource", { uri }))
  .toLayer((handlers) => handlers.resource("resource", Effect.succeed("text")))

// Unlimited, because the other servers have no limit. By default a host keeps 10,000 sessions.
const host = McpServer.layerHost(group, { info, sessions: { max: Number.POSITIVE_INFINITY } })

/** Connects clients to one host, and subscribes them. */
export const connect = (clients: number): Promise<Subscribers> =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(host, scope)
    const sessions = Context.get(context, SessionHost.SessionHost)
    const server = Context.get(context, McpServer.McpServer)
    const { next, received } = delivery(clients)
    const handlers = { "notifications/resources/updated": () => Effect.sync(received) }
    for (let client = 0; client < clients; client++) {
      const pair = yield* MemoryTransport.make({ serialization: "json" })
      yield* Scope.provide(sessions.open(pair.server, { kind: "memory" }), scope)
      const session = yield* ClientSession.make({ info, revisions: ["2025-11-25"], handlers }).pipe(
        Effect.provideService(Transport.Transport, pair.client),
        Scope.provide(scope)
      )
      yield* session.subscribeResource(uri)
    }
    return {
      update: async () => {
        const delivered = next()
        await Effect.runPromise(server.resourceUpdated(uri))
        await delivered
      },
      close: () => Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }).pipe(Effect.runPromise)
