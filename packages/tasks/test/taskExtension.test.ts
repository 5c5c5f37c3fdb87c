/** Calls of tools that become tasks, in revision 2026-07-28: the server's side of the extension. */
import { JsonRpc, McpError, RequestMetadata, Revision, TaskExtension, type Tool } from "@effect-mcp/protocol"
import {
  type Principal,
  RequestContext,
  type ServerSession,
  type SessionEvent,
  SessionHost,
  StatelessServer
} from "@effect-mcp/session"
import { ServerTasks, TaskStore } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { info, type ServerHandlers, settled, start, text, tools } from "../../session/test/support/sessions.ts"
import { extensionClient, taskClient, type TaskClientOptions } from "./support/taskClients.ts"
import { at, form, makeTasks, openedFor, serverWithTasks } from "./support/taskServers.ts"

const required = (): ServerTasks.TaskSupport => "required"

const tasksOf = (options: Partial<ServerTasks.Options> = {}) => makeTasks({ tools: required, ...options })

/** Creates a server, and its client. */
const served = Effect.fnUntraced(function*(
  handlers: ServerHandlers,
  { client, tasks, ...options }: Partial<ServerSession.Options> & { readonly client?: TaskClientOptions } = {}
) {
  const transport = yield* serverWithTasks(handlers, { ...options, tasks: tasks ?? (yield* tasksOf()) })
  return yield* extensionClient(transport, client)
})

/** Asks the user for a name. */
const ask = (message: string) =>
  Effect.map(
    Effect.orDie(RequestContext.elicit({ message, requestedSchema: form })),
    ({ content }) => String(content?.["name"])
  )

const accept = (name: string) => ({ action: "accept", content: { name } })

/** Returns the keys of the open questions of a task by their messages. */
const keysIn = (task: TaskExtension.DetailedTask): { readonly [message: string]: string } =>
  "inputRequests" in task
    ? Object.fromEntries(
      Object.entries(task.inputRequests).map(([key, { params }]) => [Object(params).message, key])
    )
    : {}

describe("a server with the tasks extension", () => {
  it.effect("[TKX-06] [TKX-07] answers a call with a task that its client can get", () =>
    Effect.gen(function*() {
      const client = yield* served(tools({ long: Effect.as(Effect.sleep("1 minute"), text("done")) }))
      const discovered = yield* client.result("server/discover")
      assert.deepStrictEqual(at(discovered, "capabilities", "extensions"), { [TaskExtension.name]: {} })
      assert.isUndefined(at(discovered, "capabilities", "tasks"))
      const { _meta: _, ...created } = yield* client.start("long")
      const time = "1970-01-01T00:00:00.000Z"
      assert.deepStrictEqual(created, {
        taskId: created.taskId,
        status: "working",
        createdAt: time,
        lastUpdatedAt: time,
        ttlMs: 3_600_000,
        pollIntervalMs: 1_000
      })
      const { _meta: __, ...got } = yield* client.get(created.taskId)
      assert.deepStrictEqual(got, { ...created, status: "working" })
    }))

  it.effect("[TKX-08] [TKX-12] [TKX-16] [MSG-22] [MSG-23] returns the outcome with the task, for its lifetime", () =>
    Effect.gen(function*() {
      const exits: ReadonlyArray<readonly [Exit.Exit<Tool.CallToolResult, McpError.McpError>, object]> = [
        [Exit.succeed(text("x")), { status: "completed", result: text("x") }],
        [Exit.succeed({ ...text("x"), isError: true }), {
          status: "completed",
          result: { ...text("x"), isError: true }
        }],
        [Exit.fail(McpError.invalidParams("no", { id: 7 })), {
          status: "failed",
          error: { code: -32602, message: "no", data: { id: 7 } }
        }],
        [Exit.fail(new McpError.McpError({ code: -32042, message: "visit" })), {
          status: "failed",
          error: { code: -32603, message: "visit" }
        }],
        [Exit.fail(new McpError.McpError({ code: -32002, message: "none" })), {
          status: "failed",
          error: { code: -32602, message: "none" }
        }],
        [Exit.die("a secret"), { status: "failed", error: { code: -32603, message: "Internal error" } }]
      ]
      for (const [exit, expected] of exits) {
        const client = yield* served(tools({ x: exit }))
        const { taskId } = yield* client.start("x")
        yield* settled
        assert.deepInclude(yield* client.get(taskId), expected)
        yield* TestClock.adjust("59 minutes")
        assert.deepInclude(yield* client.get(taskId), expected)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* client.code("tasks/get", { taskId }), -32602)
      }
    }))

  it.effect("[TKX-01] [TKX-02] [MSG-21] [VER-18] makes no task for a client that has not declared the extension", () =>
    Effect.gen(function*() {
      const client = yield* served(tools({ must: Effect.succeed(text("x")), may: Effect.succeed(text("y")) }), {
        client: { capabilities: { elicitation: {} } },
        tasks: yield* tasksOf({ tools: { must: "required", may: { support: "optional", begins: "atOnce" } } })
      })
      const rejected = yield* client.request("tools/call", { name: "must" })
      assert.deepStrictEqual([at(rejected, "error", "code"), at(rejected, "error", "data")], [-32021, {
        requiredCapabilities: { extensions: { [TaskExtension.name]: {} } }
      }])
      const result = yield* client.result("tools/call", { name: "may", task: { ttl: 1 } })
      assert.deepStrictEqual([at(result, "resultType"), at(result, "content")], ["complete", text("y").content])
      for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
        assert.strictEqual(yield* client.code(method, { taskId: "x", inputResponses: {} }), -32021)
      }
    }))

  it.effect("[TKX-08] [TKX-09] [TKX-10] [TKX-11] takes answers one by one, and ignores keys that are not open", () =>
    Effect.gen(function*() {
      const tool = Effect.gen(function*() {
        const [one, two] = yield* Effect.all([ask("one?"), ask("two?")], { concurrency: "unbounded" })
        return text(`${one} ${two} ${yield* ask("one?")}`)
      })
      const store = yield* TaskStore.makeMemory()
      const tasks = yield* Effect.provideService(ServerTasks.make({ tools: required }), TaskStore.TaskStore, store)
      const client = yield* served(tools({ tool }), { tasks })
      const { taskId } = yield* client.start("tool")
      yield* settled
      const first = yield* client.get(taskId)
      assert.strictEqual(first.status, "input_required")
      const keys = keysIn(first)
      assert.hasAllKeys(keys, ["one?", "two?"])
      const update = (inputResponses: { readonly [key: string]: object }) =>
        Effect.tap(client.result("tasks/update", { taskId, inputResponses }), settled)
      const acknowledged = yield* update({ [keys["one?"] ?? ""]: accept("Ada"), constructor: accept("x") })
      const { _meta: _, ...members } = Object(acknowledged)
      assert.deepStrictEqual(members, { resultType: "complete" })
      assert.deepStrictEqual(keysIn(yield* client.get(taskId)), { "two?": keys["two?"] ?? "" })
      yield* update({ [keys["one?"] ?? ""]: accept("Eve"), [keys["two?"] ?? ""]: accept("Grace") })
      // The handler has taken the first answer, and another run would take the stored one.
      const { questions = [] } = (yield* store.load(taskId)) ?? {}
      assert.deepStrictEqual(questions.find(({ key }) => key === keys["one?"])?.answer, accept("Ada"))
      const last = keysIn(yield* client.get(taskId))
      assert.hasAllKeys(last, ["one?"])
      assert.notStrictEqual(last["one?"], keys["one?"])
      yield* update({ [last["one?"] ?? ""]: accept("Joan") })
      assert.deepInclude(yield* client.get(taskId), { status: "completed", result: { ...text("Ada Grace Joan") } })
      // Also for a task that has ended.
      const { version } = (yield* store.load(taskId)) ?? {}
      yield* update({ [last["one?"] ?? ""]: accept("x") })
      assert.strictEqual((yield* store.load(taskId))?.version, version)
    }))

  it.effect("[TKX-09] never uses the key of a question again that its handler has withdrawn", () =>
    Effect.gen(function*() {
      const elicit = (timeout: "1 second" | "1 hour") =>
        RequestContext.elicit({ message: "who?", requestedSchema: form }, { timeout, key: "who" })
      const client = yield* served(tools({
        tool: Effect.as(Effect.orDie(Effect.andThen(Effect.ignore(elicit("1 second")), elicit("1 hour"))), text("done"))
      }))
      const { taskId } = yield* client.start("tool")
      yield* settled
      const { "who?": first } = keysIn(yield* client.get(taskId))
      yield* TestClock.adjust("1 second")
      const { "who?": second } = keysIn(yield* client.get(taskId))
      assert.isDefined(first)
      assert.isDefined(second)
      assert.notStrictEqual(first, second)
    }))

  it.effect("[TKX-10] [TKX-14] acknowledges each cancellation, and rejects what it does not know", () =>
    Effect.gen(function*() {
      const interrupted = yield* Deferred.make<void>()
      const client = yield* served(tools({
        long: Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
      }))
      const { taskId } = yield* client.start("long")
      for (let count = 0; count < 2; count++) {
        const { _meta: _, ...members } = Object(yield* client.result("tasks/cancel", { taskId }))
        assert.deepStrictEqual(members, { resultType: "complete" })
      }
      yield* Deferred.await(interrupted)
      assert.strictEqual((yield* client.get(taskId)).status, "cancelled")
      for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
        assert.strictEqual(yield* client.code(method, { taskId: "unknown", inputResponses: {} }), -32602)
      }
      for (const method of ["tasks/result", "tasks/list"]) {
        assert.strictEqual(yield* client.code(method, { taskId }), -32601)
      }
    }))

  it.effect("rejects a principal that reads its tasks too often, and no other one, and none of its changes", () =>
    Effect.gen(function*() {
      const tasks = yield* tasksOf({ maxRequestsPerSecond: 30 })
      const host = yield* SessionHost.make(tools({ long: Effect.never }), { info, tasks })
      const open = (id: string) => Effect.flatMap(openedFor(host, { id }), (transport) => extensionClient(transport))
      const [one, same, other] = yield* Effect.all([open("ada"), open("ada"), open("ben")])
      const { taskId } = yield* one.start("long")
      // As often as the poll interval permits for 30 tasks.
      for (let second = 0; second < 3; second++) {
        for (let count = 0; count < 30; count++) yield* one.get(taskId)
        yield* TestClock.adjust("1 second")
      }
      for (let count = 0; count < 10; count++) {
        yield* one.get(taskId)
        yield* same.get(taskId)
        yield* one.get(taskId)
      }
      const message = "Overloaded: a client may send 30 requests about its tasks each second; wait for the poll " +
        "interval of a task before the next request for its state"
      const rejected = yield* same.request("tasks/get", { taskId })
      assert.deepStrictEqual(at(rejected, "error"), { code: -31010, message })
      const listening = yield* same.request("subscriptions/listen", { notifications: { taskIds: [taskId] } })
      assert.deepStrictEqual(at(listening, "error"), { code: -31010, message })
      // Without a look at the task, which belongs to another principal.
      assert.strictEqual(yield* other.code("tasks/get", { taskId }), -32602)
      for (let count = 0; count < 30; count++) {
        yield* same.result("tasks/update", { taskId, inputResponses: {} })
      }
      for (const method of ["tasks/update", "tasks/cancel"]) {
        assert.strictEqual(yield* same.code(method, { taskId, inputResponses: {} }), -31010)
      }
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* same.get(taskId)).status, "working")
      yield* same.result("tasks/cancel", { taskId })
    }))

  it.effect("rejects an anonymous client that reads tasks too often, and no other session", () =>
    Effect.gen(function*() {
      const tasks = yield* tasksOf({ maxRequestsPerSecond: 5 })
      const host = yield* SessionHost.make(tools({ long: Effect.never }), { info, tasks })
      const open = Effect.flatMap(openedFor(host, undefined), (transport) => extensionClient(transport))
      const [one, other] = yield* Effect.all([open, open])
      const openLegacy = Effect.flatMap(openedFor(host, undefined), (transport) => taskClient(transport))
      const [legacy, otherLegacy] = yield* Effect.all([openLegacy, openLegacy])
      const { taskId } = yield* other.start("long")
      for (const excessive of [one, legacy]) {
        for (const method of ["tasks/get", "tasks/cancel"]) {
          for (let count = 0; count < 5; count++) yield* excessive.code(method, { taskId: "unknown" })
          assert.strictEqual(yield* excessive.code(method, { taskId }), -31010)
        }
      }
      assert.strictEqual((yield* other.get(taskId)).status, "working")
      assert.isUndefined(yield* otherLegacy.code("tasks/get", { taskId }))
      assert.isUndefined(yield* otherLegacy.code("tasks/cancel", { taskId }))
    }))

  it.effect("rejects an anonymous client without a session that reads tasks too often, and no other address", () =>
    Effect.gen(function*() {
      const tasks = yield* tasksOf({ maxRequestsPerSecond: 5 })
      const server = yield* StatelessServer.make(tools({ long: Effect.never }), { info, tasks })
      const { clientCapabilities, clientInfo, protocolVersion } = RequestMetadata.keys
      const get = JsonRpc.request(1, "tasks/get", {
        taskId: "unknown",
        _meta: {
          [protocolVersion]: Revision.latest,
          [clientInfo]: info,
          [clientCapabilities]: { extensions: { [TaskExtension.name]: {} } }
        }
      })
      const codeFor = (client: string | undefined) =>
        Effect.map(server.handle(get, { revision: Revision.latest, client }), (reply) => at(reply, "error", "code"))
      for (const client of ["192.0.2.1", undefined]) {
        for (let count = 0; count < 5; count++) assert.strictEqual(yield* codeFor(client), -32602)
        assert.strictEqual(yield* codeFor(client), -31010)
      }
      assert.strictEqual(yield* codeFor("192.0.2.2"), -32602)
    }))

  it.effect("[TKX-18] hides a task from all other principals, and has ids that cannot be guessed", () =>
    Effect.gen(function*() {
      const host = yield* SessionHost.make(tools({ long: Effect.never }), {
        info,
        tasks: yield* tasksOf(),
        limits: { gracefulTimeout: 0 }
      })
      const opened = (principal: Principal.Principal | undefined) =>
        Effect.flatMap(openedFor(host, principal), (transport) => extensionClient(transport))
      const ada = yield* opened({ id: "ada" })
      const { taskId } = yield* ada.start("long")
      const ids = [taskId, (yield* ada.start("long")).taskId]
      // Random UUIDs: version 4, with 122 random bits.
      for (const id of ids) assert.match(id, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
      assert.notStrictEqual(ids[0], ids[1])
      for (const other of [yield* opened({ id: "grace" }), yield* opened(undefined)]) {
        for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
          const [foreign, unknown] = [
            yield* other.request(method, { taskId, inputResponses: {} }),
            yield* other.request(method, { taskId: "unknown", inputResponses: {} })
          ]
          assert.isDefined(at(foreign, "error"))
          assert.deepStrictEqual(at(foreign, "error"), at(unknown, "error"))
        }
      }
      assert.strictEqual((yield* (yield* opened({ id: "ada" })).get(taskId)).status, "working")
    }))

  it.effect("has the exception of its function of plans as a defect of that call, in both revisions", () =>
    Effect.gen(function*() {
      for (const connect of [taskClient, extensionClient]) {
        const events: Array<SessionEvent.SessionEvent> = []
        const handled: Array<string> = []
        const transport = yield* serverWithTasks(
          { "tools/call": ({ name }) => Effect.as(Effect.sync(() => handled.push(name)), text(name)) },
          {
            tasks: yield* tasksOf({
              tools: (name) => {
                if (name === "throws") throw new Error("no such tool")
                return { support: "optional", begins: name === "negative" ? -1 : "explicitly" }
              }
            }),
            observe: (event) => events.push(event)
          }
        )
        const client = yield* connect(transport)
        for (const name of ["throws", "negative"]) {
          assert.strictEqual(yield* client.code("tools/call", { name }), -32603)
          assert.isTrue(events.some(({ _tag }) => _tag === "HandlerFailed"))
          events.length = 0
        }
        assert.deepStrictEqual(at(yield* client.result("tools/call", { name: "x" }), "content"), text("x").content)
        assert.deepStrictEqual(handled, ["x"])
      }
    }))

  it.effect("shows progress as the status message, and drops log messages with an event", () =>
    Effect.gen(function*() {
      const events: Array<SessionEvent.SessionEvent> = []
      const client = yield* served(
        tools({
          tool: Effect.gen(function*() {
            yield* RequestContext.progress({ progress: 1, message: "collecting" })
            yield* RequestContext.log({ level: "error", data: "x" })
            return yield* Effect.never
          })
        }),
        { observe: (event) => void events.push(event) }
      )
      const { taskId } = yield* client.start("tool")
      yield* settled
      assert.strictEqual((yield* client.get(taskId)).statusMessage, "collecting")
      assert.deepStrictEqual(client.received, [])
      assert.deepInclude(events, {
        _tag: "NotificationIgnored",
        method: "notifications/message",
        problem: "its request has ended"
      })
    }))
})

describe("a stream of notifications of tasks", () => {
  it.effect("[TKX-17] has the states of the client's tasks, and neither progress nor log messages", () =>
    Effect.gen(function*() {
      const tool = Effect.gen(function*() {
        yield* RequestContext.progress({ progress: 1, message: "collecting" })
        yield* RequestContext.log({ level: "error", data: "x" })
        return text(yield* ask("who?"))
      })
      const client = yield* served(tools({ tool }))
      const { taskId } = yield* client.start("tool")
      yield* start(
        client.send("subscriptions/listen", { notifications: { taskIds: [taskId, "unknown", taskId] } }, "stream")
      )
      yield* settled
      const [acknowledged] = client.received
      assert.strictEqual(acknowledged?.method, "notifications/subscriptions/acknowledged")
      assert.deepStrictEqual(acknowledged?.params?.["notifications"], { taskIds: [taskId] })
      const keys = keysIn(yield* client.get(taskId))
      yield* client.result("tasks/update", { taskId, inputResponses: { [keys["who?"] ?? ""]: accept("Ada") } })
      yield* settled
      const states = client.received.slice(1)
      assert.deepStrictEqual([...new Set(states.map(({ method }) => method))], ["notifications/tasks"])
      assert.deepStrictEqual(states[0]?.params?.["_meta"], { "io.modelcontextprotocol/subscriptionId": "stream" })
      assert.deepStrictEqual(at(states[0]?.params, "status"), "input_required")
      // What the client gets from the stream is what it gets when it asks.
      const { _meta: _, ...last } = Object(states.at(-1)?.params)
      const { _meta: __, ...got } = yield* client.get(taskId)
      assert.deepStrictEqual([last, got.status], [got, "completed"])
    }))

  it.effect("has each state once, however often the lease of its task is renewed", () =>
    Effect.gen(function*() {
      const client = yield* served(tools({ long: Effect.never }))
      const { taskId } = yield* client.start("long")
      yield* start(client.send("subscriptions/listen", { notifications: { taskIds: [taskId] } }, "stream"))
      yield* settled
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(client.of("notifications/tasks").length, 1)
    }))

  it.effect("has no task that has ended, whose outcome tasks/get returns, and counts as all tasks that it names", () =>
    Effect.gen(function*() {
      const tool = Effect.succeed(text("x".repeat(1_000)))
      const tasks = yield* tasksOf({ maxRequestsPerSecond: 30 })
      const client = yield* served(tools({ tool, long: Effect.never }), { tasks })
      const ended = yield* Effect.forEach(Array.from({ length: 19 }), () => client.start("tool"))
      const { taskId } = yield* client.start("long")
      yield* settled
      const taskIds = [...ended.map((task) => task.taskId), taskId]
      yield* start(client.send("subscriptions/listen", { notifications: { taskIds } }, "stream"))
      yield* settled
      const [acknowledged, ...states] = client.received
      assert.deepStrictEqual(acknowledged?.params?.["notifications"], { taskIds: [taskId] })
      assert.deepStrictEqual(states.map(({ params }) => [params?.["taskId"], params?.["status"]]), [[
        taskId,
        "working"
      ]])
      assert.strictEqual(yield* client.code("subscriptions/listen", { notifications: { taskIds } }), -31010)
      for (let count = 0; count < 10; count++) yield* client.get(taskId)
      assert.strictEqual(yield* client.code("tasks/get", { taskId }), -31010)
    }))

  it.effect("is opened for more tasks than there may be requests each second", () =>
    Effect.gen(function*() {
      const client = yield* served(tools({ long: Effect.never }), {
        tasks: yield* tasksOf({ maxRequestsPerSecond: 2 })
      })
      const tasks = yield* Effect.forEach(Array.from({ length: 5 }), () => client.start("long"))
      const taskIds = tasks.map((task) => task.taskId)
      yield* start(client.send("subscriptions/listen", { notifications: { taskIds } }, "stream"))
      yield* settled
      assert.deepStrictEqual(client.received[0]?.params?.["notifications"], { taskIds })
    }))

  it.effect("[TKX-04] is rejected for a client that has not declared the extension", () =>
    Effect.gen(function*() {
      const client = yield* served(tools({}), { client: { capabilities: {} } })
      const rejected = yield* start(client.code("subscriptions/listen", { notifications: { taskIds: ["x"] } }))
      yield* settled
      assert.deepStrictEqual(rejected.pollUnsafe(), Exit.succeed(-32021))
    }))

  it.effect("is served beside the other notifications of a program", () =>
    Effect.gen(function*() {
      const client = yield* served({
        ...tools({ tool: Effect.never }),
        "subscriptions/listen": () => Effect.succeed({ notifications: { toolsListChanged: true } })
      })
      const { taskId } = yield* client.start("tool")
      const notifications = { taskIds: [taskId], toolsListChanged: true, promptsListChanged: true }
      yield* start(client.send("subscriptions/listen", { notifications }, "stream"))
      yield* settled
      assert.deepStrictEqual(client.received[0]?.params?.["notifications"], {
        toolsListChanged: true,
        taskIds: [taskId]
      })
    }))
})

describe("a call becomes a task", () => {
  const plans = (begins: NonNullable<ServerTasks.ToolTasks["begins"]>, support: ServerTasks.TaskSupport = "required") =>
    tasksOf({ tools: () => ({ support, begins }) })

  it.effect("where its handler says so: before it asks by its result, and afterwards by the task", () =>
    Effect.gen(function*() {
      let ran = 0
      const step = Effect.sync(() => ++ran)
      const tool = Effect.gen(function*() {
        const count = yield* RequestContext.once("count", { success: Schema.Finite }, step)
        const { once, request } = yield* RequestContext.RequestContext
        const first = yield* ask("first?")
        const isTask = yield* RequestContext.becomeTask
        assert.isTrue(yield* RequestContext.becomeTask)
        // Members that the handler has kept are those of the task as well.
        const { content } = yield* request("elicitation/create", { message: "second?", requestedSchema: form })
        const again = yield* once("count", { success: Schema.Finite }, step)
        return text(`${isTask} ${count} ${first} ${content?.["name"]} ${again}`)
      }).pipe(Effect.orDie)
      const client = yield* served(tools({ tool }), { tasks: yield* plans("explicitly") })
      const required = yield* client.result("tools/call", { name: "tool" })
      assert.strictEqual(at(required, "resultType"), "input_required")
      const [key = ""] = Object.keys(Object(at(required, "inputRequests")))
      const created = yield* client.result("tools/call", {
        name: "tool",
        inputResponses: { [key]: accept("Ada") },
        requestState: at(required, "requestState")
      })
      assert.strictEqual(at(created, "resultType"), "task")
      const taskId = String(at(created, "taskId"))
      yield* settled
      const keys = keysIn(yield* client.get(taskId))
      yield* client.result("tasks/update", { taskId, inputResponses: { [keys["second?"] ?? ""]: accept("Grace") } })
      yield* settled
      assert.deepInclude(yield* client.get(taskId), { status: "completed", result: { ...text("true 1 Ada Grace 1") } })
      assert.strictEqual(ran, 1)
    }))

  it.effect("after a time, and a quicker one stays a call", () =>
    Effect.gen(function*() {
      const released: Array<string> = []
      const slow = Effect.gen(function*() {
        yield* Effect.acquireRelease(Effect.void, () => Effect.sync(() => released.push("slow")))
        yield* Effect.sleep("1 minute")
        return text("slow")
      })
      const quick = Effect.as(Effect.sleep("4 seconds"), text("quick"))
      const tasks = yield* tasksOf({ tools: () => "optional" })
      const client = yield* served({ "tools/call": ({ name }) => name === "slow" ? slow : quick }, { tasks })
      const calls = [
        yield* start(client.result("tools/call", { name: "slow" })),
        yield* start(client.result("tools/call", { name: "quick" }))
      ] as const
      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(calls[0].pollUnsafe())
      assert.deepStrictEqual(at(yield* Fiber.join(calls[1]), "content"), text("quick").content)
      yield* TestClock.adjust(1)
      const created = yield* Fiber.join(calls[0])
      assert.strictEqual(at(created, "resultType"), "task")
      const taskId = String(at(created, "taskId"))
      assert.deepStrictEqual(released, [])
      assert.strictEqual((yield* client.get(taskId)).status, "working")
      yield* TestClock.adjust("1 minute")
      assert.deepInclude(yield* client.get(taskId), { status: "completed", result: { ...text("slow") } })
      assert.deepStrictEqual([released, yield* tasks.running], [["slow"], 0])
    }))

  it.effect("with a question that waits at that moment, which is then one of the task", () =>
    Effect.gen(function*() {
      const asking = yield* Deferred.make<void>()
      const tool = Effect.gen(function*() {
        const [answer] = yield* Effect.all([
          Effect.andThen(Deferred.succeed(asking, undefined), ask("now?")),
          Effect.andThen(Deferred.await(asking), Effect.orDie(RequestContext.becomeTask))
        ], { concurrency: "unbounded" })
        return text(answer)
      })
      const client = yield* served(tools({ tool }), { tasks: yield* plans("explicitly", "optional") })
      const { taskId } = yield* client.start("tool")
      yield* settled
      const keys = keysIn(yield* client.get(taskId))
      yield* client.result("tasks/update", { taskId, inputResponses: { [keys["now?"] ?? ""]: accept("Ada") } })
      yield* settled
      assert.deepInclude(yield* client.get(taskId), { status: "completed", result: { ...text("Ada") } })
    }))

  it.effect("only if the client may have another one, and its cancellation interrupts the handler", () =>
    Effect.gen(function*() {
      const interrupted = yield* Deferred.make<void>()
      const tool = Effect.andThen(RequestContext.becomeTask, Effect.never).pipe(
        Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
      )
      const client = yield* served(tools({ tool }), {
        tasks: yield* tasksOf({ tools: () => ({ support: "required", begins: "explicitly" }), maxTasks: 1 })
      })
      const { taskId } = yield* client.start("tool")
      const full = yield* client.request("tools/call", { name: "tool" })
      assert.include(String(at(full, "error", "message")), "There are 1 tasks already")
      yield* client.result("tasks/cancel", { taskId })
      yield* Deferred.await(interrupted)
      assert.strictEqual((yield* client.get(taskId)).status, "cancelled")
    }))
})
