/** Program d: a client of three servers, one of which dies. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fastmcp from "fastmcp"
import * as Child from "./fixtures/child.ts"
import { compare } from "./fixtures/comparison.ts"
import { childrenOf } from "./fixtures/processes.ts"
import * as Remote from "./fixtures/remote.ts"

/** A run of the program, from its start to its end. */
class Run extends Context.Service<Run, {
  /** The output before the death of the first server. */
  readonly before: ReadonlyArray<string>
  /** The output after it. */
  readonly after: ReadonlyArray<string>
  readonly exit: number | NodeJS.Signals
  /** The calls that the remote server has received. */
  readonly calls: ReadonlyArray<Remote.Call>
  /** The sessions of the remote server after the end of the program. */
  readonly sessions: number
}>()("test/Run") {}

const linesOf = (text: string) => text.split("\n").filter((line) => line !== "")

/** Returns whether a line is a log message of Effect. A supervised client logs that its server has died. */
const isLogged = (line: string) => /^\[\d\d:\d\d:\d\d\.\d+\] /.test(line)

const run = (file: string) =>
  Effect.gen(function*() {
    const { calls, sessions, url } = yield* Remote.Remote
    const child = yield* Child.start([file, url])
    // The last of the calls is that of a server that does not exist.
    yield* Child.until(() => /nowhere.*\n$/.test(child.output()) || !child.isRunning())
    const before = child.output()
    const [tasks, ...more] = childrenOf(child.pid, "/a.ts")
    assert(tasks !== undefined && more.length === 0, `${before}${child.isRunning() ? "" : yield* child.errors}`)
    process.kill(tasks, "SIGKILL")
    // The program has read the exit code of its server as soon as the process is no longer listed.
    yield* Child.until(() => childrenOf(child.pid, "/a.ts").length === 0 && !isListed(tasks))
    child.end()
    const exit = yield* child.exit
    const after = linesOf(child.output().slice(before.length)).filter((line) => !isLogged(line))
    return Run.of({ before: linesOf(before), after, exit, calls, sessions: yield* sessions })
  }).pipe(Effect.scoped)

const isListed = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const start = (file: string) => Layer.provide(Layer.effect(Run, run(file)), Remote.layer)

/** Tests the part of the output that begins with a text, which is one line. */
const prints = (beginning: string, end = "") =>
  Effect.map(Run, ({ before }) => {
    const lines = before.filter((line) => line.startsWith(beginning))
    assert.strictEqual(lines.length, 1, before.join("\n"))
    assert.isTrue(lines[0]?.endsWith(end), lines[0])
  })

const written = JSON.stringify({ type: "text", text: "Write 20 words on bees for kids" })

const asksUser = prints("[user] reports asks: Who is the report on bees for?")
const samplesModel = prints(JSON.stringify({ text: `[model] ${written}`, model: "parrot" }))

const givesRoots = (expected: string) =>
  Effect.map(Run, ({ calls }) => assert.deepStrictEqual(calls.map(({ roots }) => roots), [expected]))

const failsToReport = Effect.gen(function*() {
  yield* prints("error: [{\"type\":\"text\",\"text\":\"The user declined\"}]")
  const { before } = yield* Run
  assert.isFalse(before.some((line) => line.startsWith("[user]")))
})

compare({
  program: "d",
  start,
  behaviours: {
    "lists the tools of three servers with their prefixes": prints(
      "tasks__add_task tasks__complete_task tasks__list_tasks remote__add_task reports__report"
    ),
    "calls a tool over stdio": prints(JSON.stringify({ id: 2, title: "tea", done: false })),
    "calls a tool over HTTP as ada": prints(JSON.stringify({ title: "coffee", owner: "ada" })),
    "answers an elicitation, and knows which server asks": asksUser,
    "answers a sampling request": samplesModel,
    "gives its roots": givesRoots("file:///home/ada"),
    "a call of an unknown server is an error that names it": Effect.map(
      Run,
      ({ before }) =>
        assert.strictEqual(before.filter((line) => /^error: .*nowhere/.test(line)).length, 1, before.join("\n"))
    ),
    "calls the first server again after it has died": Effect.map(Run, ({ after }) =>
      // The new process does not have the task of the old one.
      assert.deepStrictEqual(after, [JSON.stringify({ tasks: [{ id: 1, title: "write report", done: false }] })])),
    "exits and leaves no session": Effect.map(Run, ({ exit, sessions }) => {
      assert.strictEqual(exit, 0)
      assert.strictEqual(sessions, 0)
    })
  },
  deviations: {
    "effect-ai": {
      "answers an elicitation, and knows which server asks": {
        instead: "cannot answer an elicitation, and the tool that asks fails",
        check: failsToReport
      },
      "answers a sampling request": {
        instead: "declares neither sampling nor any other capability",
        check: Effect.map(Run, ({ calls }) => assert.deepStrictEqual(calls[0]?.capabilities, []))
      },
      "gives its roots": {
        instead: "gives no roots",
        check: givesRoots("MissingCapability")
      }
    }
  }
})

describe("program d, written with FastMCP", () => {
  it("has no client: nothing that it exports connects to a server", () => {
    assert.deepStrictEqual(Object.keys(fastmcp).filter((name) => /client|connect/i.test(name)), [])
  })
})
