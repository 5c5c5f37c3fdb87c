/**
 * The soak of tasks: they end in every way, in both revisions and in both roles. After each round all of them have
 * expired, and nothing may be left of them.
 */
import { Content, McpError, TaskExtension, type Tool } from "@effect-mcp/protocol"
import {
  ClientSession,
  MemoryTransport,
  RequestContext,
  type RequestError,
  ServerSession,
  SessionHost,
  Transport
} from "@effect-mcp/session"
import { ClientTasks, RemoteTasks, ServerTasks, TaskStore } from "@effect-mcp/tasks"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Random from "../Random.ts"
import * as Rounds from "../rounds.ts"
import { unexpected } from "../Unexpected.ts"

export interface TasksOptions extends Rounds.RoundsOptions {
  readonly seed: number
}

const info = { name: "soak", version: "1.0.0" }

/** The number of tasks of one client. */
const tasksOfOne = 10

const revisions = ["2025-11-25", "2026-07-28"] as const

/** The lifetime of each task, in milliseconds. The sweep follows it after a third of a lease. */
const ttl = 1_500
const lease = 600

const form = { type: "object", properties: { name: { type: "string" } } } as const

const ask = RequestContext.elicit({ message: "Who are you?", requestedSchema: form })

/** The tools of the server, by the ways in which their tasks end. */
const tools = {
  done: Effect.as(Effect.sleep("5 millis"), "done"),
  fails: Effect.fail(McpError.invalidParams("no")),
  cancelled: Effect.never,
  expires: Effect.never,
  left: Effect.as(Effect.sleep("20 millis"), "left"),
  asks: Effect.map(ask, ({ action }) => action),
  steps: RequestContext.once("step", { success: Schema.String }, Effect.succeed("x".repeat(1_000))),
  asTask: Effect.flatMap(
    Effect.flatMap(
      RemoteTasks.elicit({ message: "Who are you?", requestedSchema: form }),
      ({ result }) => result
    ),
    ({ action }) => Effect.succeed(action)
  )
}

type Way = keyof typeof tools

/** Words in the result or the error of a task of each way. */
const ends: { readonly [W in Way]: ReadonlyArray<string> } = {
  done: ["done"],
  fails: ["no"],
  cancelled: ["was cancelled"],
  expires: [],
  left: ["left"],
  asks: ["accept"],
  steps: ["xxxx"],
  asTask: ["accept"]
}

type Work = Effect.Effect<string, McpError.McpError | RequestError.RequestError, RequestContext.RequestContext>

const isWay = (name: string): name is Way => Object.hasOwn(tools, name)

const ways = Object.keys(tools).filter(isWay)

const call = (name: string): Effect.Effect<Tool.CallToolResult, McpError.McpError, RequestContext.RequestContext> => {
  const work: Work = isWay(name) ? tools[name] : Effect.die(`unknown tool ${name}`)
  const failing = Effect.catchTag(work, "RequestError", (error) => Effect.die(error))
  return Effect.map(failing, (text) => ({ content: [Content.text(text)] }))
}

const handlers = ServerSession.handlers({
  "tools/list": () =>
    Effect.succeed({
      tools: ways.map((name) => ({ name, inputSchema: { type: "object" }, execution: { taskSupport: "optional" } }))
    }),
  "tools/call": ({ name }) => call(name)
})

const make = (seed: number): Effect.Effect<Rounds.Lives, never, Scope.Scope> =>
  Effect.gen(function*() {
    const random = Random.make(seed)
    const store = yield* TaskStore.makeMemory({ maxTasks: 100_000 })
    const stored = Effect.map(Effect.orDie(store.due(Number.MAX_VALUE, 1_000_000)), ({ length }) => length)
    const inStore = Effect.provideService(TaskStore.TaskStore, store)
    const limits = { ttl, maxTtl: ttl, lease, pollInterval: 100, maxTasks: 100_000 }
    const tasks = yield* inStore(ServerTasks.make({
      ...limits,
      tools: () => ({ support: "optional", begins: "atOnce", resumable: true })
    }))
    const answers = yield* inStore(ClientTasks.make({ ...limits, server: "soak" }))
    const host = yield* SessionHost.make(handlers, { info, tasks })

    const connect = (revision: typeof revisions[number]) =>
      Effect.gen(function*() {
        const pair = yield* MemoryTransport.make()
        yield* host.open(pair.server, { kind: "memory", principal: { id: "soak" } })
        return yield* ClientSession.make({
          info,
          revisions: [revision],
          capabilities: { extensions: { [TaskExtension.name]: {} } },
          handlers: { "elicitation/create": () => Effect.succeed({ action: "accept", content: { name: "Ada" } }) },
          tasks: answers
        }).pipe(Effect.provideService(Transport.Transport, pair.client))
      })

    /** One task, which ends in one way. Fails if it has another end than that of its way. */
    const live = Effect.fnUntraced(function*(
      revision: typeof revisions[number],
      session: ClientSession.ClientSessionShape,
      way: Way
    ) {
      const task = yield* RemoteTasks.of(session).call(way)
      if (way === "cancelled") yield* Effect.ignore(task.cancel)
      const tasks = RemoteTasks.of(way === "left" ? yield* connect(revision) : session)
      const end = yield* Effect.match(tasks.of(task.id ?? "").result, {
        onSuccess: ({ content: [first] }) => first?.type === "text" ? first.text : "no text",
        onFailure: ({ message }) => message
      })
      // On a busy machine, a task may expire before its client comes to it.
      const isExpected = ends[way].some((words) => end.includes(words)) || end.includes("Unknown task")
      if (!isExpected) return yield* unexpected(`a task of ${way} ended with ${end}`)
    })

    const client = Effect.fnUntraced(function*(
      revision: typeof revisions[number],
      chosen: ReadonlyArray<Way>,
      add: (session: object) => void
    ) {
      const scope = yield* Scope.fork(yield* Effect.scope)
      const session = yield* Scope.provide(connect(revision), scope)
      add(session)
      yield* Effect.forEach(chosen, (way) => Effect.scoped(live(revision, session, way)), {
        concurrency: "unbounded",
        discard: true
      })
      yield* Scope.close(scope, Exit.void)
    })

    return {
      concurrency: 16,
      tables: Effect.map(
        Effect.all([stored, tasks.running, answers.running]),
        ([stored, running, answering]) => ({ "tasks: stored": stored, "tasks: running": running, answering })
      ),
      settled: Effect.asVoid(
        Effect.repeat(Effect.delay(stored, lease / 6), { until: (count) => count === 0 })
      ),
      next: (count, tally) =>
        Array.from({ length: Math.ceil(count / tasksOfOne) }, (_, index) => {
          const revision = revisions[index % revisions.length] ?? revisions[0]
          const size = Math.min(tasksOfOne, count - index * tasksOfOne)
          const possible = ways.filter((way) => way !== "asTask" || revision === "2025-11-25")
          const chosen = Array.from({ length: size }, () => random.shuffled(possible).slice(0, 1)).flat()
          return {
            subject: revision,
            ending: "task",
            count: size,
            run: client(revision, chosen, (session) => tally.add(session))
          }
        })
    }
  })

/** Runs a soak of tasks. */
export const run = ({ seed, ...options }: TasksOptions) => Rounds.run(options, make(seed))
