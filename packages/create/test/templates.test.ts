/** The templates: projects of them are checked and tested with the packages of this workspace. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { promisify } from "node:util"
import * as Templates from "../../../scripts/templates.ts"
import { root } from "../../../scripts/workspace.ts"
import * as Template from "../src/Template.ts"
import * as Program from "./program.ts"

const exec = promisify(execFile)
const templates = path.join(root, "packages/create/templates")

/** Reads a JSON file. */
const json = (...names: ReadonlyArray<string>) => JSON.parse(fs.readFileSync(path.join(...names), "utf8"))

const folder = Program.folders()

/** A folder with a project of each template. */
const projects = folder()

beforeAll(async () => {
  const main = await Program.build(folder())
  for (const name of Templates.names) {
    const { status, stderr } = await Program.run(main, [name, "--template", name], projects)
    assert.strictEqual(status, 0, stderr)
  }
})

/** Runs a tool of the workspace in the folder of all projects. */
const run = async (tool: string, ...args: ReadonlyArray<string>): Promise<string> => {
  const program = path.join(root, "node_modules", tool)
  // Without this, a run of Vitest in a run of Vitest takes its settings from the environment.
  const { VITEST: _, ...env } = process.env
  const { stderr, stdout } = await exec(process.execPath, [program, ...args], {
    cwd: projects,
    env: { ...env, NO_COLOR: "1" }
  }).catch((error: { readonly stdout: string; readonly stderr: string }) => {
    throw new Error(error.stdout + error.stderr)
  })
  return stdout + stderr
}

describe.concurrent("a project of each template", () => {
  it("passes the compiler with its own configuration, which all of them share", async () => {
    const [first, ...others] = Templates.names.map((name) => json(projects, name, "tsconfig.json"))
    for (const other of others) assert.deepStrictEqual(other, first)
    const include = Templates.names.flatMap((name) => [`${name}/src`, `${name}/test`, `${name}/*.ts`])
    fs.writeFileSync(path.join(projects, "tsconfig.json"), JSON.stringify({ ...first, include }))
    await run("typescript/bin/tsc")
  }, 120_000)

  it("passes its own tests", async () => {
    const printed = await run("vitest/vitest.mjs", "run")
    assert.match(printed, /Tests +\d+ passed/)
    for (const name of Templates.names) assert.include(printed, ` ${name}/test/`)
  }, 120_000)
})

describe("a template", () => {
  it("is offered by the command", () => {
    assert.deepStrictEqual(Template.names.toSorted(), Templates.names.toSorted())
  })

  it.each(Templates.names)("%s leaves the versions of its dependencies to the build", (name) => {
    const { dependencies = {}, devDependencies = {}, peerDependencies = {} } = json(templates, name, "package.json")
    const ranges = Object.values({ ...dependencies, ...devDependencies, ...peerDependencies })
    assert.deepStrictEqual(Array.from(new Set(ranges)), ["*"])
  })

  it.each(Templates.names)("%s names what its files import, and gets the versions of this workspace", (name) => {
    const folder = path.join(projects, name)
    const manifest = json(folder, "package.json")
    const { dependencies = {}, devDependencies = {}, peerDependencies = {} } = manifest
    const installed = { ...peerDependencies, ...dependencies, ...devDependencies }
    const { devDependencies: tools } = json(root, "package.json")
    const { version } = json(root, "packages/create/package.json")
    for (const [dependency, range] of Object.entries(installed)) {
      const expected = dependency.startsWith("@effect-mcp/")
        ? `^${version}`
        : ["effect", "@effect/platform-node"].includes(dependency)
        ? `~${tools[dependency].replace(/\d+$/, "0")}`
        : tools[dependency]
      assert.strictEqual(range, expected, dependency)
    }
    assert.deepStrictEqual(manifest.engines, json(root, "package.json").engines)

    const sources = fs.globSync(["*.ts", "{src,test}/**/*.ts"], { cwd: folder })
    const imported = sources.flatMap((file) =>
      Array.from(
        fs.readFileSync(path.join(folder, file), "utf8").matchAll(/ from "(@[^/"]+\/[^/"]+|[^./"@][^/"]*)/g),
        ([, specifier = ""]) => specifier
      )
    ).filter((specifier) => !specifier.startsWith("node:"))
    // The packages that only commands use, and the peers of others.
    const silent = ["@types/node", "typescript", "vite", "vitest", "rolldown", "@effect/platform-node"]
    assert.deepStrictEqual(
      Array.from(new Set([...imported, ...silent.filter((one) => one in installed)])).toSorted(),
      Object.keys(installed).toSorted()
    )
  })
})
