/** The templates: projects of them are checked and tested with the packages of this workspace. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { execFile, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { promisify } from "node:util"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
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
    // All of them load the same modules, and share the processors with other tests.
    const printed = await run("vitest/vitest.mjs", "run", "--no-isolate", "--maxWorkers=1", "--testTimeout=60000")
    assert.match(printed, /Tests +\d+ passed/)
    for (const name of Templates.names) assert.include(printed, ` ${name}/test/`)
  }, 120_000)
})

const console = await joinedProgram(path.join(root, "packages/cli/src/bin.ts"))

/** Runs commands of a shell in the project of a template, where `npx @effect-mcp/cli` is the one of this workspace. */
const shell = async (name: string, commands: string): Promise<string> => {
  const script = `npx() { shift; "${process.execPath}" "${console}" "$@"; }\n${commands}`
  const { stdout } = await exec("sh", ["-c", script], { cwd: path.join(projects, name) })
  return stdout.trim()
}

/** Returns the lines of a README that call a tool, with that of the token if there is one. */
const callsIn = (name: string): string =>
  (/^(?:TOKEN=.*\n)?npx @effect-mcp\/cli call .*$/m.exec(
    fs.readFileSync(path.join(projects, name, "README.md"), "utf8")
  ) ?? [""])[0]

/** Starts a server by a command in the project of a template, and uses the URL that the server prints. */
const serving = async <A>(name: string, args: ReadonlyArray<string>, use: (url: string) => Promise<A>): Promise<A> => {
  const child = spawn(process.execPath, [...args], {
    cwd: path.join(projects, name),
    env: { ...process.env, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"]
  })
  try {
    let printed = ""
    for await (const chunk of child.stdout.setEncoding("utf8")) {
      printed += String(chunk)
      const [url] = /http:\S+/.exec(printed) ?? []
      if (url !== undefined) return await use(url)
    }
    throw new Error(`the server has ended without a URL: ${printed}`)
  } finally {
    child.kill("SIGKILL")
  }
}

const address = "http://127.0.0.1:3000/mcp"

describe("the call in the README of a project", () => {
  it("of stdio gets an answer", async () => {
    assert.strictEqual(await shell("stdio", callsIn("stdio")), "Hello, Ada!")
  }, 60_000)

  it("of stateless gets an answer", async () => {
    const answer = await serving(
      "stateless",
      ["src/main.ts"],
      (url) => shell("stateless", callsIn("stateless").replace(address, url))
    )
    assert.deepStrictEqual(JSON.parse(answer), { fahrenheit: 212 })
  }, 60_000)

  it("of http gets an answer with its token, from the bundle as well", async () => {
    await shell("http", "npm run --silent token ada")
    await shell("http", `"${process.execPath}" "${root}/node_modules/rolldown/bin/cli.mjs" -c rolldown.config.ts`)
    const [, bundle = ""] = /^node (.* dist\/server\.mjs)/m.exec(
      fs.readFileSync(path.join(projects, "http/README.md"), "utf8")
    ) ?? []
    for (const command of ["--env-file-if-exists=.env src/main.ts", bundle]) {
      const answer = await serving(
        "http",
        command.split(" "),
        (url) => shell("http", callsIn("http").replace(address, url))
      )
      assert.deepStrictEqual(JSON.parse(answer), { count: 1 })
    }
  }, 60_000)
})

describe("the program of an agent", () => {
  it("prints one line if its script has no server", async () => {
    const text = JSON.stringify({ mcpServers: { other: { command: "node", args: ["src/notes.ts"] } } })
    const other = path.join(projects, "agent", "other")
    fs.mkdirSync(other)
    fs.writeFileSync(path.join(other, "servers.json"), text.replace("src/notes.ts", "../src/notes.ts"))
    const inOther = (folder: string) => Program.run(path.join(projects, "agent/src/main.ts"), ["Remember tea"], folder)
    const { status, stderr } = await inOther(other)
    assert.strictEqual(status, 1)
    assert.match(stderr, /^error: .*the script needs the server "notes"; add it to servers\.json, or set MODEL_URL.*$/m)
    assert.notInclude(stderr, "    at ")
    const { stderr: nowhere } = await inOther(projects)
    assert.match(nowhere, /^error: servers\.json cannot be read; run the program in a folder with this file$/m)
  }, 60_000)
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
