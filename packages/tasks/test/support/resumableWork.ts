/** Processes with one resumable tool, whose work the test decides. */
import { type Elicitation, type McpError, TaskExtension, type Tool } from "@effect-mcp/protocol"
import { ClientSession, type Principal, RequestContext, Transport } from "@effect-mcp/session"
import { type ClientTasks, RemoteTasks, type ServerTasks, TaskStore } from "@effect-mcp/tasks"
import * as Effect from "effect/Effect"
import { info, type ServerHandlers, settled, text, tools } from "../../../session/test/support/sessions.ts"
import { startProcess } from "./taskProcesses.ts"
import { form, openedFor } from "./taskServers.ts"

/** The work of the tool. */
export type Work = Effect.Effect<Tool.CallToolResult, McpError.McpError, RequestContext.RequestContext>

export const ada: Principal.Principal = { id: "ada", claims: { scope: "reports" } }

/** The sender of requests, and whether its transport authenticates it. */
export interface Caller {
  readonly principal: Principal.Principal | undefined
  readonly authenticates?: boolean
}

/** Starts a process with the tool `work`, which is resumable. */
export const processOn = Effect.fnUntraced(function*(
  store: TaskStore.TaskStore["Service"],
  work: Work,
  plan: Partial<ServerTasks.ToolTasks> = {},
  options: Partial<ServerTasks.Options> = {}
) {
  const handlers: ServerHandlers = {
    ...tools({ work }),
    "tools/list": () =>
      Effect.succeed({
        tools: [{ name: "work", inputSchema: { type: "object" }, execution: { taskSupport: "optional" } }]
      })
  }
  const started = yield* startProcess(store, handlers, {
    tools: { work: { support: "optional", resumable: true, ...plan } },
    ...options
  })
  return {
    ...started,
    /** Connects a client of ada, or of another principal or none. */
    client: (
      elicit: (params: Elicitation.ElicitParams) => Effect.Effect<Elicitation.ElicitResult> = () => Effect.never,
      revision: "2025-11-25" | "2026-07-28" = "2025-11-25",
      tasks?: ClientTasks.ClientTasksShape,
      { authenticates, principal }: Caller = { principal: ada }
    ) =>
      Effect.flatMap(openedFor(started.host, principal, authenticates), (transport) =>
        ClientSession.make({
          info,
          revisions: [revision],
          capabilities: { extensions: { [TaskExtension.name]: {} } },
          handlers: { "elicitation/create": elicit },
          limits: { gracefulTimeout: 0 },
          ...(tasks === undefined ? undefined : { tasks })
        }).pipe(Effect.provideService(Transport.Transport, transport)))
  }
})

/** Asks the user for a name. */
export const ask = (message: string) =>
  Effect.orDie(
    Effect.map(RequestContext.elicit({ message, requestedSchema: form }), ({ content }) => String(content?.["name"]))
  )

/** Starts a task that asks for a name, in a process on a store of its own. */
export const askingTask = Effect.gen(function*() {
  const store = yield* TaskStore.makeMemory()
  const work: Work = Effect.map(ask("Who?"), text)
  const one = yield* processOn(store, work)
  const { id = "" } = yield* RemoteTasks.of(yield* one.client()).call("work", {}, { ttl: "1 hour" })
  yield* settled
  return { store, work, one, id }
})
