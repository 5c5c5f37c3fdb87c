/** The tasks of a server of revision 2026-07-28, as its client uses them. */
import { Content, McpError, Revision, TaskExtension, type Tool } from "@effect-mcp/protocol"
import { type Middleware, RequestContext, RequestError } from "@effect-mcp/session"
import { RemoteTasks, type ServerTasks } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import {
  type ClientOptions,
  connected,
  reasonOf,
  settled,
  start,
  text,
  tools
} from "../../session/test/support/sessions.ts"
import { answering, contentOf, form, makeTasks, reason } from "./support/taskServers.ts"

type Handlers = Parameters<typeof tools>[0]

const declared = { elicitation: {}, extensions: { [TaskExtension.name]: {} } }

/** Connects a client that has declared tasks with a server whose tool `quick` is a call, and all others are tasks. */
const served = Effect.fnUntraced(function*(
  byName: Handlers,
  client: ClientOptions = {},
  options: Partial<ServerTasks.Options> = {}
) {
  const tasks = yield* makeTasks({ tools: (name) => name === "quick" ? "optional" : "required", ...options })
  const { client: session, links } = yield* connected({
    handlers: tools(byName),
    client: { revisions: Revision.supported, capabilities: declared, ...client },
    server: { tasks, limits: { gracefulTimeout: 0 } }
  })
  const methods = () => links.client.sent.flatMap((message) => "method" in message ? [message.method] : [])
  return { session, methods, tasks }
})

const greet = Effect.map(
  Effect.orDie(RequestContext.elicit({ message: "Who are you?", requestedSchema: form })),
  ({ content }) => text(`hello ${content?.["name"]}`)
)

describe("a client that has declared the tasks extension", () => {
  it.effect("[TKX-03] takes a task or a result, whichever comes", () =>
    Effect.gen(function*() {
      const { session } = yield* served({
        quick: Effect.succeed(text("quick")),
        long: Effect.as(Effect.sleep("1 second"), text("long"))
      })
      const quick = yield* RemoteTasks.of(session).call("quick")
      assert.isUndefined(quick.id)
      assert.deepStrictEqual(contentOf(yield* quick.result), [Content.text("quick")])
      assert.deepStrictEqual((yield* Stream.runCollect(quick.states)).map(({ status }) => status), ["completed"])
      const long = yield* RemoteTasks.of(session).call("long")
      assert.strictEqual((yield* long.state).status, "working")
      const waiting = yield* start(long.result)
      yield* settled
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(contentOf(yield* Fiber.join(waiting)), [Content.text("long")])
      assert.deepStrictEqual(contentOf(yield* RemoteTasks.of(session).of(long.id ?? "").result), [Content.text("long")])
    }))

  it.effect("[TKX-05] asks for the state as often as the server wishes, until the task has ended", () =>
    Effect.gen(function*() {
      const { methods, session } = yield* served(
        { long: Effect.as(Effect.sleep("10 seconds"), text("done")) },
        {},
        { pollInterval: "3 seconds" }
      )
      const task = yield* RemoteTasks.of(session).call("long")
      const states = yield* start(Stream.runCollect(task.states))
      yield* settled
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(
        (yield* Fiber.join(states)).map(({ status }) => status),
        ["working", "working", "working", "working", "completed"]
      )
      assert.strictEqual(methods().filter((method) => method === "tasks/get").length, 5)
    }))

  it.effect("asks again after the poll interval when its server has too many requests about tasks", () =>
    Effect.gen(function*() {
      const { methods, session } = yield* served({ long: Effect.as(Effect.sleep("5 seconds"), text("done")) }, {}, {
        maxRequestsPerSecond: 1
      })
      const task = yield* RemoteTasks.of(session).call("long")
      const waiting = yield* start(Effect.all([session.callTool("long"), task.result], { concurrency: "unbounded" }))
      const states = yield* start(Stream.runCollect(task.states))
      yield* settled
      yield* TestClock.adjust("30 seconds")
      const done = contentOf(text("done"))
      assert.deepStrictEqual((yield* Fiber.join(waiting)).map(contentOf), [done, done])
      assert.strictEqual((yield* Fiber.join(states)).at(-1)?.status, "completed")
      assert.isAtMost(methods().filter((method) => method === "tasks/get").length, 100)
    }))

  it.effect("stops asking a server that has too many requests 60 times in a row", () =>
    Effect.gen(function*() {
      let sent = 0
      const rejected = RequestError.make("any", {
        _tag: "ErrorResponse",
        error: McpError.received({ code: -31010, message: "Overloaded" })
      })
      const middleware: Middleware.Middleware = {
        outbound: (request, next) =>
          request.method === "tasks/get" || request.method === "tasks/result"
            ? Effect.andThen(Effect.sync(() => void sent++), Effect.fail(rejected))
            : next(request)
      }
      const modern = yield* served({ long: Effect.never }, { middleware })
      const legacy = yield* served({ long: Effect.never }, { middleware, revisions: Revision.legacy })
      const task = yield* RemoteTasks.of(modern.session).call("long")
      const waits = [task.result, Stream.runDrain(task.states), RemoteTasks.of(legacy.session).of("any").result]
      for (const wait of waits) {
        sent = 0
        const waiting = yield* start(Effect.flip(Effect.asVoid(wait)))
        yield* settled
        yield* TestClock.adjust("2 minutes")
        yield* settled
        const exit = waiting.pollUnsafe()
        assert.deepStrictEqual(exit, Exit.succeed(rejected))
        assert.strictEqual(sent, 60)
      }
    }))

  it.effect("answers a task that asks without an end in as many rounds as a call", () =>
    Effect.gen(function*() {
      let asked = 0
      const forEver = Effect.forever(Effect.orDie(RequestContext.elicit({ message: "Again?", requestedSchema: form })))
      const { session } = yield* served({ forEver }, {
        handlers: {
          "elicitation/create": () =>
            Effect.sync(() => {
              asked++
              return { action: "accept" as const, content: { name: "Ada" } }
            })
        }
      })
      const task = yield* RemoteTasks.of(session).call("forEver")
      const waiting = yield* start(Effect.flip(task.result))
      yield* settled
      yield* TestClock.adjust("1 minute")
      const { message } = yield* Fiber.join(waiting)
      assert.include(message, "the task asks in more than 16 rounds; raise limits.maxRounds to answer more")
      assert.strictEqual(asked, 16)
    }))

  it.effect("waits for the result of a call that becomes a task, and answers its questions once", () =>
    Effect.gen(function*() {
      const { methods, session } = yield* served({ greet }, answering)
      const waiting = yield* start(session.callTool("greet"))
      for (let count = 0; count < 5; count++) {
        yield* settled
        yield* TestClock.adjust("1 second")
      }
      assert.deepStrictEqual(contentOf(yield* Fiber.join(waiting)), [Content.text("hello Ada")])
      assert.strictEqual(methods().filter((method) => method === "tasks/update").length, 1)
    }))

  it.effect("receives the failure of a task as that of its call", () =>
    Effect.gen(function*() {
      const { session } = yield* served({
        fails: Effect.fail(McpError.invalidParams("no", { id: 7 })),
        long: Effect.never
      })
      const failed = yield* start(session.callTool("fails"))
      yield* settled
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* reasonOf(failed), {
        _tag: "ErrorResponse",
        error: McpError.invalidParams("no", { id: 7 })
      })
      const task = yield* RemoteTasks.of(session).call("long")
      assert.strictEqual((yield* task.cancel).status, "cancelled")
      assert.include((yield* Effect.flip(task.result)).message, "was cancelled")
    }))

  it.effect("[TKX-13] cancels the task of a call whose caller stops waiting, by its id", () =>
    Effect.gen(function*() {
      for (const how of ["interruption", "timeout"]) {
        const interrupted = yield* Deferred.make<void>()
        const { methods, session, tasks } = yield* served({
          long: Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
        })
        const waiting = yield* start(session.callTool("long", {}, { timeout: "5 seconds" }))
        yield* settled
        yield* TestClock.adjust("4 seconds")
        assert.strictEqual(yield* tasks.running, 1)
        if (how === "interruption") yield* Fiber.interrupt(waiting)
        else {
          yield* TestClock.adjust("1 second")
          assert.strictEqual((yield* reasonOf(waiting))._tag, "Timeout")
        }
        yield* settled
        assert.isTrue(yield* Deferred.isDone(interrupted))
        assert.include(methods(), "tasks/cancel")
        assert.notInclude(methods(), "notifications/cancelled")
      }
    }))

  it.effect("reads nothing but a task and a result", () =>
    Effect.gen(function*() {
      let result: Exit.Exit<Tool.CallToolResult> = Exit.succeed({ ...text("x"), structuredContent: { n: 1 } })
      const { session } = yield* served({ quick: Effect.suspend(() => result) })
      assert.deepStrictEqual((yield* (yield* RemoteTasks.of(session).call("quick")).result).structuredContent, { n: 1 })
      result = Exit.die("x")
      assert.strictEqual((yield* reason(RemoteTasks.of(session).call("quick")))._tag, "ErrorResponse")
      assert.strictEqual((yield* reason(Stream.runCollect(RemoteTasks.of(session).list)))._tag, "NotInRevision")
      const unknown = yield* reason(RemoteTasks.of(session).of("unknown").state)
      assert.strictEqual(unknown._tag === "ErrorResponse" ? unknown.error.code : unknown, -32602)
    }))

  it.effect("answers no more questions at once than its limit, and none twice", () =>
    Effect.gen(function*() {
      const askAll = (count: number) =>
        Effect.as(
          Effect.forEach(
            Array.from({ length: count }, (_, index) => `${index}?`),
            (message) => Effect.orDie(RequestContext.elicit({ message, requestedSchema: form })),
            { concurrency: "unbounded" }
          ),
          text("done")
        )
      const { methods, session } = yield* served(
        { few: askAll(3), many: askAll(4) },
        { ...answering, limits: { maxIncomingRequests: 3 } }
      )
      const few = yield* start(Effect.flatMap(RemoteTasks.of(session).call("few"), ({ result }) => result))
      yield* settled
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(contentOf(yield* Fiber.join(few)), [Content.text("done")])
      assert.strictEqual(methods().filter((method) => method === "tasks/update").length, 1)
      const many = yield* RemoteTasks.of(session).call("many")
      yield* settled
      const problem = yield* reason(many.result)
      assert.deepStrictEqual(problem, {
        _tag: "InvalidResult",
        problem: "the server asks 4 questions at once; set limits.maxIncomingRequests to allow more than 3"
      })
    }))

  it.effect("has to declare it", () =>
    Effect.gen(function*() {
      const { methods, session } = yield* served({ quick: Effect.succeed(text("x")) }, { capabilities: {} })
      const before = methods().length
      assert.deepStrictEqual(yield* reason(RemoteTasks.of(session).call("quick")), {
        _tag: "UndeclaredCapability",
        capability: `extensions.${TaskExtension.name}`,
        option: `capabilities: { extensions: { "${TaskExtension.name}": {} } }`
      })
      assert.strictEqual(methods().length, before)
    }))
})
