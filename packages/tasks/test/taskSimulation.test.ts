/**
 * Tasks of several principals under random commands, in both revisions, in two processes on one store that are stopped
 * and killed, over connections that are lost.
 */
import { JsonRpc, McpError } from "@effect-mcp/protocol"
import { RequestContext } from "@effect-mcp/session"
import { type ServerTasks, TaskStore } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { type ServerHandlers, settled, text } from "../../session/test/support/sessions.ts"
import { extensionClient, taskClient } from "./support/taskClients.ts"
import { startProcess } from "./support/taskProcesses.ts"
import { at, form, openedFor } from "./support/taskServers.ts"

const principals = { ada: { id: "ada" }, grace: { id: "grace" }, anonymous: undefined } as const

type Name = keyof typeof principals
type Revision = "2025-11-25" | "2026-07-28"

const client = {
  process: Schema.Literals([0, 1]),
  principal: Schema.Literals(["ada", "grace", "anonymous"]),
  revision: Schema.Literals(["2025-11-25", "2026-07-28"])
}

/** A use of a task by a client: of one of any principal by its number, or of an unknown one. */
const Use = Schema.Struct({
  do: Schema.Literals(["get", "get", "get", "result", "result", "cancel", "answer", "answer", "list", "listen"]),
  ...client,
  which: Schema.Literals([0, 1, 2, 3, 4, 5])
})

/** The same with any number. */
interface UseOf extends Omit<typeof Use.Type, "which"> {
  readonly which: number
}

const Command = Schema.Union([
  Schema.Struct({
    do: Schema.Literal("start"),
    ...client,
    tool: Schema.Literals(["done", "slow", "fails", "asks", "endless", "steps"])
  }),
  Use,
  Use,
  Schema.Struct({ do: Schema.Literals(["kill", "stop", "drop"]), ...client }),
  Schema.Struct({ do: Schema.Literal("advance"), seconds: Schema.Literals([1, 5, 20, 45]) })
])

const commands = Arbitrary.array(Arbitrary.schema(Command), { minLength: 10, maxLength: 50 })

/** The lifetime of all tasks, in milliseconds. */
const ttl = 120_000

/** A task, as its owner may see it. */
interface Known {
  readonly id: string
  readonly principal: Name
  readonly tool: string
  readonly expiresAt: number
  /** The last status that was seen, in each revision. */
  readonly seen: Map<Revision, string>
  /** The outcome that was seen. */
  outcome?: string
}

/** The revision of what only clients of one revision do. */
const revisionsOf: { readonly [action: string]: Revision } = {
  result: "2025-11-25",
  list: "2025-11-25",
  answer: "2026-07-28",
  listen: "2026-07-28"
}

const final: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"])

const endedOften = "The process that ran the task has ended, for the 5th time"

/** The outcomes of a task that the simulation can bring about. */
const outcomesOf = ({ principal, tool }: Known): ReadonlyArray<string> => {
  const ends = ["The server has stopped", "The process that ran the task has ended"]
  switch (tool) {
    case "done":
      return ["done", "cancelled", ...ends]
    case "slow":
      return ["slow", "cancelled", ...ends]
    case "fails":
      return ["no", "cancelled", ...ends]
    // These are resumable: they have no end with their process, and a step ran once.
    case "asks":
      return [`hello ${principal}`, "cancelled", endedOften]
    case "steps":
      return ["step 1", "cancelled", endedOften]
    default:
      return ["cancelled", ...ends]
  }
}

const plan: ServerTasks.Options = {
  tools: (name) => ({ support: "optional", begins: "atOnce", resumable: name === "steps" || name === "asks" }),
  ttl,
  maxTtl: ttl
}

/** Runs commands, and fails if a client sees what it must not see. */
const simulate = Effect.fnUntraced(function*(commands: ReadonlyArray<typeof Command.Type>) {
  const store = yield* TaskStore.makeMemory()
  const known: Array<Known> = []
  const steps = new Map<number, number>()
  /** Failures in the background. An interruption is none: its connection was lost. */
  const failures: Array<unknown> = []
  const inBackground = <A, E>(effect: Effect.Effect<A, E>, scope: Scope.Scope) =>
    Effect.forkIn(
      Effect.tapCause(effect, (cause) =>
        Effect.sync(() => {
          if (!Cause.hasInterruptsOnly(cause)) failures.push(Cause.squash(cause))
        })),
      scope
    )

  const call = (tool: string, number: number) => {
    switch (tool) {
      case "done":
        return Effect.succeed("done")
      case "slow":
        return Effect.as(Effect.sleep("30 seconds"), "slow")
      case "fails":
        return Effect.fail(McpError.invalidRequest("no"))
      case "asks":
        return RequestContext.elicit({ message: String(number), requestedSchema: form }).pipe(
          Effect.map(({ content }) => `hello ${content?.["name"]}`),
          Effect.orDie
        )
      case "steps":
        return Effect.gen(function*() {
          const step = Effect.sync(() => {
            const runs = (steps.get(number) ?? 0) + 1
            steps.set(number, runs)
            return runs
          })
          const runs = yield* RequestContext.once("step", { success: Schema.Int }, step)
          yield* Effect.sleep("20 seconds")
          return `step ${runs}`
        })
      default:
        return Effect.never
    }
  }
  const handlers: ServerHandlers = {
    "tools/list": () => Effect.succeed({ tools: [] }),
    "tools/call": ({ arguments: input, name }) => Effect.map(call(name, Number(input?.["number"])), text)
  }
  const start = startProcess(store, handlers, plan)
  const processes = [yield* start, yield* start]

  /** Fails if a message for a client names a task of another principal. */
  const check = (principal: Name, message: unknown) => {
    const words = JSON.stringify(message)
    for (const { id, principal: owner } of known) {
      if (owner !== principal) assert.notInclude(words, id)
    }
  }
  const open = Effect.fnUntraced(function*(process: number, principal: Name, revision: Revision) {
    const host = processes[process]?.host
    if (host === undefined) return assert.fail("no process")
    const transport = yield* openedFor(host, principals[principal])
    const answer = ({ id, params }: JsonRpc.Request) => {
      // The question of a task reaches clients of its principal only.
      const owner = known[Number(params?.["message"])]?.principal
      if (owner !== principal) failures.push(new Error(`${principal} was asked for ${owner}`))
      return JsonRpc.success(id, { action: "accept", content: { name: principal } })
    }
    const connected = revision === "2025-11-25"
      ? yield* taskClient(transport, { answer, capabilities: { elicitation: {} } })
      : yield* extensionClient(transport)
    const request = (method: string, params: JsonRpc.Params) =>
      Effect.tap(connected.request(method, params), (response) => Effect.sync(() => check(principal, response)))
    return { received: connected.received, request }
  })
  type Connected = Effect.Success<ReturnType<typeof open>>
  const clients = new Map<string, { readonly client: Connected; readonly scope: Scope.Closeable; principal: Name }>()
  const drop = (matches: (key: string) => boolean) =>
    Effect.forEach([...clients].filter(([key]) => matches(key)), ([key, { scope }]) => {
      clients.delete(key)
      return Scope.close(scope, Exit.void)
    })
  const connect = Effect.fnUntraced(function*(process: number, principal: Name, revision: Revision) {
    const key = `${process} ${principal} ${revision}`
    const present = clients.get(key)
    if (present !== undefined) return present
    const scope = yield* Scope.fork(yield* Effect.scope)
    const opened = { client: yield* Scope.provide(open(process, principal, revision), scope), scope, principal }
    clients.set(key, opened)
    return opened
  })

  const see = (task: Known, revision: Revision, status: unknown) => {
    const last = task.seen.get(revision)
    if (last !== undefined && final.has(last)) assert.strictEqual(status, last)
    task.seen.set(revision, String(status))
  }
  const conclude = (task: Known, outcome: string) => {
    assert.include(outcomesOf(task), outcome)
    assert.strictEqual(outcome, task.outcome ?? outcome)
    task.outcome = outcome
  }
  const textIn = (result: unknown): string => String(at(result, "content", "0", "text"))
  const wordsOf = (response: JsonRpc.Response): string => {
    if ("result" in response) return textIn(response.result)
    return response.error.message.includes("was cancelled") ? "cancelled" : response.error.message
  }

  /** Reads the state of a task that its owner has received. */
  const readState = (task: Known, revision: Revision, state: unknown) => {
    const status = at(state, "status")
    see(task, revision, status)
    if (revision === "2025-11-25") return
    if (status === "completed") conclude(task, textIn(at(state, "result")))
    if (status === "failed") conclude(task, String(at(state, "error", "message")))
    if (status === "cancelled") conclude(task, "cancelled")
  }

  const use = Effect.fnUntraced(function*({ do: action, principal, process, revision, which }: UseOf) {
    if ((revisionsOf[action] ?? revision) !== revision) return
    const { client: { request }, scope } = yield* connect(process, principal, revision)
    const task = known[which]
    const taskId = task?.id ?? "00000000-0000-0000-0000-000000000000"
    const isVisible = (now: number) => task !== undefined && task.principal === principal && now < task.expiresAt
    /** Sends a request for a task, and returns the result that its owner receives. */
    const ask = Effect.fnUntraced(function*(method: string, params: JsonRpc.Params = {}) {
      const isSeen = isVisible(yield* Clock.currentTimeMillis)
      const response = yield* request(method, { taskId, ...params })
      if (!isSeen) {
        assert.strictEqual(at(response, "error", "code"), -32602)
        assert.match(String(at(response, "error", "message")), /^Unknown task/)
      }
      return isSeen && task !== undefined ? { task, response } : undefined
    })
    switch (action) {
      case "get": {
        const own = yield* ask("tasks/get")
        return own === undefined ? undefined : readState(own.task, revision, at(own.response, "result"))
      }
      case "result": {
        const own = Effect.flatMap(ask("tasks/result"), (own) =>
          Effect.sync(() => {
            if (own === undefined) return
            const words = wordsOf(own.response)
            // It may have expired while its client waited.
            if (!words.startsWith("Unknown task")) conclude(own.task, words)
          }))
        return yield* inBackground(own, scope)
      }
      case "cancel": {
        const own = yield* ask("tasks/cancel")
        if (own === undefined || revision === "2026-07-28") return
        return "result" in own.response
          ? readState(own.task, revision, own.response.result)
          : assert.match(own.response.error.message, /^The task has ended already/)
      }
      case "answer": {
        const own = yield* ask("tasks/get")
        const questions = Object.keys(Object(at(own?.response, "result", "inputRequests")))
        const answer = { action: "accept", content: { name: principal } }
        // A foreign client guesses the key of the first question.
        const keys = own === undefined ? ["question-1"] : questions
        yield* ask("tasks/update", { inputResponses: Object.fromEntries(keys.map((key) => [key, answer])) })
        return
      }
      case "list": {
        const response = yield* request("tasks/list", {})
        if (principal === "anonymous") return assert.strictEqual(at(response, "error", "code"), -32601)
        const now = yield* Clock.currentTimeMillis
        const own = known.filter((task) => task.principal === principal && now < task.expiresAt)
        const listed = Object(at(response, "result", "tasks"))
        return assert.deepStrictEqual(
          Array.from(listed, (one) => at(one, "taskId")).toSorted(),
          own.map(({ id }) => id).toSorted()
        )
      }
      case "listen": {
        const taskIds = known.map(({ id }) => id)
        return yield* inBackground(request("subscriptions/listen", { notifications: { taskIds } }), scope)
      }
    }
  })

  for (const command of commands) {
    switch (command.do) {
      case "start": {
        const { principal, process, revision, tool } = command
        const { client: { request } } = yield* connect(process, principal, revision)
        const params = { name: tool, arguments: { number: known.length } }
        const response = yield* request(
          "tools/call",
          revision === "2025-11-25" ? { ...params, task: {} } : params
        )
        const id = revision === "2025-11-25"
          ? at(response, "result", "task", "taskId")
          : at(response, "result", "taskId")
        assert.isString(id)
        const expiresAt = (yield* Clock.currentTimeMillis) + ttl
        known.push({ id: String(id), principal, tool, expiresAt, seen: new Map() })
        break
      }
      case "kill":
      case "stop": {
        const { process } = command
        yield* drop((key) => key.startsWith(`${process} `))
        const ended = processes[process]
        if (ended !== undefined) yield* ended[command.do]
        processes[process] = yield* start
        break
      }
      case "drop": {
        const { principal, process, revision } = command
        yield* drop((key) => key === `${process} ${principal} ${revision}`)
        break
      }
      case "advance":
        yield* TestClock.adjust(`${command.seconds} seconds`)
        break
      default:
        yield* use(command)
    }
    yield* settled
    for (const { client: { received }, principal } of clients.values()) check(principal, received)
    assert.deepStrictEqual(failures, [])
  }

  // Each owner sees what became of its tasks.
  yield* TestClock.adjust("10 seconds")
  for (const [which, { principal }] of known.entries()) {
    yield* use({ do: "get", principal, process: 0, revision: "2026-07-28", which })
  }
  // Nothing is left of tasks that have expired.
  yield* TestClock.adjust(ttl + 60_000)
  yield* settled
  assert.deepStrictEqual(yield* store.due(Number.MAX_VALUE, 100), [])
  for (const { running } of processes) assert.strictEqual(yield* running, 0)
  for (const runs of steps.values()) assert.strictEqual(runs, 1)
})

describe("tasks under random commands", () => {
  it.effect(
    "[TSK-09] [TSK-26] have one outcome, which their principal alone can see, and then leave nothing",
    () =>
      Effect.gen(function*() {
        const outcome = yield* Arbitrary.checkEffect(
          commands,
          (commands) => Effect.as(Effect.scoped(simulate(commands)), true),
          { runs: 150 }
        )
        assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
      }).pipe(Effect.provideService(References.MinimumLogLevel, "None")),
    { timeout: 120_000 }
  )
})
