/** The tasks of a client, and its server, which asks questions that become tasks, in revision 2025-11-25. */
import { Content, type Elicitation, JsonRpc, McpError, type Sampling, Task } from "@effect-mcp/protocol"
import {
  ClientRequestContext,
  MemoryTransport,
  RequestContext,
  type RequestError,
  type ServerSession
} from "@effect-mcp/session"
import { ClientTasks, RemoteTasks, TaskStore } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import {
  type ClientOptions,
  connected,
  forms,
  reasonOf,
  server,
  type ServerHandlers,
  settled,
  start,
  text,
  tools,
  withRawServer
} from "../../session/test/support/sessions.ts"
import { taskClient } from "./support/taskClients.ts"
import { at, form, makeTasks, reason } from "./support/taskServers.ts"

/** Creates the tasks of a client. */
const answerTasks = (options?: ClientTasks.Options, store?: TaskStore.TaskStore["Service"]) =>
  Effect.flatMap(
    store === undefined ? TaskStore.makeMemory() : Effect.succeed(store),
    (store) => Effect.provideService(ClientTasks.make(options), TaskStore.TaskStore, store)
  )

const question: Elicitation.ElicitParams = { message: "Who are you?", requestedSchema: form }

const sampling: Sampling.CreateMessageParams = {
  messages: [{ role: "user", content: Content.text("Who are you?") }],
  maxTokens: 10
}

const ada: Elicitation.ElicitResult = { action: "accept", content: { name: "Ada" } }

type Elicit = NonNullable<NonNullable<ClientOptions["handlers"]>["elicitation/create"]>

/** Answers after a minute. */
const slowly: Elicit = () => Effect.as(Effect.sleep("1 minute"), ada)

/** Connects a client that answers as tasks. */
const asking = Effect.fnUntraced(function*(
  elicit: Elicit,
  options: {
    readonly tasks?: ClientTasks.ClientTasksShape
    readonly handlers?: ServerHandlers
    readonly server?: Partial<ServerSession.Options>
    readonly pair?: Effect.Effect<MemoryTransport.Pair>
  } = {}
) {
  const { client, links, server } = yield* connected({
    handlers: options.handlers ?? {},
    client: { handlers: { "elicitation/create": elicit }, tasks: options.tasks ?? (yield* answerTasks()) },
    server: { limits: { gracefulTimeout: 0 }, ...options.server },
    ...(options.pair === undefined ? undefined : { pair: options.pair })
  })
  const methods = () => links.server.sent.flatMap((message) => "method" in message ? [message.method] : [])
  const replies = () => links.client.sent
  return { client, server, methods, replies }
})

/** The error that the client answers with. */
const codeOf = <A>(effect: Effect.Effect<A, RequestError.RequestError>) =>
  Effect.map(reason(effect), (reason) => reason._tag === "ErrorResponse" ? reason.error.code : reason)

/** Returns the reason for which a question fails, and whether its error is one of the context of the handler. */
const failing = Effect.gen(function*() {
  const context = yield* RequestContext.RequestContext
  const { result } = yield* Effect.orDie(RemoteTasks.of(context).elicit(question))
  const error = yield* Effect.flip(result)
  return text(`${error.reason._tag} ${context.isOwnError(error)}`)
}).pipe(Effect.orDie)

describe("a server asks its client as a task", () => {
  it.effect("and a failure of its question is one of the context of its handler, in a task too", () =>
    Effect.gen(function*() {
      const { client } = yield* asking(() => Effect.fail(McpError.received({ code: -32000, message: "no" })), {
        handlers: {
          ...tools({ ask: failing }),
          "tools/list": () =>
            Effect.succeed({
              tools: [{ name: "ask", inputSchema: { type: "object" }, execution: { taskSupport: "optional" } }]
            })
        },
        server: { tasks: yield* makeTasks({ tools: () => "optional" }) }
      })
      const own = text("ErrorResponse true")
      assert.deepInclude(yield* client.callTool("ask"), own)
      assert.deepInclude(yield* Effect.flatMap(RemoteTasks.of(client).call("ask"), ({ result }) => result), own)
    }))

  it.effect("[TSK-07] [TSK-08] [TSK-13] [TSK-14] [TSK-16] and follows its states until the client has answered", () =>
    Effect.gen(function*() {
      const tasks = yield* answerTasks({ pollInterval: "20 seconds" })
      const { methods, server } = yield* asking(slowly, { tasks })
      const task = yield* RemoteTasks.of(server).elicit(question, { ttl: "5 minutes" })
      assert.strictEqual(yield* tasks.running, 1)
      const other = yield* RemoteTasks.of(server).elicit(question)
      assert.notStrictEqual(task.id, other.id)
      assert.deepInclude(yield* task.state, { status: "working", ttl: 300_000, pollInterval: 20_000 })
      const states = yield* start(Stream.runCollect(task.states))
      const result = yield* start(task.result)
      yield* settled
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(
        (yield* Fiber.join(states)).map(({ status }) => status),
        ["working", "working", "working", "completed"]
      )
      assert.strictEqual(methods().filter((method) => method === "tasks/get").length, 5)
      assert.deepInclude(yield* Fiber.join(result), ada)
      assert.strictEqual(yield* tasks.running, 0)
      // Again, and by the id alone.
      assert.deepInclude(yield* RemoteTasks.of(server).of(task.id, "elicitation/create").result, ada)
    }))

  for (const { form: stream, pair } of forms) {
    it.effect(`in a handler, over ${stream}, and works meanwhile`, () =>
      Effect.gen(function*() {
        const greet = Effect.gen(function*() {
          const asked = yield* RemoteTasks.elicit(question)
          const message = yield* RemoteTasks.createMessage(sampling)
          yield* Effect.sleep("1 second")
          const { content } = yield* asked.result
          return text(`hello ${content?.["name"]}, says ${(yield* message.result).model}`)
        }).pipe(Effect.orDie)
        const { client } = yield* connected({
          pair,
          handlers: tools({ greet }),
          client: {
            tasks: yield* answerTasks(),
            handlers: {
              "elicitation/create": slowly,
              "sampling/createMessage": () =>
                Effect.succeed({ role: "assistant", content: Content.text("Ada"), model: "m" })
            }
          }
        })
        const called = yield* start(client.callTool("greet", {}, { timeout: "1 hour" }))
        yield* settled
        yield* TestClock.adjust("1 second")
        yield* settled
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual((yield* Fiber.join(called)).content, text("hello Ada, says m").content)
      }).pipe(Effect.scoped))
  }

  it.effect("[TSK-01] [TSK-02] only if the client has declared it for this kind of question", () =>
    Effect.gen(function*() {
      const { client, methods, server } = yield* asking(slowly)
      assert.deepStrictEqual((yield* server.profile).capabilities.tasks, {
        list: {},
        cancel: {},
        requests: { elicitation: { create: {} } }
      })
      assert.deepStrictEqual(yield* reason(RemoteTasks.of(server).createMessage(sampling)), {
        _tag: "MissingCapability",
        capability: "tasks.requests.sampling.createMessage"
      })
      yield* client.close
      const sample = () => Effect.fail(McpError.invalidRequest("no"))
      const sampler = yield* connected({
        client: { handlers: { "sampling/createMessage": sample }, tasks: yield* answerTasks() }
      })
      assert.deepStrictEqual((yield* sampler.server.profile).capabilities.tasks?.requests, {
        sampling: { createMessage: {} }
      })
      const both = yield* connected({
        client: {
          handlers: {
            "elicitation/create": slowly,
            "sampling/createMessage": () => Effect.fail(McpError.invalidRequest("no"))
          },
          capabilities: { tasks: { requests: { elicitation: { create: {} } } } }
        }
      })
      assert.deepStrictEqual(yield* reason(RemoteTasks.of(both.server).createMessage(sampling)), {
        _tag: "MissingCapability",
        capability: "tasks.requests.sampling.createMessage"
      })
      const none = yield* connected({ client: { handlers: { "elicitation/create": slowly } } })
      assert.deepStrictEqual(yield* reason(RemoteTasks.of(none.server).elicit(question)), {
        _tag: "MissingCapability",
        capability: "tasks.requests.elicitation.create"
      })
      assert.notInclude(methods(), "sampling/createMessage")
    }).pipe(Effect.scoped))

  it.effect("[TSK-02] and in no other revision, neither in a handler nor outside", () =>
    Effect.gen(function*() {
      const tasks = yield* answerTasks()
      const seen: Array<RequestError.RequestErrorReason["_tag"]> = []
      const ask = reason(RemoteTasks.elicit(question)).pipe(
        Effect.tap(({ _tag }) => Effect.sync(() => seen.push(_tag))),
        Effect.as(text("done")),
        Effect.orDie
      )
      for (const revisions of [["2025-06-18"], ["2026-07-28"]] as const) {
        const { client, server } = yield* connected({
          handlers: tools({ ask }),
          client: { revisions: [...revisions], tasks, handlers: { "elicitation/create": slowly } }
        })
        yield* client.callTool("ask")
        if (revisions[0] === "2025-06-18") {
          assert.isUndefined((yield* server.profile).capabilities.tasks)
          assert.strictEqual((yield* reason(RemoteTasks.of(server).elicit(question)))._tag, "NotInRevision")
        }
      }
      assert.deepStrictEqual(seen, ["NotInRevision", "NotInRevision"])
    }).pipe(Effect.scoped))

  it.effect("[TSK-06] and an answer without a task is no task, if a client ignores that", () =>
    Effect.gen(function*() {
      const { server } = yield* connected({
        client: {
          handlers: { "elicitation/create": () => Effect.succeed(ada) },
          capabilities: { tasks: { requests: { elicitation: { create: {} } } } }
        }
      })
      assert.strictEqual((yield* reason(RemoteTasks.of(server).elicit(question)))._tag, "InvalidResult")
    }))

  it.effect("[CAN-03] and cancels it by its id if the caller is interrupted before it has the id", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const store = yield* TaskStore.makeMemory()
      const tasks = yield* answerTasks({}, {
        ...store,
        create: (task, limits) => Effect.andThen(Deferred.await(gate), store.create(task, limits))
      })
      const { methods, server } = yield* asking(
        () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined)),
        { tasks }
      )
      const asked = yield* start(RemoteTasks.of(server).elicit(question))
      yield* settled
      yield* Fiber.interrupt(asked)
      yield* Deferred.succeed(gate, undefined)
      yield* Deferred.await(interrupted)
      yield* settled
      assert.deepStrictEqual(methods().slice(-2), ["elicitation/create", "tasks/cancel"])
      assert.strictEqual(yield* tasks.running, 0)
    }))

  it.effect("[PRG-08] [TSK-17] and receives its progress, which names the task, until the answer", () =>
    Effect.gen(function*() {
      const { replies, server } = yield* asking(() =>
        Effect.gen(function*() {
          yield* ClientRequestContext.progress({ progress: 1 })
          yield* Effect.sleep("1 minute")
          yield* ClientRequestContext.progress({ progress: 1 })
          yield* ClientRequestContext.progress({ progress: Number.NaN })
          yield* ClientRequestContext.progress({ progress: 2 })
          return ada
        })
      )
      const steps: Array<number> = []
      const task = yield* RemoteTasks.of(server).elicit(question, {
        onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
      })
      const result = yield* start(task.result)
      yield* settled
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(result)
      assert.deepStrictEqual(steps, [1, 2])
      const related = { [Task.relatedTaskKey]: { taskId: task.id } }
      const answer = replies().findLast((message) => at(message, "result", "action") === "accept")
      assert.deepStrictEqual(at(answer, "result", "_meta"), related)
      const progress = replies().filter((message) => at(message, "method") === "notifications/progress")
      assert.deepStrictEqual(progress.map((message) => at(message, "params", "_meta")), [related, related])
    }))

  it.effect("[TSK-15] and receives the failures of the answer, and checks it against the form", () =>
    Effect.gen(function*() {
      let answer: Effect.Effect<Elicitation.ElicitResult, McpError.McpError> = Effect.fail(
        new McpError.McpError({ code: -1, message: "the user is away" })
      )
      const { server } = yield* asking(() => Effect.suspend(() => answer))
      const away = yield* RemoteTasks.of(server).elicit(question)
      assert.strictEqual(yield* codeOf(away.result), -1)
      assert.strictEqual((yield* away.state).status, "failed")
      answer = Effect.die(new Error("a secret"))
      const defect = yield* RemoteTasks.of(server).elicit(question)
      assert.strictEqual(yield* codeOf(defect.result), -32603)
      assert.notInclude((yield* Effect.flip(defect.result)).message, "secret")
      answer = Effect.succeed({ action: "accept", content: { name: 1 } })
      const invalid = yield* RemoteTasks.of(server).elicit(question)
      // The client does not send an answer that breaks the form.
      assert.strictEqual(yield* codeOf(invalid.result), -31011)
    }))

  it.effect("and rejects an answer of a client that breaks the form", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const session = yield* server(pair.server, tools({ ask: failing }))
      const task = {
        taskId: "t",
        status: "completed",
        createdAt: "2026-01-01T00:00:00Z",
        lastUpdatedAt: "2026-01-01T00:00:00Z",
        ttl: null
      }
      const client = yield* taskClient(pair.client, {
        capabilities: { elicitation: {}, tasks: { requests: { elicitation: { create: {} } } } },
        answer: ({ id, method }) =>
          JsonRpc.success(id, method === "tasks/result" ? { action: "accept", content: { name: 1 } } : { task })
      })
      const asked = yield* RemoteTasks.of(session).elicit(question)
      const problem = yield* reason(asked.result)
      assert.strictEqual(problem._tag, "InvalidResult")
      assert.deepInclude(yield* client.result("tools/call", { name: "ask" }), text("InvalidResult true"))
      // Without the form, the schema of the method alone is known.
      assert.deepInclude(yield* RemoteTasks.of(session).of("t", "elicitation/create").result, { content: { name: 1 } })
    }))

  it.effect("[TSK-09] [TSK-23] [TSK-24] [TSK-25] and cancels it, which interrupts the handler", () =>
    Effect.gen(function*() {
      const interrupted = yield* Deferred.make<void>()
      const { server } = yield* asking(() =>
        Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
      )
      const task = yield* RemoteTasks.of(server).elicit(question)
      const waiting = yield* start(task.result)
      yield* settled
      assert.strictEqual((yield* task.cancel).status, "cancelled")
      yield* Deferred.await(interrupted)
      yield* settled
      assert.strictEqual((yield* task.state).status, "cancelled")
      assert.strictEqual((yield* reasonOf(waiting))._tag, "ErrorResponse")
      assert.strictEqual(yield* codeOf(task.cancel), -32602)
      const unknown = RemoteTasks.of(server).of("unknown", "sampling/createMessage")
      for (const request of [unknown.state, unknown.result, unknown.cancel]) {
        assert.strictEqual(yield* codeOf<unknown>(request), -32602)
      }
      const { tasks } = yield* server.request("tasks/list", {})
      assert.deepStrictEqual(tasks.map(({ taskId }) => taskId), [task.id])
      assert.strictEqual(yield* codeOf(server.request("tasks/list", { cursor: "x" })), -32602)
    }))

  it.effect("[TSK-28] within the limits of the client, which has an end for each", () =>
    Effect.gen(function*() {
      const tasks = yield* answerTasks({ maxTasks: 2, maxTtl: "1 minute" })
      const { server } = yield* asking(() => Effect.never, { tasks })
      const first = yield* RemoteTasks.of(server).elicit(question, { ttl: "1 day" })
      yield* RemoteTasks.of(server).elicit(question)
      assert.strictEqual((yield* first.state).ttl, 60_000)
      const full = yield* Effect.flip(RemoteTasks.of(server).elicit(question))
      assert.include(full.message, "There are 2 tasks already")
      const { raw } = yield* withRawServer({ client: { handlers: { "elicitation/create": slowly }, tasks } })
      yield* raw.send(JsonRpc.request(7, "elicitation/create", { ...question, task: { ttl: "long" } }))
      yield* settled
      assert.strictEqual(at(raw.received.at(-1), "error", "code"), -32602)
    }))

  it.effect("and notifies the server of the end of its task, as long as the session lasts", () =>
    Effect.gen(function*() {
      const { client, replies, server } = yield* asking(slowly)
      yield* RemoteTasks.of(server).elicit(question)
      yield* TestClock.adjust("30 seconds")
      yield* RemoteTasks.of(server).elicit(question)
      yield* TestClock.adjust("30 seconds")
      yield* settled
      const statuses = () =>
        replies().filter((message) => at(message, "method") === "notifications/tasks/status")
          .map((message) => at(message, "params", "status"))
      assert.deepStrictEqual(statuses(), ["completed"])
      yield* client.close
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(statuses(), ["completed"])
    }))

  it.effect("[TSK-26] which outlives the session, and belongs to one server", () =>
    Effect.gen(function*() {
      const store = yield* TaskStore.makeMemory()
      const tasks = yield* answerTasks({}, store)
      const scope = yield* Scope.make()
      const first = yield* Scope.provide(asking(slowly, { tasks }), scope)
      const { id } = yield* RemoteTasks.of(first.server).elicit(question)
      yield* Scope.close(scope, Exit.void)
      const second = yield* asking(slowly, { tasks })
      const result = yield* start(RemoteTasks.of(second.server).of(id, "elicitation/create").result)
      yield* settled
      yield* TestClock.adjust("1 minute")
      assert.deepInclude(yield* Fiber.join(result), ada)
      // Tasks with another server, in the same store.
      const other = yield* asking(slowly, { tasks: yield* answerTasks({}, store) })
      const foreign = RemoteTasks.of(other.server).of(id, "elicitation/create")
      for (const request of [foreign.state, foreign.result, foreign.cancel]) {
        assert.strictEqual(yield* codeOf<unknown>(request), -32602)
      }
      assert.deepStrictEqual((yield* other.server.request("tasks/list", {})).tasks, [])
    }).pipe(Effect.scoped))

  it.effect("[TSK-06] and a client without tasks works as it would without the wish for one", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawServer({
        client: { handlers: { "elicitation/create": () => Effect.succeed(ada) } }
      })
      yield* raw.send(JsonRpc.request(7, "elicitation/create", { ...question, task: {} }))
      yield* settled
      assert.deepStrictEqual(raw.received.at(-1), JsonRpc.success(7, ada))
    }))

  it.effect("and not without sessions", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const ask = reason(RemoteTasks.elicit(question)).pipe(
        Effect.tap(({ _tag }) => Effect.sync(() => seen.push(_tag))),
        Effect.as(text("done")),
        Effect.orDie
      )
      const { client } = yield* connected({
        handlers: tools({ ask }),
        server: { stateless: { revision: "2025-11-25" } },
        client: { handlers: { "elicitation/create": slowly }, tasks: yield* answerTasks() }
      })
      yield* client.callTool("ask")
      assert.deepStrictEqual(seen, ["StatelessModeNotSupported"])
    }))
})

describe("a task of a server asks its client as a task", () => {
  const served = Effect.fnUntraced(function*(
    ask: (tasks: RemoteTasks.QuestionTasks) => Effect.Effect<string, RequestError.RequestError>,
    elicit: Elicit
  ) {
    const work = Effect.flatMap(RequestContext.RequestContext, (context) => ask(RemoteTasks.of(context))).pipe(
      Effect.map(text),
      Effect.catch(({ message }) => Effect.succeed(text(message)))
    )
    const answers = yield* answerTasks()
    const { client, methods } = yield* asking(elicit, {
      tasks: answers,
      handlers: {
        ...tools({ work }),
        "tools/list": () =>
          Effect.succeed({
            tools: [{ name: "work", inputSchema: { type: "object" }, execution: { taskSupport: "optional" } }]
          })
      },
      server: { tasks: yield* makeTasks({ tools: { work: "optional" } }) }
    })
    return { answers, client, methods }
  })

  it.effect("[TSK-20] when that asks for the result, and waits for the answer in the same way", () =>
    Effect.gen(function*() {
      const { client, methods } = yield* served(
        (tasks) =>
          Effect.gen(function*() {
            const asked = yield* tasks.elicit(question)
            const { status } = yield* asked.state
            const { content } = yield* asked.result
            return `${status} ${content?.["name"]}`
          }),
        slowly
      )
      const task = yield* RemoteTasks.of(client).call("work")
      yield* settled
      assert.strictEqual((yield* task.state).status, "input_required")
      assert.notInclude(methods(), "elicitation/create")
      const result = yield* start(task.result)
      yield* settled
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual((yield* Fiber.join(result)).content, text("working Ada").content)
      assert.deepStrictEqual(
        methods().filter((method) => method !== "notifications/tasks/status"),
        ["elicitation/create", "tasks/get", "tasks/result"]
      )
    }))

  it.effect("and a question that it no longer waits for leaves no task at the client", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const { answers, client, methods } = yield* served(
        (tasks) =>
          Effect.as(
            Effect.timeoutOption(Effect.flatMap(tasks.elicit(question), ({ result }) => result), "10 seconds"),
            "no answer"
          ),
        () => Effect.andThen(Deferred.await(gate), Effect.never)
      )
      const task = yield* RemoteTasks.of(client).call("work")
      const result = yield* start(task.result)
      yield* settled
      assert.strictEqual(yield* answers.running, 1)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual((yield* Fiber.join(result)).content, text("no answer").content)
      assert.include(methods(), "tasks/result")
    }))

  it.effect("and cancels the client's task on its own session", () =>
    Effect.gen(function*() {
      const { answers, client } = yield* served(
        (tasks) =>
          Effect.gen(function*() {
            const asked = yield* tasks.elicit(question)
            return (yield* asked.cancel).status
          }),
        () => Effect.never
      )
      const task = yield* RemoteTasks.of(client).call("work")
      assert.deepStrictEqual((yield* task.result).content, text("cancelled").content)
      yield* settled
      assert.strictEqual(yield* answers.running, 0)
    }))
})
