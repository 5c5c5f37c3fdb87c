/** The questions of the command to a person in a terminal. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Program from "./program.ts"

const built = Program.folder()
let main = ""
beforeAll(async () => {
  main = await Program.build(built)
})

const down = "\u{1b}[B"
const enter = "\r"

/** Runs the command in a pseudo-terminal, where a person answers each text that appears. */
const inTerminal = async (
  cwd: string,
  args: ReadonlyArray<string>,
  answers: ReadonlyArray<readonly [shown: string, typed: string]>
) => {
  // `script` copies between the pseudo-terminal and its own standard streams.
  const command = ["stty cols 100 rows 40; exec", process.execPath, main, ...args].join(" ")
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    cwd,
    env: { ...process.env, TERM: "xterm", NO_COLOR: "1", SHELL: "/bin/sh", npm_config_user_agent: "pnpm/12.21.0" },
    stdio: ["pipe", "pipe", "inherit"]
  })
  const closed = once(child, "close")
  const waiting = [...answers]
  let from = 0
  let written = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    written += text
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const [shown, typed] = next
      const index = written.indexOf(shown, from)
      if (index < 0) return
      from = index + shown.length
      waiting.shift()
      child.stdin.write(typed)
    }
  })
  const [status] = await closed
  assert.deepStrictEqual(waiting, [], written)
  return { status, written }
}

describe.concurrent("in a terminal, npm create @effect-mcp", () => {
  it("asks for the folder, the template and the package manager, of which the running one is the first", async () => {
    const cwd = Program.folder()
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
    const cwd = Program.folder()
    const { status, written } = await inTerminal(cwd, ["--template", "tools", "--package-manager", "npm"], [
      ["The folder of the project", `My${enter}`],
      ["npm accepts lower-case letters", `\u{7f}\u{7f}mine${enter}`]
    ])
    assert.strictEqual(status, 0, written)
    assert.deepStrictEqual(fs.readdirSync(cwd), ["mine"])
  })

  it("takes the first choices of a person who only presses Enter", async () => {
    const cwd = Program.folder()
    const { status } = await inTerminal(cwd, [], [
      ["The folder of the project", enter],
      ["The template", enter],
      ["The package manager", enter]
    ])
    assert.strictEqual(status, 0)
    assert.isTrue(fs.existsSync(path.join(cwd, "my-server/src/greetings.ts")))
  })

  it("asks nothing that the command line has", async () => {
    const cwd = Program.folder()
    const { status, written } = await inTerminal(cwd, ["mine", "--template", "tools"], [])
    assert.strictEqual(status, 0)
    assert.notInclude(written, "The package manager")
  })

  it("creates nothing after Ctrl-C", async () => {
    const cwd = Program.folder()
    const { status, written } = await inTerminal(cwd, [], [["The folder of the project", "\u{3}"]])
    assert.notStrictEqual(status, 0)
    assert.include(written, "nothing is created")
    assert.deepStrictEqual(fs.readdirSync(cwd), [])
  })
})
