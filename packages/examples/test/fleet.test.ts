/** A fleet of processes and its load balancer (`fleet.ts`), used by a client of the library. */
import { Revision, type Tool } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Child from "./fixtures/child.ts"
import { fleet, start } from "./fixtures/fleet.ts"

/** Connects a client. It answers each question with the question in upper case. */
const connect = Effect.fnUntraced(function*(
  url: string,
  token: string,
  { answer = (message) => Effect.succeed({ answer: message.toUpperCase() }), revisions = Revision.legacy }: {
    readonly answer?: (message: string) => Effect.Effect<{ readonly [name: string]: string }>
    readonly revisions?: readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>]
  } = {}
) {
  const updates = yield* Queue.unbounded<string>()
  const session = ClientSession.layer({
    info: { name: "sailor", version: "1.0.0" },
    revisions,
    handlers: {
      "elicitation/create": ({ message }) =>
        Effect.map(answer(message), (content) => ({ action: "accept" as const, content })),
      "notifications/resources/updated": ({ uri }) => Effect.asVoid(Queue.offer(updates, uri))
    }
  })
  const headers = { authorization: Redacted.make(`Bearer ${token}`) }
  const context = yield* Layer.build(Layer.provide(session, StreamableHttpClient.layerNode({ url, headers })))
  return { ...Context.get(context, ClientSession.ClientSession), updates }
})

/** Returns the number in the text of a result. */
const numberOf = Effect.map(({ content: [text] }: Tool.CallToolResult) => text?.type === "text" ? Number(text.text) : 0)

describe("fleet.ts", () => {
  it.live("a client uses all tools, and is notified of a change", () =>
    Effect.gen(function*() {
      const { pids, url } = yield* start("--store", "memory", "--processes", "1")
      const ada = yield* connect(url, "ada")
      const [who] = (yield* ada.callTool("who")).content
      assert.deepInclude(who, { text: String(pids[0]) })
      const asked = yield* ada.callTool("ask", { question: "where to?" })
      assert.deepStrictEqual(asked.structuredContent, { question: "where to?", answer: "WHERE TO?" })
      const steps: Array<number> = []
      yield* ada.callTool("slow", { ms: 250 }, {
        onProgress: ({ progress }) =>
          Effect.sync(() => {
            steps.push(progress)
          })
      })
      assert.deepStrictEqual(steps, [100, 200, 250])
      yield* ada.subscribeResource("fleet://harbour")
      const bob = yield* connect(url, "bob")
      yield* bob.callTool("touch", { uri: "fleet://harbour" })
      assert.strictEqual(yield* Queue.take(ada.updates), "fleet://harbour")
    }).pipe(Effect.scoped))

  it.live("a session goes on at another process after its own was killed", () =>
    Effect.gen(function*() {
      const { pids, url } = yield* start("--store", "sqlite", "--processes", "3")
      assert.strictEqual(pids.length, 3)
      const ada = yield* connect(url, "ada")
      yield* ada.subscribeResource("fleet://harbour")
      const who = numberOf(ada.callTool("who"))
      const owner = yield* who
      assert.include(pids, owner)
      // Each request goes to a random process, and all of them reach the owner.
      for (let i = 0; i < 10; i++) assert.strictEqual(yield* who, owner)
      process.kill(owner, "SIGKILL")
      const next = yield* Effect.retry(who, { times: 20, schedule: Schedule.spaced("500 millis") })
      assert.include(pids.filter((pid) => pid !== owner), next)
      yield* ada.callTool("touch", { uri: "fleet://harbour" })
      assert.strictEqual(yield* Queue.take(ada.updates), "fleet://harbour")
    }).pipe(Effect.scoped))

  it.live("a booking goes on at another process if its own is killed while it asks, and is charged once", () =>
    Effect.gen(function*() {
      const { pids, url } = yield* start("--store", "sqlite", "--processes", "3")
      let questions = 0
      let owner = 0
      const ada = yield* connect(url, "ada", {
        answer: () =>
          Effect.gen(function*() {
            questions++
            process.kill(owner, "SIGKILL")
            yield* Effect.sleep("1 second")
            return { seat: "12A" }
          })
      })
      owner = yield* numberOf(ada.callTool("who"))
      const { structuredContent } = yield* ada.callTool("book", { city: "Oslo" })
      assert.deepInclude(structuredContent, { city: "Oslo", seat: "12A" })
      assert.include(pids.filter((pid) => pid !== owner), Number(Object(structuredContent)["process"]))
      assert.deepStrictEqual([questions, yield* numberOf(ada.callTool("charges", { city: "Oslo" }))], [1, 1])
    }).pipe(Effect.scoped))

  it.live("a question of a revision without sessions is answered at any process", () =>
    Effect.gen(function*() {
      const { url } = yield* start("--store", "sqlite", "--processes", "3")
      const ada = yield* connect(url, "ada", { revisions: Revision.modern })
      for (let i = 0; i < 8; i++) {
        const { structuredContent } = yield* ada.callTool("ask", { question: "where to?" })
        assert.deepStrictEqual(structuredContent, { question: "where to?", answer: "WHERE TO?" })
      }
    }).pipe(Effect.scoped))

  it.live("the processes end with the program, also when it is killed", () =>
    Effect.gen(function*() {
      const { pids, program } = yield* start("--store", "memory", "--processes", "1")
      assert.strictEqual(pids.length, 1)
      program.kill("SIGKILL")
      yield* program.exited
      yield* Child.until(() => !pids.some(Child.isRunning))
    }).pipe(Effect.scoped))

  it.live("an invalid option ends it with status 2 and the usage", () =>
    Effect.gen(function*() {
      const program = yield* Child.program(process.execPath, [fleet, "--processes", "none"])
      const { exitCode, stderr } = yield* program.exited
      assert.strictEqual(exitCode, 2)
      assert.include(stderr, "--processes: expected an integer of at least 1, but got \"none\"")
      assert.include(stderr, "usage:")
    }).pipe(Effect.scoped))
})
