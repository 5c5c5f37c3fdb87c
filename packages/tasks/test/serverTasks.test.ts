/** Calls of tools that become tasks, in revision 2025-11-25: the server's side. */
import { JsonRpc, McpError, type Tool } from "@effect-mcp/protocol"
import { MemoryTransport, RequestContext, ServerSession, SessionHost, Transport } from "@effect-mcp/session"
import type { ServerTasks } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { info, type ServerHandlers, settled, start, text, tools, upTo } from "../../session/test/support/sessions.ts"
import { taskClient, type TaskClientOptions } from "./support/taskClients.ts"
import { at, form, makeTasks, openedFor, serverWithTasks } from "./support/taskServers.ts"

const related = (taskId: string) => ({ "io.modelcontextprotocol/related-task": { taskId } })

const optional = (): ServerTasks.TaskSupport => "optional"

const tasksOf = (options: Partial<ServerTasks.Options> = {}) => makeTasks({ tools: optional, ...options })

/** Creates a server with one session, and its client. */
const served = Effect.fnUntraced(function*(
  handlers: ServerHandlers,
  { client, tasks, ...options }: Partial<ServerSession.Options> & { readonly client?: TaskClientOptions } = {}
) {
  const transport = yield* serverWithTasks(handlers, { ...options, tasks: tasks ?? (yield* tasksOf()) })
  return yield* taskClient(transport, client)
})

/** Opens a session of a host, for a principal. */
const opened = (host: SessionHost.SessionHostShape, id: string | undefined, options: TaskClientOptions = {}) =>
  Effect.flatMap(
    openedFor(host, id === undefined ? undefined : { id }),
    (transport) => taskClient(transport, options)
  )

/** A tool that asks the user for a name. */
const greet = Effect.map(
  RequestContext.elicit({ message: "Who are you?", requestedSchema: form }),
  ({ action, content }) => text(`${action} ${content?.["name"]}`)
).pipe(Effect.catch(({ message }) => Effect.succeed(text(message))))

const answerWith = (name: string) => (request: JsonRpc.Request) =>
  JsonRpc.success(request.id, { action: "accept", content: { name } })

describe("a server with tasks", () => {
  it.effect("[TSK-01] declares them, and one without tasks ignores that a call asks for one", () =>
    Effect.gen(function*() {
      const client = yield* served(tools({ x: Effect.succeed(text("x")) }))
      assert.deepStrictEqual(at(client.initialized, "capabilities", "tasks"), {
        list: {},
        cancel: {},
        requests: { tools: { call: {} } }
      })
      const pair = yield* MemoryTransport.make()
      yield* ServerSession.make(tools({ x: Effect.succeed(text("x")) }), {
        info,
        limits: { gracefulTimeout: 0 }
      }).pipe(Effect.provideService(Transport.Transport, pair.server))
      const other = yield* taskClient(pair.client)
      assert.isUndefined(at(other.initialized, "capabilities", "tasks"))
      const call = { name: "x", task: { ttl: 1_000 } }
      assert.deepStrictEqual(yield* other.result("tools/call", call), text("x"))
      assert.strictEqual(yield* other.code("tasks/list"), -32601)
    }))

  it.effect("[TSK-04] [TSK-05] rejects calls that do not fit the tool", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const tool = (name: string) => Effect.sync(() => (ran.push(name), text(name)))
      const client = yield* served(tools({ never: tool("never"), always: tool("always"), both: tool("both") }), {
        tasks: yield* tasksOf({ tools: { always: "required", both: "optional" } })
      })
      const code = (name: string, more: JsonRpc.Params = {}) => client.code("tools/call", { name, ...more })
      assert.deepStrictEqual(
        [
          yield* code("never", { task: {} }),
          yield* code("constructor", { task: {} }),
          yield* code("always"),
          yield* code("both", { task: { ttl: "long" } }),
          yield* code("both", { task: 1 })
        ],
        [-32601, -32601, -32601, -32602, -32602]
      )
      assert.deepStrictEqual(ran, [])
      assert.deepStrictEqual(yield* client.result("tools/call", { name: "both" }), text("both"))
      const { taskId } = yield* client.start("always")
      assert.deepStrictEqual(yield* client.result("tasks/result", { taskId }), {
        ...text("always"),
        _meta: related(taskId)
      })
    }))

  it.effect("[TSK-07] [TSK-08] [TSK-10] [TSK-11] [TSK-14] answers a call at once with a task that works", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("1 day")
      const client = yield* served(tools({ long: Effect.as(Effect.sleep("1 minute"), text("done")) }))
      const tasks = [yield* client.start("long", { ttl: 90_000 }), yield* client.start("long")]
      const time = "1970-01-02T00:00:00.000Z"
      assert.deepStrictEqual(
        tasks,
        [90_000, 3_600_000].map((ttl, index) => ({
          taskId: tasks[index]?.taskId ?? "",
          status: "working" as const,
          createdAt: time,
          lastUpdatedAt: time,
          ttl,
          pollInterval: 1_000
        }))
      )
      for (const { taskId } of tasks) assert.match(taskId, /^[\da-f-]{36}$/)
      assert.notStrictEqual(tasks[0]?.taskId, tasks[1]?.taskId)
      yield* TestClock.adjust("1 minute")
      const { lastUpdatedAt, status, ttl } = yield* client.get(tasks[0]?.taskId ?? "")
      assert.deepStrictEqual([status, lastUpdatedAt, ttl], ["completed", "1970-01-02T00:01:00.000Z", 90_000])
    }))

  it.effect("[TSK-15] [TSK-16] [TSK-29] returns the result of the plain call when the task has ended", () =>
    Effect.gen(function*() {
      const results: ReadonlyArray<readonly [string, Exit.Exit<Tool.CallToolResult, McpError.McpError>]> = [
        ["completed", Exit.succeed({ ...text("x"), _meta: { "acme/a": 1 } })],
        ["failed", Exit.succeed({ ...text("x"), isError: true })],
        ["failed", Exit.fail(McpError.invalidParams("no such report", { id: 7 }))],
        ["failed", Exit.die("a defect")]
      ]
      for (const [status, exit] of results) {
        const tool = Effect.andThen(Effect.sleep("1 second"), exit)
        const client = yield* served(tools({ x: tool }))
        const { taskId } = yield* client.start("x")
        const waiting = yield* start(client.request("tasks/result", { taskId }))
        const plain = yield* start(client.request("tools/call", { name: "x" }))
        yield* settled
        assert.isUndefined(waiting.pollUnsafe())
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* client.get(taskId)).status, status)
        const [one, other] = [yield* Fiber.join(waiting), yield* Fiber.join(plain)]
        if ("error" in other) assert.deepStrictEqual(at(one, "error"), other.error)
        else {
          assert.deepStrictEqual(at(one, "result"), {
            ...Object(at(other, "result")),
            _meta: { ...Object(at(other, "result", "_meta")), ...related(taskId) }
          })
        }
      }
    }))

  it.effect("[TSK-17] [TSK-20] asks its client while the client waits for the result", () =>
    Effect.gen(function*() {
      const client = yield* served(tools({ greet }), { client: { answer: answerWith("Ada") } })
      const { taskId } = yield* client.start("greet")
      yield* settled
      assert.strictEqual((yield* client.get(taskId)).status, "input_required")
      assert.deepStrictEqual(client.of("elicitation/create"), [])
      assert.deepStrictEqual(yield* client.result("tasks/result", { taskId }), {
        ...text("accept Ada"),
        _meta: related(taskId)
      })
      const [question] = client.of("elicitation/create")
      assert.deepStrictEqual(question?.params, {
        message: "Who are you?",
        requestedSchema: form,
        _meta: related(taskId)
      })
      assert.strictEqual((yield* client.get(taskId)).status, "completed")
    }))

  it.effect("passes errors and unfit answers of its client on to the handler, and asks only what is declared", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [TaskClientOptions, string]> = [
        [{ answer: ({ id }) => JsonRpc.failure(id, { code: -1, message: "no" }) }, "replied with error -1: no"],
        [{ answer: ({ id }) => JsonRpc.success(id, { action: "maybe" }) }, "the result is invalid"],
        [{ answer: ({ id }) => JsonRpc.success(id, { action: "accept", content: { name: 1 } }) }, "does not match"],
        [{ capabilities: { sampling: {} } }, "has not declared the capability \"elicitation"]
      ]
      for (const [options, expected] of cases) {
        const client = yield* served(tools({ greet }), { client: options })
        const { taskId } = yield* client.start("greet")
        const result = yield* client.result("tasks/result", { taskId })
        assert.include(JSON.stringify(result), JSON.stringify(expected).slice(1, -1))
      }
    }))

  it.effect("asks the newest client that waits, and the one before when that one is gone", () =>
    Effect.gen(function*() {
      const tasks = yield* tasksOf()
      const host = yield* SessionHost.make(tools({ greet }), { info, tasks, limits: { gracefulTimeout: 0 } })
      const first = yield* opened(host, "ada")
      const { taskId } = yield* first.start("greet")
      yield* start(first.send("tasks/result", { taskId }, "a"))
      yield* settled
      assert.strictEqual(first.of("elicitation/create").length, 1)
      // Another one cannot be asked, and a third one takes its turn, and does not answer.
      const unable = yield* opened(host, "ada", { capabilities: {} })
      const unableWaits = yield* start(unable.result("tasks/result", { taskId }))
      const scope = yield* Scope.make()
      const silent = yield* Scope.provide(opened(host, "ada"), scope)
      yield* start(silent.request("tasks/result", { taskId }))
      yield* settled
      assert.strictEqual(silent.of("elicitation/create").length, 1)
      assert.strictEqual(first.of("notifications/cancelled").length, 1)
      // When that session ends, the first client is asked again. It cancels its request.
      yield* Scope.close(scope, Exit.void)
      yield* settled
      assert.strictEqual(first.of("elicitation/create").length, 2)
      yield* first.raw.send(JsonRpc.notification("notifications/cancelled", { requestId: "a" }))
      yield* settled
      assert.strictEqual(first.of("notifications/cancelled").length, 2)
      const last = yield* opened(host, "ada", { answer: answerWith("Grace") })
      const expected = { ...text("accept Grace"), _meta: related(taskId) }
      assert.deepStrictEqual(
        [yield* last.result("tasks/result", { taskId }), yield* Fiber.join(unableWaits)],
        [expected, expected]
      )
      assert.deepStrictEqual([unable.received, last.of("elicitation/create").length], [[], 1])
    }))

  it.effect("lets 32 requests wait for one result, and rejects one more until one of them has ended", () =>
    Effect.gen(function*() {
      const client = yield* served(tools({ long: Effect.as(Effect.sleep("1 minute"), text("done")) }))
      const { taskId } = yield* client.start("long")
      const waiting = yield* Effect.forEach(upTo(32), () => start(client.result("tasks/result", { taskId })))
      yield* settled
      assert.strictEqual(yield* client.code("tasks/result", { taskId }), -32600)
      yield* TestClock.adjust("1 minute")
      yield* Effect.forEach(waiting, Fiber.join)
      assert.isUndefined(yield* client.code("tasks/result", { taskId }))
    }))

  it.effect("several questions at once, each with a key of its own, and one that is no longer waited for", () =>
    Effect.gen(function*() {
      const ask = (message: string, more: RequestContext.QuestionOptions = {}) =>
        Effect.map(RequestContext.elicit({ message, requestedSchema: form }, more), ({ content }) => content?.["name"])
      const tool = Effect.gen(function*() {
        const slow = yield* Effect.result(ask("slow?", { timeout: "1 second" }))
        const same = yield* Effect.all([ask("same?"), ask("same?"), ask("same?", { key: "k" })], {
          concurrency: "unbounded"
        })
        return text(`${slow._tag} ${same.join()} ${yield* ask("same?", { key: "k" })} ${yield* ask("same?")}`)
      }).pipe(Effect.catch(({ message }) => Effect.succeed(text(message))))
      let count = 0
      const client = yield* served(tools({ tool }), {
        client: {
          answer: ({ id, params }) =>
            params?.["message"] === "slow?"
              ? undefined
              : JsonRpc.success(id, { action: "accept", content: { name: `${++count}` } })
        }
      })
      const { taskId } = yield* client.start("tool")
      const waiting = yield* start(client.result("tasks/result", { taskId }))
      yield* settled
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(waiting), {
        ...text("Failure 1,2,3 3 4"),
        _meta: related(taskId)
      })
      // The question that was withdrawn is cancelled at the client, and no question was asked twice.
      assert.strictEqual(client.of("notifications/cancelled").length, 1)
      assert.strictEqual(client.of("elicitation/create").length, 5)
    }))

  it.effect("asks once by a key that two branches share, also if one of them stops waiting", () =>
    Effect.gen(function*() {
      const ask = (options: RequestContext.QuestionOptions) =>
        Effect.result(RequestContext.elicit({ message: "Who?", requestedSchema: form }, { key: "k", ...options }))
      const tool = Effect.map(
        Effect.all([ask({ timeout: "1 second" }), ask({})], { concurrency: "unbounded" }),
        (answers) => text(answers.map(({ _tag }) => _tag).join())
      )
      const requests: Array<JsonRpc.Request> = []
      const client = yield* served(tools({ tool }), {
        client: { answer: (request) => void requests.push(request) }
      })
      const { taskId } = yield* client.start("tool")
      const waiting = yield* start(client.result("tasks/result", { taskId }))
      yield* settled
      yield* TestClock.adjust("1 second")
      yield* settled
      assert.strictEqual(requests.length, 1)
      assert.strictEqual(client.of("notifications/cancelled").length, 0)
      for (const request of requests) yield* client.raw.send(answerWith("Ada")(request))
      assert.deepStrictEqual(yield* Fiber.join(waiting), { ...text("Failure,Success"), _meta: related(taskId) })
    }))

  it.effect("[TSK-09] [TSK-23] [TSK-24] interrupts a task that is cancelled, and cancels no ended one", () =>
    Effect.gen(function*() {
      const interrupted = yield* Deferred.make<void>()
      const client = yield* served(tools({
        long: Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined)),
        quick: Effect.succeed(text("quick"))
      }))
      const { taskId } = yield* client.start("long")
      const waiting = yield* start(client.request("tasks/result", { taskId }))
      const cancelled = yield* client.result("tasks/cancel", { taskId })
      assert.strictEqual(at(cancelled, "status"), "cancelled")
      assert.include(JSON.stringify(yield* Fiber.join(waiting)), "was cancelled")
      yield* Deferred.await(interrupted)
      yield* settled
      assert.strictEqual((yield* client.get(taskId)).status, "cancelled")
      assert.strictEqual(yield* client.code("tasks/cancel", { taskId }), -32602)
      const quick = yield* client.start("quick")
      yield* settled
      assert.strictEqual(yield* client.code("tasks/cancel", { taskId: quick.taskId }), -32602)
    }))

  it.effect("[TSK-24] keeps a task cancelled whose handler completes afterwards", () =>
    Effect.gen(function*() {
      const completed = yield* Deferred.make<void>()
      const client = yield* served(tools({
        // It ends in its own time, as one that writes a file does.
        long: Effect.uninterruptible(
          Effect.sleep("1 minute").pipe(Effect.andThen(Deferred.succeed(completed, undefined)), Effect.as(text("done")))
        )
      }))
      const { taskId } = yield* client.start("long")
      const cancelled = yield* client.result("tasks/cancel", { taskId })
      yield* TestClock.adjust("1 minute")
      yield* Deferred.await(completed)
      yield* settled
      assert.deepStrictEqual<unknown>(yield* client.get(taskId), cancelled)
      assert.include(JSON.stringify(yield* client.request("tasks/result", { taskId })), "was cancelled")
    }))

  it.effect("[CAN-03] goes on after a cancellation of the call, and of the request for its result", () =>
    Effect.gen(function*() {
      const client = yield* served(tools({ long: Effect.as(Effect.sleep("1 minute"), text("done")) }))
      const call = yield* client.send("tools/call", { name: "long", task: {} }, "call")
      const taskId = String(at(call, "result", "task", "taskId"))
      yield* start(client.send("tasks/result", { taskId }, "result"))
      for (const requestId of ["call", "result"]) {
        yield* client.raw.send(JsonRpc.notification("notifications/cancelled", { requestId }))
      }
      yield* settled
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* client.result("tasks/result", { taskId }), {
        ...text("done"),
        _meta: related(taskId)
      })
    }))

  it.effect("[PRG-08] [TSK-17] sends progress and log messages to a client that waits for the result", () =>
    Effect.gen(function*() {
      const tool = Effect.gen(function*() {
        // A handler may take the members out of the context.
        const { log, progress } = yield* RequestContext.RequestContext
        yield* progress({ progress: 1, total: 2, message: "collecting" })
        yield* log({ level: "info", data: "collected" })
        yield* Effect.sleep("1 minute")
        yield* RequestContext.progress({ progress: 2, total: 2 })
        return text("done")
      })
      const client = yield* served(tools({ tool }))
      const { taskId } = yield* client.start("tool", { meta: { progressToken: "p" } })
      yield* settled
      assert.deepStrictEqual(client.received, [])
      assert.strictEqual((yield* client.get(taskId)).statusMessage, "collecting")
      const waiting = yield* start(client.request("tasks/result", { taskId, _meta: { progressToken: "q" } }))
      yield* settled
      const _meta = related(taskId)
      const first = [
        JsonRpc.notification("notifications/progress", {
          progress: 1,
          total: 2,
          message: "collecting",
          progressToken: "p",
          _meta
        }),
        JsonRpc.notification("notifications/message", { level: "info", data: "collected", _meta })
      ]
      assert.deepStrictEqual(client.received, first)
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(client.of("notifications/progress")[1]?.params, {
        progress: 2,
        total: 2,
        progressToken: "p",
        _meta
      })
    }))

  it.effect("keeps the last 64 messages for a client that asks late, and one status message a second", () =>
    Effect.gen(function*() {
      const tool = Effect.gen(function*() {
        for (let step = 1; step <= 1_000; step++) {
          yield* RequestContext.progress({ progress: step, message: `step ${step}` })
        }
        yield* Effect.sleep("1 minute")
        return text("done")
      })
      const client = yield* served(tools({ tool }))
      const { taskId } = yield* client.start("tool", { meta: { progressToken: 1 } })
      yield* settled
      assert.strictEqual((yield* client.get(taskId)).statusMessage, "step 1")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* client.get(taskId)).statusMessage, "step 1000")
      yield* start(client.request("tasks/result", { taskId }))
      yield* settled
      yield* settled
      yield* settled
      const steps = client.of("notifications/progress").map(({ params }) => params?.["progress"])
      assert.deepStrictEqual(steps, Array.from({ length: 64 }, (_, index) => 937 + index))
    }))

  it.effect("[TSK-19] notifies the session of each status, without related metadata", () =>
    Effect.gen(function*() {
      const client = yield* served(tools({ greet }), { client: { answer: answerWith("Ada") } })
      const { taskId } = yield* client.start("greet")
      yield* settled
      yield* client.request("tasks/result", { taskId })
      yield* settled
      const told = client.of("notifications/tasks/status")
      const statuses = told.map(({ params }) => params?.["status"])
      assert.deepStrictEqual([statuses[0], statuses.at(-1)], ["input_required", "completed"])
      for (const { params } of told) {
        assert.strictEqual(params?.["taskId"], taskId)
        assert.notProperty(params, "_meta")
      }
      for (const method of ["tasks/get", "tasks/list"]) {
        assert.notInclude(JSON.stringify(yield* client.result(method, { taskId })), "related-task")
      }
    }))

  it.effect("[TSK-18] [TSK-22] [TSK-25] lists its tasks page by page, and rejects unknown ids and cursors", () =>
    Effect.gen(function*() {
      const client = yield* served(tools({ x: Effect.succeed(text("x")) }))
      const ids: Array<string> = []
      for (let index = 0; index < 60; index++) {
        ids.push((yield* client.start("x")).taskId)
        yield* TestClock.adjust(1)
      }
      const listed: Array<unknown> = []
      let page = yield* client.result("tasks/list")
      const length = Array.isArray(at(page, "tasks")) ? Number(at(page, "tasks", "length")) : 0
      assert.strictEqual(length, 50)
      while (true) {
        const tasks = at(page, "tasks")
        if (Array.isArray(tasks)) listed.push(...tasks.map((task) => at(task, "taskId")))
        const cursor = at(page, "nextCursor")
        if (typeof cursor !== "string") break
        page = yield* client.result("tasks/list", { cursor })
      }
      assert.deepStrictEqual(listed, ids)
      assert.strictEqual(yield* client.code("tasks/list", { cursor: "page 2" }), -32602)
      for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
        assert.strictEqual(yield* client.code(method, { taskId: "unknown" }), -32602)
        // The metadata of a request names no task.
        const _meta = related(ids[0] ?? "")
        assert.strictEqual(yield* client.code(method, { taskId: "unknown", _meta }), -32602)
      }
    }))

  it.effect("[TSK-12] [TSK-28] forgets a task after its lifetime, and limits the tasks of a principal", () =>
    Effect.gen(function*() {
      const client = yield* served(tools({ x: Effect.never }), {
        tasks: yield* tasksOf({ maxTasks: 2, maxTtl: "1 minute" })
      })
      const tasks = [yield* client.start("x", { ttl: 1_000 }), yield* client.start("x", { ttl: 86_400_000 })]
      assert.deepStrictEqual(tasks.map(({ ttl }) => ttl), [1_000, 60_000])
      const full = yield* client.request("tools/call", { name: "x", task: {} })
      assert.include(JSON.stringify(full), "There are 2 tasks already")
      const byDefault = yield* served(tools({ x: Effect.never }))
      const wishes = [yield* byDefault.start("x"), yield* byDefault.start("x", { ttl: 1e12 })]
      assert.deepStrictEqual(wishes.map(({ ttl }) => ttl), [3_600_000, 86_400_000])
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* client.code("tasks/get", { taskId: tasks[0]?.taskId ?? "" }), -32602)
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(at(yield* client.result("tasks/list"), "tasks"), [])
      yield* client.start("x")
    }))

  it.effect("runs the middleware of the call in the task, and returns its result in the form of the revision", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const client = yield* served(tools({ x: Effect.succeed(text("x")) }), {
        middleware: {
          inbound: (request, next) => {
            seen.push(request.method === "tools/call" ? request.params : request.method)
            return Effect.map(
              next(request),
              (result) => request.method === "tools/call" ? { ...Object(result), "acme/seen": true } : result
            )
          }
        }
      })
      const { taskId } = yield* client.start("x")
      const result = yield* client.result("tasks/result", { taskId })
      assert.deepStrictEqual(result, { ...text("x"), "acme/seen": true, _meta: related(taskId) })
      assert.deepStrictEqual(seen, [{ name: "x", arguments: {} }, "tasks/result"])
    }))

  it.effect("a handler with a scope and services of its own has them until the task has ended", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const record = (words: string) => Effect.sync(() => void seen.push(words))
      const tool = Effect.gen(function*() {
        yield* Effect.acquireRelease(record("acquired"), () => record("released"))
        yield* Effect.sleep("1 second")
        yield* record("used")
        return text("done")
      })
      const client = yield* served({
        "tools/call": () => tool
      })
      const { taskId } = yield* client.start("x")
      yield* settled
      assert.deepStrictEqual(seen, ["acquired"])
      yield* TestClock.adjust("1 second")
      yield* client.request("tasks/result", { taskId })
      assert.deepStrictEqual(seen, ["acquired", "used", "released"])
    }))
})

describe("the tasks of a principal", () => {
  it.effect("[TSK-26] outlive the session, are found in the next one, and are hidden from all others", () =>
    Effect.gen(function*() {
      const tasks = yield* tasksOf()
      const host = yield* SessionHost.make(tools({ long: Effect.as(Effect.sleep("1 minute"), text("done")) }), {
        info,
        tasks,
        limits: { gracefulTimeout: 0 }
      })
      const scope = yield* Scope.make()
      const { taskId } = yield* Scope.provide(
        Effect.flatMap(opened(host, "ada"), (client) => client.start("long")),
        scope
      )
      yield* Scope.close(scope, Exit.void)
      yield* settled
      assert.strictEqual(yield* tasks.running, 1)
      for (const other of [yield* opened(host, "grace"), yield* opened(host, undefined)]) {
        for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
          const [foreign, unknown] = [
            yield* other.request(method, { taskId }),
            yield* other.request(method, { taskId: "unknown" })
          ]
          assert.deepStrictEqual(at(foreign, "error"), at(unknown, "error"))
        }
      }
      const grace = yield* opened(host, "grace")
      assert.deepStrictEqual(at(yield* grace.result("tasks/list"), "tasks"), [])
      const again = yield* opened(host, "ada")
      assert.deepStrictEqual(at(yield* again.result("tasks/list"), "tasks"), [yield* again.get(taskId)])
      const waiting = yield* start(again.result("tasks/result", { taskId }))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* Fiber.join(waiting), { ...text("done"), _meta: related(taskId) })
      assert.strictEqual(yield* tasks.running, 0)
    }))

  it.effect("[TSK-27] clients of a host without a principal have no list, and find their tasks by the ids", () =>
    Effect.gen(function*() {
      const host = yield* SessionHost.make(tools({ x: Effect.succeed(text("x")) }), { info, tasks: yield* tasksOf() })
      const client = yield* opened(host, undefined)
      assert.deepStrictEqual(at(client.initialized, "capabilities", "tasks"), {
        cancel: {},
        requests: { tools: { call: {} } }
      })
      const { taskId } = yield* client.start("x")
      // A random UUID: version 4, with 122 random bits.
      assert.match(taskId, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
      yield* settled
      assert.strictEqual(yield* client.code("tasks/list"), -32601)
      assert.strictEqual((yield* client.get(taskId)).status, "completed")
      const ada = yield* opened(host, "ada")
      assert.property(at(ada.initialized, "capabilities", "tasks"), "list")
    }))
})
