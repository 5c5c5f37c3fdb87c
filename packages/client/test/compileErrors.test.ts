import { assert, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"

const root = path.resolve(import.meta.dirname, "../../..")
const source = fs.readFileSync(path.join(import.meta.dirname, "fixtures/mistakes.ts.txt"), "utf8").split("\n")

/** Returns what the compiler prints about a module, in a folder in which packages resolve as they do for users. */
const compile = (text: string): Promise<ReadonlyArray<string>> => {
  const folder = fs.mkdtempSync(path.join(root, ".examples-"))
  fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify({ type: "module" }))
  fs.writeFileSync(path.join(folder, "mistakes.ts"), text)
  fs.writeFileSync(
    path.join(folder, "tsconfig.json"),
    JSON.stringify({
      extends: "../tsconfig.base.json",
      files: ["mistakes.ts"],
      compilerOptions: {
        rootDir: "..",
        noEmit: true,
        composite: false,
        incremental: false,
        declarationMap: false,
        types: ["node"]
      }
    })
  )
  const compiler = path.join("node_modules", "typescript", "bin", "tsc")
  return new Promise((resolve) => {
    execFile(process.execPath, [compiler, "-p", folder, "--pretty", "false"], { cwd: root }, (_error, stdout) => {
      fs.rmSync(folder, { recursive: true })
      resolve(stdout.trimEnd().split("\n"))
    })
  })
}

it("each mistake is a compile error that names its cause, at its own line", async () => {
  const reports = new Map<number, string>()
  let current = 0
  for (const line of await compile(source.join("\n"))) {
    const position = /mistakes\.ts\((\d+),\d+\): error/.exec(line)
    if (position !== null) current = Number(position[1])
    reports.set(current, `${reports.get(current) ?? ""}${line}\n`)
  }
  const expected = source.flatMap((line, index) => {
    const [, message] = /\/\/ error: (.*)$/.exec(line) ?? []
    return message === undefined ? [] : [{ line: index + 2, message }]
  })
  assert.isAbove(expected.length, 5)
  assert.deepStrictEqual([...reports.keys()], expected.map(({ line }) => line), [...reports.values()].join("\n"))
  for (const { line, message } of expected) assert.include(reports.get(line), message)
}, 60_000)
