/** The tasks of a server, as its client uses them, in revision 2025-11-25. */
import { AjvValidator } from "@effect-mcp/json-schema"
import { Content, JsonRpc, McpError, type Tool } from "@effect-mcp/protocol"
import {
  type ClientSession,
  MemoryTransport,
  RequestContext,
  type RequestError,
  SessionHost
} from "@effect-mcp/session"
import { RemoteTasks, ServerTasks, TaskStore } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import {
  client,
  type ClientOptions,
  connected,
  info,
  reasonOf,
  type ServerHandlers,
  type ServerOptions,
  settled,
  start,
  text,
  tools,
  withRawServer
} from "../../session/test/support/sessions.ts"
import { answering, contentOf, form, makeTasks, reason } from "./support/taskServers.ts"

type Handlers = Parameters<typeof tools>[0]

const support = { long: "optional", greet: "required", never: "forbidden" } as const

const listed: ReadonlyArray<Tool.Tool> = [
  ...Object.entries(support).map(([name, taskSupport]): Tool.Tool => ({
    name,
    inputSchema: { type: "object" },
    execution: { taskSupport }
  })),
  { name: "silent", inputSchema: { type: "object" } }
]

const handlersOf = (byName: Handlers): ServerHandlers => ({
  ...tools(byName),
  "tools/list": () => Effect.succeed({ tools: listed })
})

const tasksOf = (options: Partial<ServerTasks.Options> = {}) => makeTasks({ tools: support, ...options })

/** Connects a client with a server with tasks. */
const served = Effect.fnUntraced(function*(
  byName: Handlers,
  options: { readonly client?: ClientOptions; readonly server?: ServerOptions } = {}
) {
  const { client, links } = yield* connected({
    handlers: handlersOf(byName),
    client: options.client ?? {},
    server: {
      tasks: yield* tasksOf(),
      limits: { gracefulTimeout: 0, progressInterval: 0 },
      ...options.server
    }
  })
  const methods = () => links.client.sent.flatMap((message) => "method" in message ? [message.method] : [])
  return { client, links, methods }
})

/** A tool that asks the user for a name. */
const greet = Effect.map(
  RequestContext.elicit({ message: "Who are you?", requestedSchema: form }),
  ({ content }) => text(`hello ${content?.["name"]}`)
).pipe(Effect.catch(({ message }) => Effect.succeed(text(message))))

describe("a client calls a tool as a task", () => {
  it.effect("[TSK-13] [TSK-19] and follows its states as often as the server wishes, until it has ended", () =>
    Effect.gen(function*() {
      const { client, links, methods } = yield* served({ long: Effect.as(Effect.sleep("10 seconds"), text("done")) }, {
        server: { tasks: yield* tasksOf({ pollInterval: "3 seconds", tools: support }) }
      })
      const task = yield* RemoteTasks.of(client).call("long", { to: 3 }, { ttl: "5 minutes" })
      assert.strictEqual((yield* task.state).ttl, 300_000)
      const states = yield* start(Stream.runCollect(task.states))
      yield* settled
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(
        (yield* Fiber.join(states)).map(({ status }) => status),
        ["working", "working", "working", "working", "completed"]
      )
      // One for the state, and one each three seconds.
      assert.strictEqual(methods().filter((method) => method === "tasks/get").length, 6)
      assert.deepStrictEqual(contentOf(yield* task.result), [Content.text("done")])
      assert.notInclude(JSON.stringify(links.client.sent), "related-task")
    }))

  it.effect("[TSK-21] and follows its states without any notification of them", () =>
    Effect.gen(function*() {
      const states = ["working", "input_required", "working", "failed"]
      const { session } = yield* withRawServer({
        result: {
          protocolVersion: "2025-11-25",
          serverInfo: info,
          capabilities: { tasks: { requests: { tools: { call: {} } } } }
        },
        script: (message) =>
          JsonRpc.isRequest(message)
            ? [JsonRpc.success(message.id, {
              taskId: "t",
              status: states.shift(),
              createdAt: "2026-01-01T00:00:00Z",
              lastUpdatedAt: "2026-01-01T00:00:00Z",
              ttl: null
            })]
            : []
      })
      const followed = yield* start(Stream.runCollect(RemoteTasks.of(session).of("t").states))
      yield* settled
      // A server that names no interval is asked once a second.
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(
        (yield* Fiber.join(followed)).map(({ status }) => status),
        ["working", "input_required", "working", "failed"]
      )
    }))

  it.effect("and stops waiting for the next state when the session closes", () =>
    Effect.gen(function*() {
      const { client } = yield* served({ long: Effect.never }, {
        server: { tasks: yield* tasksOf({ pollInterval: "1 hour" }) }
      })
      const { states } = yield* RemoteTasks.of(client).call("long")
      const followed = yield* start(Stream.runDrain(states))
      yield* settled
      yield* client.close
      yield* settled
      const exit = followed.pollUnsafe()
      assert.isTrue(exit !== undefined && Exit.isFailure(exit))
      assert.strictEqual((yield* reasonOf(followed))._tag, "Closed")
    }))

  it.effect("[TSK-20] and answers its questions while it waits for the result", () =>
    Effect.gen(function*() {
      const { client } = yield* served({ greet }, { client: answering })
      const task = yield* RemoteTasks.of(client).call("greet")
      yield* settled
      assert.strictEqual((yield* task.state).status, "input_required")
      assert.deepStrictEqual(contentOf(yield* task.result), [Content.text("hello Ada")])
      // Again, and by another handle.
      assert.deepStrictEqual(contentOf(yield* RemoteTasks.of(client).of(task.id ?? "").result), [
        Content.text("hello Ada")
      ])
    }))

  it.effect("[TSK-02] [TSK-03] only if the server has declared tasks", () =>
    Effect.gen(function*() {
      const { client, links } = yield* connected({ handlers: handlersOf({ long: Effect.succeed(text("x")) }) })
      const sent = links.client.sent.length
      assert.deepStrictEqual(yield* reason(RemoteTasks.of(client).call("long")), {
        _tag: "MissingCapability",
        capability: "tasks.requests.tools.call"
      })
      assert.deepStrictEqual(yield* reason(Stream.runCollect(RemoteTasks.of(client).list)), {
        _tag: "MissingCapability",
        capability: "tasks.list"
      })
      assert.strictEqual(links.client.sent.length, sent)
    }))

  it.effect("[TSK-04] [TSK-05] only if the tool runs as one, and a tool that requires it in no other way", () =>
    Effect.gen(function*() {
      const { client, methods } = yield* served({ greet })
      for (const tool of ["never", "silent", "unknown"]) {
        assert.deepStrictEqual(yield* reason(RemoteTasks.of(client).call(tool)), {
          _tag: "InvalidParams",
          problem: `the tool "${tool}" does not run as a task; use callTool`
        })
      }
      assert.deepStrictEqual(yield* reason(client.callTool("greet")), {
        _tag: "InvalidParams",
        problem: "the tool \"greet\" runs as a task only; use RemoteTasks, or tasks of McpClient"
      })
      assert.notInclude(methods(), "tools/call")
    }))

  it.effect("[CAN-03] and cancels it by its id if the caller is interrupted before it has the id", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const store = yield* TaskStore.makeMemory()
      const slow: TaskStore.TaskStore["Service"] = {
        ...store,
        create: (task, limits) => Effect.andThen(Deferred.await(gate), store.create(task, limits))
      }
      const tasks = yield* Effect.provideService(ServerTasks.make({ tools: support }), TaskStore.TaskStore, slow)
      const long = Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
      const { client, methods } = yield* served({ long }, {
        server: { tasks, limits: { gracefulTimeout: 0 } }
      })
      yield* Stream.runDrain(client.tools)
      const call = yield* Effect.forkChild(RemoteTasks.of(client).call("long"), { startImmediately: true })
      yield* Fiber.interrupt(call)
      yield* settled
      assert.strictEqual(methods().at(-1), "tools/call")
      const late = yield* start(RemoteTasks.of(client).call("long", {}, { timeout: "1 second" }))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* reasonOf(late))._tag, "Timeout")
      yield* Deferred.succeed(gate, undefined)
      yield* settled
      assert.deepStrictEqual(methods().slice(-3), ["tools/call", "tools/call", "tasks/cancel"])
      assert.notInclude(methods(), "notifications/cancelled")
      assert.isTrue(yield* Deferred.isDone(interrupted))
    }))

  it.effect("[PRG-08] and receives its progress until the result", () =>
    Effect.gen(function*() {
      const { client } = yield* served({
        long: Effect.gen(function*() {
          yield* RequestContext.progress({ progress: 1 })
          yield* Effect.sleep("1 minute")
          yield* RequestContext.progress({ progress: 2 })
          return text("done")
        })
      })
      const steps: Array<number> = []
      const task = yield* RemoteTasks.of(client).call("long", {}, {
        onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
      })
      const waiting = yield* start(task.result)
      yield* settled
      assert.deepStrictEqual(steps, [1])
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(steps, [1, 2])
    }))

  it.effect("[TSK-23] and cancels it, or fails if it has ended", () =>
    Effect.gen(function*() {
      const { client } = yield* served({ long: Effect.never })
      const task = yield* RemoteTasks.of(client).call("long")
      assert.strictEqual((yield* task.cancel).status, "cancelled")
      const again = yield* reason(task.cancel)
      assert.strictEqual(again._tag === "ErrorResponse" ? again.error.code : again, -32602)
      assert.include((yield* Effect.flip(task.result)).message, "was cancelled")
      assert.deepStrictEqual((yield* Stream.runCollect(task.states)).map(({ status }) => status), ["cancelled"])
    }))

  it.effect("[TSK-22] and lists its tasks, and takes one up in another session", () =>
    Effect.gen(function*() {
      const host = yield* SessionHost.make(handlersOf({ long: Effect.as(Effect.sleep("1 minute"), text("done")) }), {
        info,
        tasks: yield* tasksOf(),
        limits: { gracefulTimeout: 0 }
      })
      const opened = Effect.gen(function*() {
        const pair = yield* MemoryTransport.make()
        yield* host.open(pair.server, { kind: "memory" })
        return yield* client(pair.client)
      })
      const scope = yield* Scope.make()
      const first = yield* Scope.provide(opened, scope)
      const { id } = yield* RemoteTasks.of(first).call("long")
      const waiting = yield* start(RemoteTasks.of(first).of(id ?? "").result)
      yield* settled
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* reasonOf(waiting))._tag, "Closed")
      const second = yield* opened
      const result = yield* start(RemoteTasks.of(second).of(id ?? "").result)
      yield* settled
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(contentOf(yield* Fiber.join(result)), [Content.text("done")])
    }))

  it.effect("[TSK-15] and receives the failures of the call, and checks structured content", () =>
    Effect.gen(function*() {
      const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const
      let result: Exit.Exit<Tool.CallToolResult, McpError.McpError> = Exit.fail(McpError.invalidParams("no"))
      const { client } = yield* connected({
        handlers: {
          "tools/list": () =>
            Effect.succeed({
              tools: [{
                name: "long",
                inputSchema: { type: "object" },
                outputSchema,
                execution: { taskSupport: "optional" }
              }]
            }),
          "tools/call": () => Effect.suspend(() => result)
        },
        client: { validator: AjvValidator.make() },
        server: { tasks: yield* tasksOf() }
      })
      const failed = yield* reason(Effect.flatMap(RemoteTasks.of(client).call("long"), (task) => task.result))
      assert.deepStrictEqual(failed, { _tag: "ErrorResponse", error: McpError.invalidParams("no") })
      result = Exit.succeed({ ...text("x"), structuredContent: { n: "one" } })
      const { id, result: checked } = yield* RemoteTasks.of(client).call("long")
      assert.strictEqual((yield* reason(checked))._tag, "InvalidResult")
      assert.strictEqual(
        (yield* reason(RemoteTasks.of(client).of(id ?? "", { tool: "long" }).result))._tag,
        "InvalidResult"
      )
      assert.deepStrictEqual((yield* RemoteTasks.of(client).of(id ?? "").result).structuredContent, { n: "one" })
    }))
})

/** The members compile with these types. */
export const types = (session: ClientSession.ClientSessionShape) =>
  Effect.gen(function*() {
    const task = yield* RemoteTasks.of(session).call("long")
    return yield* Effect.race(task.result, task.cancel)
  }) satisfies Effect.Effect<unknown, RequestError.RequestError>
