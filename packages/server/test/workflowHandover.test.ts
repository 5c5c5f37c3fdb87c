/** Calls of workflows that another process goes on with. */
import { McpGroup, McpServer } from "@effect-mcp/server"
import * as McpWorkflow from "@effect-mcp/server/McpWorkflow"
import { ClientSession, MemoryTransport, RequestContext, SessionHost, Transport } from "@effect-mcp/session"
import { RemoteTasks, TaskStore } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as WorkflowEngine from "effect/workflow/WorkflowEngine"
import { settled } from "../../session/test/support/sessions.ts"
import { clientAt } from "../../transport/test/support/fleet.ts"
import { connect } from "../../transport/test/support/httpClient.ts"
import { until } from "../../transport/test/support/process.ts"
import { Book, makeBooking } from "./support/booking.ts"
import { connect as connectInMemory, handshake, info } from "./support/connect.ts"
import { makeSharedStores, startMember } from "./support/workflowFleet.ts"

const ada = { id: "ada" }

type Engine = Effect.Success<typeof makeBooking>["engine"]

/** Starts a process whose tasks are in this store. */
const startProcess = Effect.fnUntraced(function*(engine: Engine, tasks: TaskStore.TaskStore["Service"]) {
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const groups = Layer.merge(
    Layer.provide(McpWorkflow.layer(Book), engine),
    Layer.succeed(TaskStore.TaskStore, tasks)
  )
  const context = yield* Layer.buildWithScope(McpServer.layerHost(groups, { info }), scope)
  const client = (answer?: string) =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make({ principal: ada })
      yield* Effect.orDie(
        Context.get(context, SessionHost.SessionHost).open(pair.server, { kind: "memory", principal: ada })
      )
      return yield* ClientSession.make({
        info,
        revisions: ["2025-11-25"],
        handlers: {
          "elicitation/create": () =>
            answer === undefined
              ? Effect.never
              : Effect.succeed({ action: "accept" as const, content: { seat: answer } })
        }
      }).pipe(Effect.provideService(Transport.Transport, pair.client))
    })
  return { client, stop: Scope.close(scope, Exit.void) }
})

describe("the workflow of a task", () => {
  it.effect("goes on when its process stops, and the next run waits for the same execution", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      const tasks = yield* TaskStore.makeMemory()
      const one = yield* startProcess(engine, tasks)
      const { id = "" } = yield* RemoteTasks.of(yield* one.client()).call("book", { city: "Paris" }, { ttl: "1 hour" })
      yield* settled
      assert.strictEqual(counts.charged, 1)
      yield* one.stop
      const other = yield* startProcess(engine, tasks)
      const session = yield* other.client("4F")
      const result = yield* Effect.forkChild(RemoteTasks.of(session).of(id).result)
      yield* settled
      yield* TestClock.adjust("40 seconds")
      yield* settled
      assert.deepStrictEqual((yield* Fiber.join(result)).structuredContent, { receipt: 1, seat: "4F" })
      assert.deepStrictEqual(counts, { charged: 1, refunded: 0, waiting: 0 })
    }).pipe(Effect.scoped))

  it.effect("goes on when another process has got the lease of its task", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      const tasks = yield* TaskStore.makeMemory()
      const one = yield* startProcess(engine, tasks)
      const { id = "" } = yield* RemoteTasks.of(yield* one.client()).call("book", { city: "Rome" }, { ttl: "1 hour" })
      yield* settled
      assert.strictEqual(counts.waiting, 1)
      const task = yield* tasks.load(id)
      assert(task !== undefined)
      const lease = { owner: "another", expiresAt: Number.MAX_SAFE_INTEGER }
      const limits = { maxTasks: 10, maxBytes: 1_000_000 }
      assert.strictEqual(yield* tasks.replace({ ...task, lease, version: task.version + 1 }, limits), "Stored")
      yield* settled
      assert.strictEqual(counts.refunded, 0)
    }).pipe(Effect.scoped))

  it.effect("is interrupted with its task", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      const one = yield* startProcess(engine, yield* TaskStore.makeMemory())
      const task = yield* RemoteTasks.of(yield* one.client()).call("book", { city: "Rome" }, { ttl: "1 hour" })
      yield* settled
      assert.deepStrictEqual([counts.waiting, counts.refunded], [1, 0])
      yield* task.cancel
      yield* settled
      assert.strictEqual(counts.refunded, 1)
    }).pipe(Effect.scoped))
})

describe("a call that is interrupted", () => {
  /** Serves `book`. `isHandedOn` says whether another run of the call goes on. */
  const serve = Effect.fnUntraced(function*(engine: Engine, isHandedOn: () => boolean) {
    const group = McpGroup.make("journeys", McpWorkflow.tool(Book)).toLayer((handlers) =>
      handlers.tool(
        "book",
        (payload) =>
          Effect.updateService(McpWorkflow.handler(Book)(payload), RequestContext.RequestContext, (request) =>
            new Proxy(request, {
              get: (_, name) =>
                name === "isHandedOn" ? Effect.sync(isHandedOn) : Reflect.get(request, name)
            }))
      )
    )
    return yield* connectInMemory(Layer.provide(group, engine), { client: handshake })
  })

  it.effect("leaves its workflow to a process that has taken the call over by then", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      let isLost = false
      const session = yield* serve(engine, () => isLost)
      const calling = yield* Effect.forkChild(session.callTool("book", { city: "Rome" }))
      yield* settled
      assert.strictEqual(counts.waiting, 1)
      isLost = true
      yield* Fiber.interrupt(calling)
      yield* settled
      assert.strictEqual(counts.refunded, 0)
    }).pipe(Effect.scoped))

  it.effect("leaves its workflow to a process that takes the call over while the engine hangs", () =>
    Effect.gen(function*() {
      const { counts, engine } = yield* makeBooking
      const service = Context.get(yield* Layer.build(engine), WorkflowEngine.WorkflowEngine)
      const { execute } = service
      Object.assign(service, {
        execute: (...args: Parameters<typeof execute>) => Effect.uninterruptible(execute(...args))
      })
      let isLost = false
      const session = yield* serve(engine, () => isLost)
      const calling = yield* Effect.forkChild(session.callTool("book", { city: "Rome" }))
      yield* settled
      assert.strictEqual(counts.waiting, 1)
      yield* Fiber.interrupt(calling)
      yield* settled
      isLost = true
      yield* TestClock.adjust("1 minute")
      yield* settled
      assert.strictEqual(counts.refunded, 0)
    }).pipe(Effect.scoped))
})

const makeFleet = Effect.gen(function*() {
  const { counts, engine } = yield* makeBooking
  const stores = yield* makeSharedStores
  return {
    counts,
    start: startMember(engine, stores),
    /** Starts a process that begins no stream before the response. */
    startLate: startMember(engine, stores, {}, { adaptiveTimeout: "1 minute" })
  }
})

describe("the workflow of a call", () => {
  it.live("goes on at the next owner of its session, where its question is answered", () =>
    Effect.gen(function*() {
      const { counts, start } = yield* makeFleet
      const [first, second] = [yield* start, yield* start]
      const client = yield* connect(first, { capabilities: { elicitation: {} } })
      const booking = yield* client.call("c", "book", { city: "Paris" })
      yield* booking.awaitMessages(3)
      const question = booking.messages.find(({ method }) => method === "elicitation/create")
      yield* first.stop
      const again = clientAt(second, client)
      const rest = yield* again.get(booking.lastId)
      yield* again.respond(question?.id, { action: "accept", content: { seat: "4F" } })
      yield* rest.awaitEnd
      assert.deepStrictEqual(rest.messages.map(({ result }) => result?.["structuredContent"]), [
        { receipt: 1, seat: "4F" }
      ])
      assert.deepStrictEqual(counts, { charged: 1, refunded: 0, waiting: 0 })
    }).pipe(Effect.scoped))

  it.live("is interrupted with its session", () =>
    Effect.gen(function*() {
      const { counts, start } = yield* makeFleet
      const client = yield* connect(yield* start, { capabilities: { elicitation: {} } })
      yield* client.call("c", "book", { city: "Rome" })
      yield* until(() => counts.waiting === 1)
      yield* client.delete
      yield* until(() => counts.refunded === 1)
    }).pipe(Effect.scoped))

  it.live("is interrupted by a process that stops, if its client cannot resume the call", () =>
    Effect.gen(function*() {
      const { counts, startLate } = yield* makeFleet
      const process = yield* startLate
      const client = yield* connect(process, { capabilities: { elicitation: {} } })
      const params = { name: "book", arguments: { city: "Rome" } }
      yield* client.send({ body: { jsonrpc: "2.0", id: "c", method: "tools/call", params } })
      yield* until(() => counts.waiting === 1)
      yield* process.stop
      yield* until(() => counts.refunded === 1)
    }).pipe(Effect.scoped))
})
