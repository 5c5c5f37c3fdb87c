/** Calls of a resumable tool by clients of a fleet that has one URL, while the owner of their session ends. */
import { McpClient, McpTarget } from "@effect-mcp/client"
import { McpError, Revision, type Tool } from "@effect-mcp/protocol"
import { ClientSession, RequestContext, type SessionEvent, SessionOwners } from "@effect-mcp/session"
import { ServerTasks, TaskStore } from "@effect-mcp/tasks"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { makeStores, startProcess } from "../../transport/test/support/fleet.ts"
import { serve } from "../../transport/test/support/roundRobinProxy.ts"
import { text, tools } from "../../transport/test/support/server.ts"
import { until } from "./support/until.ts"

/** Two processes behind a proxy. Their tool `book` charges once and asks a question, and `where` names the process. */
const makeFleet = Effect.gen(function*() {
  const stores = yield* makeStores
  const tasks = yield* TaskStore.makeMemory()
  const counts = { charged: 0, started: 0 }
  const book = Effect.gen(function*() {
    counts.started++
    const charge = yield* RequestContext.once(
      "charge",
      { success: Schema.Number },
      Effect.sync(() => ++counts.charged)
    )
    const { action } = yield* Effect.mapError(
      RequestContext.elicit({ message: "Book it?", requestedSchema: { type: "object", properties: {} } }),
      () => McpError.invalidRequest("not answered")
    )
    return text(`charge ${charge}: ${action}`)
  })
  const start = Effect.fnUntraced(function*(name: string) {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
    const made = yield* ServerTasks.make({ tools: { book: { support: "forbidden", resumable: true } } }).pipe(
      Effect.provideService(TaskStore.TaskStore, tasks),
      Scope.provide(scope)
    )
    let isCutOff = false
    const { ownerStore } = stores
    const renew: SessionOwners.OwnerStore["renew"] = (lease) =>
      isCutOff ? Effect.fail(new SessionOwners.SessionOwnersError({ cause: "cut off" })) : ownerStore.renew(lease)
    const handlers = tools({ book, where: Effect.succeed(text(name)) })
    const process = yield* startProcess({ ...stores, ownerStore: { ...ownerStore, renew } }, handlers, {
      session: { tasks: made },
      authentication: { identify: () => Effect.succeed({ id: "ada" }) }
    })
    const cutOff = Effect.suspend(() => {
      isCutOff = true
      return ownerStore.retire(process.owners.process)
    })
    return { name, ...process, cutOff }
  })
  const processes = [yield* start("one"), yield* start("two")]
  const proxy = yield* serve(processes.map(({ port }) => port))
  const indexOf = (name: string) => processes.findIndex((process) => process.name === name)
  return {
    counts,
    url: proxy.url,
    /** Cuts a process off from its store and from the proxy, as if it was paused. */
    cutOff: (name: string) =>
      Effect.suspend(() => {
        proxy.cutOff(indexOf(name))
        return processes[indexOf(name)]?.cutOff ?? Effect.die("no process")
      }),
    /** Makes the proxy forward the next request to this process. */
    aim: (name: string) =>
      Effect.promise(async () => {
        while (proxy.forwarded.length % processes.length !== indexOf(name)) await fetch(proxy.url, { method: "PUT" })
      }),
    /** Stops a process in order. */
    stop: (name: string) => Effect.suspend(() => processes[indexOf(name)]?.stop ?? Effect.die("no process"))
  }
})

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((part) => part.type === "text" ? part.text : part.type).join()

/** The part of a client that the tests use. */
type Call = (tool: string) => Effect.Effect<Tool.CallToolResult, unknown>

type Options = Pick<ClientSession.Options, "info" | "revisions" | "handlers" | "observe">

const over = (url: string) =>
  StreamableHttpClient.layerNode({ url, reconnect: { initialInterval: "100 millis", factor: 1, maxAttempts: 50 } })

const clients = {
  "a session": Effect.fnUntraced(function*(url: string, options: Options) {
    const transport = yield* Layer.build(over(url))
    const session = yield* ClientSession.make(options).pipe(Effect.provideContext(transport))
    const call: Call = (tool) => session.callTool(tool)
    return call
  }),
  "a supervised client": Effect.fnUntraced(function*(url: string, options: Options) {
    const client = yield* McpClient.make(McpTarget.transport(over(url)), { ...options, waitTimeout: "30 seconds" })
    const call: Call = (tool) => client.callTool(tool)
    return call
  })
}

for (const [name, connect] of Object.entries(clients)) {
  /** Calls `book` over a fleet, and waits until its client has the question. `answer` answers it. */
  const book = Effect.gen(function*() {
    const fleet = yield* makeFleet
    const events: Array<SessionEvent.SessionEvent> = []
    const answered = yield* Deferred.make<void>()
    let asked = 0
    const call = yield* connect(fleet.url, {
      info: { name: "client", version: "1.0.0" },
      revisions: Revision.legacy,
      observe: (event) => events.push(event),
      handlers: ClientSession.handlers({
        "elicitation/create": () => {
          asked++
          return Effect.as(Deferred.await(answered), { action: "accept" as const, content: {} })
        }
      })
    })
    const owner = textOf(yield* call("where"))
    const booking = yield* Effect.forkChild(call("book"), { startImmediately: true })
    yield* until(() => asked === 1)
    /** Returns the events of the stream of the call. */
    const pauses = () =>
      events.flatMap((event) =>
        (event._tag === "StreamLost" || event._tag === "StreamResumed") && event.tool === "book" ? [event] : []
      )
    /** Returns their tags. Losses in a row count as one. */
    const tags = () => pauses().map(({ _tag }) => _tag).filter((tag, index, all) => tag !== all[index - 1])
    return {
      ...fleet,
      owner,
      asked: () => asked,
      answer: Deferred.succeed(answered, undefined),
      booking,
      tags,
      ids: () => new Set(pauses().map(({ id }) => id)),
      failures: () => events.filter(({ _tag }) => _tag === "SendFailed" || _tag === "UnmatchedResponse")
    }
  })

  describe(`a call of ${name} over a fleet`, () => {
    for (const [end, ended] of [["cutOff", "was cut off"], ["stop", "stopped"]] as const) {
      it.live(`goes on after its owner ${ended}, with an answer that is sent after the pause`, () =>
        Effect.gen(function*() {
          const found = yield* book
          yield* found[end](found.owner)
          yield* until(() => found.tags().length === 2)
          assert.deepStrictEqual(found.tags(), ["StreamLost", "StreamResumed"])
          assert.strictEqual(found.ids().size, 1)
          yield* found.answer
          assert.strictEqual(textOf(yield* Fiber.join(found.booking)), "charge 1: accept")
          assert.deepStrictEqual(found.counts, { charged: 1, started: 2 })
          assert.strictEqual(found.asked(), 1)
          assert.deepStrictEqual(found.failures(), [])
        }))

      it.live(`goes on after its owner ${ended}, with an answer that was sent in the pause`, () =>
        Effect.gen(function*() {
          const found = yield* book
          yield* found[end](found.owner)
          yield* found.aim(found.owner)
          yield* found.answer
          assert.strictEqual(textOf(yield* Fiber.join(found.booking)), "charge 1: accept")
          assert.deepStrictEqual(found.tags(), ["StreamLost", "StreamResumed"])
          // A process that is cut off can still end the call, until the other one owns the session.
          assert.strictEqual(found.counts.charged, 1)
          assert.strictEqual(found.asked(), 1)
          assert.deepStrictEqual(found.failures(), [])
        }))
    }
  })
}
