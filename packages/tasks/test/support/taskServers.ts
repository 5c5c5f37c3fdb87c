/** Servers with tasks, a client that answers their question, and what reads their answers. */
import type { Tool } from "@effect-mcp/protocol"
import {
  MemoryTransport,
  type Principal,
  type RequestError,
  ServerSession,
  type SessionHost,
  Transport
} from "@effect-mcp/session"
import { ServerTasks, TaskStore } from "@effect-mcp/tasks"
import * as Effect from "effect/Effect"
import { type ClientOptions, info, type ServerHandlers } from "../../../session/test/support/sessions.ts"

/** Creates the tasks of a server, in a store of their own. */
export const makeTasks = (options: ServerTasks.Options) =>
  Effect.flatMap(
    TaskStore.makeMemory(),
    (store) => Effect.provideService(ServerTasks.make(options), TaskStore.TaskStore, store)
  )

/** Creates a server with one connection, and returns the client's end of it. */
export const serverWithTasks = Effect.fnUntraced(function*(
  handlers: ServerHandlers,
  options: Partial<ServerSession.Options> & Required<Pick<ServerSession.Options, "tasks">>
) {
  const pair = yield* MemoryTransport.make()
  yield* ServerSession.make(handlers, { info, limits: { gracefulTimeout: 0, progressInterval: 0 }, ...options })
    .pipe(Effect.provideService(Transport.Transport, pair.server))
  return pair.client
})

/** Opens a session of a host for a principal, whom the transport has authenticated, and returns the client's end. */
export const openedFor = Effect.fnUntraced(function*(
  host: SessionHost.SessionHostShape,
  principal: Principal.Principal | undefined,
  authenticates = false
) {
  const { client, server } = yield* MemoryTransport.make()
  const authenticated: Transport.Transport["Service"] = {
    connect: Effect.map(server.connect, (connection) => ({
      ...connection,
      authenticates,
      run: (deliver) => connection.run((inbound) => deliver({ ...inbound, principal }))
    }))
  }
  yield* Effect.orDie(host.open(authenticated, { kind: "memory", principal }))
  return client
})

/** Returns a member of a JSON value. */
export const at = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((found, name) => Object(found)[name], value)

/** A form that asks for a name. */
export const form = { type: "object", properties: { name: { type: "string" } } } as const

/** Options of a client that answers a question with the name Ada. */
export const answering: ClientOptions = {
  handlers: {
    "elicitation/create": () => Effect.succeed({ action: "accept" as const, content: { name: "Ada" } })
  }
}

/** Returns the content of a result. */
export const contentOf = ({ content }: Tool.CallToolResult) => content

/** Returns the reason with which a request fails. */
export const reason = <A, R>(effect: Effect.Effect<A, RequestError.RequestError, R>) =>
  Effect.map(Effect.flip(effect), (error) => error.reason)
