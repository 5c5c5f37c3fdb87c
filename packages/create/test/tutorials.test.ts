/** The tutorials of `docs/start`, step by step in a project of the template, with the packages of this workspace. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import { read, root } from "../../../scripts/workspace.ts"
import * as Program from "./program.ts"

const folder = Program.folders()

const project = path.join(folder(), "my-server")

/** Runs a program of Node in the project, and returns what it prints to both outputs. */
const run = async (file: string, ...args: ReadonlyArray<string>): Promise<string> => {
  // Without this, a run of Vitest in a run of Vitest takes its settings from the environment.
  const { stderr, stdout } = await Program.run(file, args, project, { VITEST: "" })
  return stdout + stderr
}

/** Runs a tool of the workspace in the project, and fails if the tool does. */
const succeed = async (tool: string, ...args: ReadonlyArray<string>): Promise<void> => {
  const { status, stderr, stdout } = await Program.run(path.join(root, "node_modules", tool), args, project, {
    VITEST: ""
  })
  assert.strictEqual(status, 0, stdout + stderr)
}

/** Returns the files that a tutorial lets its reader save: their names, and the blocks that follow. */
const filesOf = (page: string): ReadonlyArray<readonly [name: string, text: string]> =>
  Array.from(
    page.matchAll(/^(?:Save this as|Replace the text of) `([^`]+)`(?:(?!^```)[^])*^```ts [^\n]*\n([^]*?)^```$/gm),
    ([, name = "", text = ""]) => [name, text] as const
  )

/** Returns a text without its numbers, which depend on the day. */
const withoutNumbers = (text: string): string => text.trim().replaceAll(/\d+/g, "N")

/** Returns the texts that a page shows as printed. */
const printedIn = (page: string): ReadonlyArray<string> =>
  Array.from(page.matchAll(/^```text\n([^]*?)^```$/gm), ([, text = ""]) => withoutNumbers(text))

const server = read("docs/start/first-server.md")
const client = read("docs/start/first-client.md")

beforeAll(async () => {
  const main = await Program.build(folder())
  const { status, stderr } = await Program.run(main, ["my-server", "--template", "stdio"], path.dirname(project))
  assert.strictEqual(status, 0, stderr)
  const written = [...filesOf(server), ...filesOf(client)]
  assert.deepStrictEqual(written.map(([name]) => name), [
    "src/dates.ts",
    "src/main.ts",
    "test/dates.test.ts",
    "src/client.ts"
  ])
  for (const [name, text] of written) fs.writeFileSync(path.join(project, name), text)
  fs.rmSync(path.join(project, "src/greetings.ts"))
  fs.rmSync(path.join(project, "test/greetings.test.ts"))
})

const console = await joinedProgram(path.join(root, "packages/cli/src/bin.ts"))

describe("the first server", () => {
  it("passes npm run check, npm test and npm run build", async () => {
    await succeed("typescript/bin/tsc")
    await succeed("vitest/vitest.mjs", "run", "--root", ".", "--testTimeout=60000")
    await succeed("rolldown/bin/cli.mjs", "--config", "rolldown.config.ts")
    assert.isTrue(fs.existsSync(path.join(project, "dist/server.mjs")))
  }, 120_000)

  it.each(["2100-01-01T00:00:00Z", "2000-01-01T00:00:00Z", "tomorrow"])(
    "prints what its page shows for %s",
    async (date) => {
      const printed = await run(console, "call", "days_until", `date=${date}`, "--", "node", "src/main.ts")
      assert.include(printedIn(server), withoutNumbers(printed))
    }
  )
})

describe("the first client", () => {
  it("prints what its page shows", async () => {
    assert.include(printedIn(client), withoutNumbers(await run("src/client.ts", "src/main.ts")))
  })
})
