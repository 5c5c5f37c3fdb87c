/** The questions of the command to a person in a terminal. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Terminal from "../../cli/test/fixtures/terminal.ts"
import * as Program from "./program.ts"

const folder = Program.folders()

const built = folder()
let main = ""
beforeAll(async () => {
  main = await Program.build(built)
})

const { ctrlC, down, enter } = Terminal.keys

/** Texts that appear, each with the keys that a person then presses. */
type Answers = ReadonlyArray<readonly [shown: string, typed: string]>

/** Runs a program of Node in a folder, by pnpm, in a terminal where a person answers each text that appears. */
const run = (cwd: string, words: ReadonlyArray<string>, answers: Answers) =>
  Effect.gen(function*() {
    const script = "cd \"$0\"; exec env npm_config_user_agent=pnpm/12.21.0 \"$@\""
    const terminal = yield* Terminal.start("/bin/sh", "-c", script, cwd, process.execPath, ...words)
    for (const [shown, typed] of answers) yield* terminal.answers(shown, typed)
    const { exitCode, stdout } = yield* terminal.exited
    return { status: exitCode, written: stdout }
  }).pipe(Effect.scoped, Effect.runPromise)

const inTerminal = (cwd: string, args: ReadonlyArray<string>, answers: Answers) => run(cwd, [main, ...args], answers)

describe.concurrent("in a terminal, npm create @effect-mcp", () => {
  it("asks for the folder, the template and the package manager, of which the running one is the first", async () => {
    const cwd = folder()
    const { status, written } = await inTerminal(cwd, [], [
      ["The folder of the project", `my-http${enter}`],
      ["The template", down + enter],
      ["The package manager", enter]
    ])
    assert.strictEqual(status, 0)
    assert.include(written, "Created my-http from the template http")
    assert.include(written, "pnpm install")
    assert.isTrue(fs.existsSync(path.join(cwd, "my-http/src/Tokens.ts")))
  })

  it("asks again for a folder whose name is no name of a package", async () => {
    const cwd = folder()
    const { status, written } = await inTerminal(cwd, ["--template", "tools", "--package-manager", "npm"], [
      ["The folder of the project", `My${enter}`],
      ["npm accepts lower-case letters", `\u{7f}\u{7f}mine${enter}`]
    ])
    assert.strictEqual(status, 0, written)
    assert.deepStrictEqual(fs.readdirSync(cwd), ["mine"])
  })

  it("asks again for a folder that is not empty", async () => {
    const cwd = folder()
    fs.mkdirSync(path.join(cwd, "full/inner"), { recursive: true })
    const { status } = await inTerminal(cwd, ["--template", "tools", "--package-manager", "npm"], [
      ["The folder of the project", `full${enter}`],
      ["is not empty", `er${enter}`]
    ])
    assert.strictEqual(status, 0)
    assert.deepStrictEqual(fs.readdirSync(cwd), ["full", "fuller"])
  })

  it("takes the first choices of a person who only presses Enter", async () => {
    const cwd = folder()
    const { status } = await inTerminal(cwd, [], [
      ["The folder of the project", enter],
      ["The template", enter],
      ["The package manager", enter]
    ])
    assert.strictEqual(status, 0)
    assert.isTrue(fs.existsSync(path.join(cwd, "my-server/src/greetings.ts")))
  })

  it("asks nothing that the command line has", async () => {
    const cwd = folder()
    const { status, written } = await inTerminal(cwd, ["mine", "--template", "tools"], [])
    assert.strictEqual(status, 0)
    assert.notInclude(written, "The package manager")
  })

  it("creates nothing after Ctrl-C", async () => {
    const cwd = folder()
    const { status, written } = await inTerminal(cwd, [], [["The folder of the project", ctrlC]])
    assert.notStrictEqual(status, 0)
    assert.include(written, "nothing is created")
    assert.deepStrictEqual(fs.readdirSync(cwd), [])
  })
})

describe("an agent in a terminal", () => {
  it("asks before it adds a note, and Ctrl-C ends it", async () => {
    const cwd = path.join(folder(), "agent")
    assert.strictEqual((await Program.run(main, [cwd, "--template", "agent"], built)).status, 0)
    const ask = (typed: string) => run(cwd, ["src/main.ts", "tea"], [["{\"text\":\"tea\"}? (y/N)", typed]])
    assert.include((await ask(`y${enter}`)).written, "The notes are: {\"notes\":[\"tea\"]}")
    assert.include((await ask(enter)).written, "The notes are: {\"notes\":[]}")
    const { status, written } = await ask(ctrlC)
    assert.notStrictEqual(status, 0)
    assert.notInclude(written, "The notes are")
  })
})
