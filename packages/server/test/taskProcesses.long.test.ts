/** Processes that share the tasks of one database. */
import { Revision, type Tool } from "@effect-mcp/protocol"
import { ClientSession, Transport } from "@effect-mcp/session"
import { RemoteTasks } from "@effect-mcp/tasks"
import * as StdioClient from "@effect-mcp/transport/node/StdioClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { fileURLToPath } from "node:url"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import { newFile } from "../../tasks/test/support/sqlStores.ts"
import { info } from "./support/connect.ts"

const fixture = await joinedProgram(fileURLToPath(new URL("fixtures/taskProcess.ts", import.meta.url)))

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : "").join()

/** Starts a process with this database, and returns the session with it, its process id and its standard error. */
const started = Effect.fnUntraced(function*(filename: string, lease: number) {
  const stderr: Array<string> = []
  const transport = StdioClient.layerNode({
    command: process.execPath,
    args: [fixture, filename, String(lease)],
    env: { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] },
    stderr: (line) => stderr.push(line)
  })
  const context = yield* Layer.build(transport)
  const session = yield* ClientSession.make({
    info,
    revisions: Revision.legacy,
    handlers: { "elicitation/create": () => Effect.succeed({ action: "accept" as const, content: { name: "Ada" } }) }
  }).pipe(Effect.provideService(Transport.Transport, Context.get(context, Transport.Transport)))
  return { session, stderr }
})

describe("two processes with one database", () => {
  it.live("[TSK-16] [TSK-20] [TSK-24] serve the tasks of each other", () =>
    Effect.gen(function*() {
      const filename = yield* newFile
      const one = yield* started(filename, 30_000)
      const other = yield* started(filename, 60_000)
      const find = (id: string | undefined) => RemoteTasks.of(other.session).of(id ?? "")
      const report = yield* RemoteTasks.of(one.session).call("report")
      assert.strictEqual((yield* find(report.id).state).status, "working")
      const [own, others] = yield* Effect.all([report.result, find(report.id).result], { concurrency: "unbounded" })
      assert.match(textOf(own), /^the report of \d+$/)
      assert.strictEqual(textOf(others), textOf(own))
      // The question of a task in one process is answered by the client of the other one.
      const greet = yield* RemoteTasks.of(one.session).call("greet")
      assert.match(textOf(yield* find(greet.id).result), /^hello Ada, from \d+$/)
      // A cancellation in one process interrupts the handler in the other one.
      const endless = yield* RemoteTasks.of(one.session).call("endless")
      assert.strictEqual((yield* find(endless.id).cancel).status, "cancelled")
      yield* Effect.repeat(Effect.sleep("20 millis"), { while: () => !one.stderr.includes("interrupted") })
    }), 60_000)

  it.live(
    "the task of a process that was killed fails when its lease has lapsed, and an ended one is kept",
    () =>
      Effect.gen(function*() {
        const filename = yield* newFile
        const scope = yield* Scope.make()
        const one = yield* Scope.provide(started(filename, 1_500), scope)
        const report = yield* RemoteTasks.of(one.session).call("report")
        const pid = Number(textOf(yield* report.result).replace("the report of ", ""))
        const endless = yield* RemoteTasks.of(one.session).call("endless")
        const other = yield* started(filename, 1_500)
        const waiting = yield* Effect.forkChild(
          Effect.flip(RemoteTasks.of(other.session).of(endless.id ?? "").result),
          {
            startImmediately: true
          }
        )
        process.kill(pid, "SIGKILL")
        assert.include((yield* Fiber.join(waiting)).message, "The process that ran the task has ended")
        assert.strictEqual((yield* RemoteTasks.of(other.session).of(endless.id ?? "").state).status, "failed")
        assert.strictEqual(
          textOf(yield* RemoteTasks.of(other.session).of(report.id ?? "").result),
          `the report of ${pid}`
        )
        yield* Scope.close(scope, Exit.void)
      }),
    30_000
  )

  it.live(
    "the task of a resumable tool goes on in another process after kill −9, and asks and reserves nothing twice",
    () =>
      Effect.gen(function*() {
        const filename = yield* newFile
        const scope = yield* Scope.make()
        const one = yield* Scope.provide(started(filename, 1_500), scope)
        const pid = Number(
          textOf(yield* (yield* RemoteTasks.of(one.session).call("report")).result).replace("the report of ", "")
        )
        const book = yield* RemoteTasks.of(one.session).call("book")
        yield* Effect.forkScoped(Effect.ignore(book.result))
        yield* Effect.repeat(Effect.sleep("20 millis"), { while: () => !one.stderr.includes("asked Ada") })
        process.kill(pid, "SIGKILL")
        yield* Scope.close(scope, Exit.void)
        const other = yield* started(filename, 1_500)
        const [, first, second] = /^reserved by (\d+) for Ada, confirmed by (\d+)$/.exec(
          textOf(yield* RemoteTasks.of(other.session).of(book.id ?? "").result)
        ) ?? []
        assert.strictEqual(Number(first), pid)
        assert.notStrictEqual(second, first)
      }),
    60_000
  )
})
