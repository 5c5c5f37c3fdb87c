/**
 * Checks the public packages as users get them: packed, published into a registry on this machine, and installed.
 *
 * `pnpm packages` builds them first. Then each part of the check runs by itself, and a table shows the results. A part
 * whose programs cannot be had fails, and names them. `pnpm packages --only yarn` runs the parts whose names begin with
 * `yarn`; the option may be repeated. The parts:
 *
 * - `lint`: publint and are-the-types-wrong accept each archive.
 * - `sizes`: the packages of this project that a server installs take at most 10 MB.
 * - `entries`: Node imports every entry. Both forms of a package export the same names, and a bundle that imports every
 *   entry and uses nothing is empty.
 * - `copies`: a program with a second copy of a package fails with one line that names both.
 * - `roots`: a project without `@effect/platform-node` imports the entries that need none of Node.
 * - `bundles`: see `packages/bundles.ts`.
 * - `typescript`: each supported compiler accepts the programs and the declarations, as a bundler and as Node resolve
 *   them.
 * - `node`: the oldest supported Node and the newest import every entry, and run the server of the README.
 * - `npm`, `pnpm`, `yarn`, `bun`, `deno`: the server of the README is installed, and a client calls its tool. The
 *   entries are imported.
 * - `programs`: npx runs the command line from the registry, which installs nothing else. It calls the server of the
 *   README, as a command and as an entry of a TOML file, and a server over HTTP, HTTP+SSE and WebSocket.
 * - `quarantine`: package managers that install no young packages print what the page on troubleshooting explains.
 * - `projects`: see `packages/projects.ts`.
 */
import { deepStrictEqual } from "node:assert"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parseArgs } from "node:util"
import { orExit, UsageError } from "./commandLine.ts"
import * as Archives from "./packages/archives.ts"
import * as Bundles from "./packages/bundles.ts"
import { run } from "./packages/command.ts"
import * as PackageManagers from "./packages/packageManagers.ts"
import * as Parts from "./packages/parts.ts"
import * as Program from "./packages/program.ts"
import * as Projects from "./packages/projects.ts"
import * as Quarantine from "./packages/quarantine.ts"
import * as Registry from "./packages/registry.ts"
import * as Tools from "./packages/tools.ts"
import * as Transports from "./packages/transports.ts"
import { libraries, type Manifest, programs, publicPackages, root } from "./workspace.ts"

const { peers, versionsOf } = Program
const optionalPeers = versionsOf("@effect/vitest", "vitest")

const published = Object.fromEntries(libraries.map(({ manifest }) => [manifest.name, `^${manifest.version}`]))

const entries = libraries.flatMap(({ manifest }) =>
  Object.keys(manifest.exports ?? {})
    .filter((entry) => entry !== "./package.json")
    .map((entry) => path.posix.join(manifest.name, entry))
)
/** The entries that a program can import which does not run under Vitest. */
const entriesOfPrograms = entries.filter((entry) => path.posix.basename(entry) !== "vitest")

const importing = (names: ReadonlyArray<string>): string => `
  const entries = ${JSON.stringify(names)}
  for (const entry of entries) await import(entry)
  console.log(entries.length + " entries")
`

/** Fails if an entry has two forms that export different names. */
const compareForms = `
  import { readFileSync } from "node:fs"
  for (const name of ${JSON.stringify(Object.keys(published))}) {
    const folder = new URL("node_modules/" + name + "/", import.meta.url)
    const { exports } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"))
    for (const [entry, forms] of Object.entries(exports)) {
      if (forms.node === undefined) continue
      const single = await import(new URL(forms.module, folder))
      const joined = await import(new URL(forms.node, folder))
      if (Object.keys(single).join() !== Object.keys(joined).join()) throw new Error(name + " " + entry)
    }
  }
`

/** Creates a folder below the one of this run, which exists once the command line is valid. */
const folder = (name: string): string => {
  const created = path.join(temporary, name)
  fs.mkdirSync(created, { recursive: true })
  return created
}

const { npm } = PackageManagers

/** Archives are made, and the registry is started, only for the parts that need them. */
const once = <A>(make: () => Promise<A>): () => Promise<A> => {
  let made: Promise<A> | undefined
  return () => made ??= make()
}

const archives = once(async () => {
  const destination = folder("archives")
  const packed: Array<Archives.Archive> = []
  for (const one of Archives.ordered) packed.push(await Archives.pack(one, destination))
  return packed
})
let stop: () => Promise<void> = async () => {}
const registry = once(async () => {
  const started = await Registry.start(folder("registry"))
  stop = started.stop
  for (const archive of await archives()) await started.publish(archive.file)
  return started
})

/** A project with all packages, installed by npm. */
const project = once(async () => {
  const cwd = folder("project")
  Program.writeProject(cwd, { ...published, ...peers, ...optionalPeers, ...versionsOf("@types/node") })
  await npm.install(cwd, (await registry()).url, folder("cache"))
  return cwd
})

const lint = async (): Promise<string> => {
  const attw = await Tools.commandOf(Tools.arethetypeswrong, "attw")
  const publint = path.join(root, "node_modules", ".bin", "publint")
  const withoutModules = new Set(programs.map(({ manifest }) => manifest.name))
  for (const { file, name } of await archives()) {
    await run(publint, [file, "--strict"], { cwd: root })
    if (!withoutModules.has(name)) await run(process.execPath, [attw, file, "--profile", "esm-only"], { cwd: root })
  }
  return `${publicPackages.length} archives`
}

const sizes = async (): Promise<string> => {
  const cwd = folder("sizes")
  Program.writeProject(cwd, { "@effect-mcp/server": published["@effect-mcp/server"] ?? "", ...peers })
  await npm.install(cwd, (await registry()).url, folder("cache"))
  const { bytes, files } = Archives.sizeOf(path.join(cwd, "node_modules", "@effect-mcp"))
  const whole = Archives.sizeOf(path.join(cwd, "node_modules"))
  const megabytes = (count: number): string => `${(count / 1_000_000).toFixed(1)} MB`
  if (bytes > 10_000_000) throw new Error(`${megabytes(bytes)} of this project are installed`)
  return `a server: ${megabytes(bytes)} in ${files} files are ours, of ${megabytes(whole.bytes)} in ${whole.files}`
}

const importEntries = async (): Promise<string> => {
  const cwd = await project()
  fs.writeFileSync(path.join(cwd, "entries.js"), importing(entries))
  fs.writeFileSync(path.join(cwd, "forms.js"), compareForms)
  fs.writeFileSync(path.join(cwd, "unused.js"), entries.map((entry) => `import "${entry}"\n`).join(""))
  const imported = await run(process.execPath, ["entries.js"], { cwd })
  await run(process.execPath, ["forms.js"], { cwd })
  const bundler = path.join(root, "node_modules", ".bin", "rolldown")
  await run(bundler, ["unused.js", "--platform", "node", "--minify", "--file", "unused.min.js"], { cwd })
  deepStrictEqual(fs.readFileSync(path.join(cwd, "unused.min.js"), "utf8").trim(), "export{};")
  return imported.trim()
}

/** Gives the server a second copy of what the transport uses. */
const secondCopy = async (): Promise<string> => {
  const cwd = folder("copies")
  Program.writeProject(cwd, { ...published, ...peers })
  await npm.install(cwd, (await registry()).url, folder("cache"))
  const modules = path.join(cwd, "node_modules", "@effect-mcp")
  const nested = path.join(modules, "server", "node_modules", "@effect-mcp")
  for (const name of ["protocol", "session"]) {
    fs.cpSync(path.join(modules, name), path.join(nested, name), { recursive: true })
  }
  fs.writeFileSync(path.join(cwd, "greeter.ts"), Program.greeter())
  const { status, stderr } = spawnSync(process.execPath, ["greeter.ts"], { cwd, encoding: "utf8", input: "" })
  const line = stderr.split("\n").find((one) => one.includes("PackageConflictError")) ?? stderr
  const named = [path.join(modules, "protocol"), path.join(nested, "protocol")].every((place) => line.includes(place))
  if (status === 0 || !named) throw new Error(`the server ends with ${status}: ${line}`)
  return line.trim().slice(0, 100)
}

const importRoots = async (): Promise<string> => {
  const cwd = folder("roots")
  Program.writeProject(cwd, { ...published, ...versionsOf("effect") })
  await npm.install(cwd, (await registry()).url, folder("cache"))
  const neutral = entriesOfPrograms.filter((entry) => !/\/node(?:\/|$)/.test(entry))
  fs.writeFileSync(path.join(cwd, "entries.js"), importing(neutral))
  return (await run(process.execPath, ["entries.js"], { cwd })).trim()
}

const bundles = async (): Promise<string> => (await Bundles.check(await project())).join("\n")

/** Checks all declarations with a compiler, and not only those that the programs use. */
const compile = async (compiler: Tools.Tool): Promise<string> => {
  const cwd = await project()
  fs.cpSync(Bundles.programs, cwd, { recursive: true })
  fs.writeFileSync(path.join(cwd, "greeter.ts"), Program.greeter())
  fs.writeFileSync(
    path.join(cwd, "all.ts"),
    entries.map((entry, index) => `export * as _${index} from "${entry}"\n`).join("")
  )
  const tsc = await Tools.commandOf(compiler, "tsc")
  for (const [module, moduleResolution] of [["NodeNext", "NodeNext"], ["ESNext", "bundler"]]) {
    const compilerOptions = {
      module,
      moduleResolution,
      target: "ES2022",
      lib: ["ES2024", "ESNext.Disposable", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      // The programs import each other by the names of their files.
      allowImportingTsExtensions: true,
      skipLibCheck: false,
      types: ["node"]
    }
    const files = ["all.ts", "greeter.ts", ...fs.readdirSync(Bundles.programs)]
    const config = `tsconfig.${compiler.version}.${moduleResolution}.json`
    fs.writeFileSync(path.join(cwd, config), JSON.stringify({ compilerOptions, files }))
    await run(process.execPath, [tsc, "-p", config, "--pretty", "false"], { cwd })
  }
  return "NodeNext, bundler"
}

/** Uses the packages with another Node than the one that runs this check. */
const runOn = async (runtime: Tools.Tool): Promise<string> => {
  const cwd = await project()
  const command = await Tools.commandOf(runtime, "node")
  fs.writeFileSync(path.join(cwd, "greeter.ts"), Program.greeter())
  fs.writeFileSync(path.join(cwd, "entries.js"), importing(entries))
  await Program.greet({ command, args: ["greeter.ts"], env: {} }, cwd)
  return `the tool answers; ${(await run(command, ["entries.js"], { cwd })).trim()}`
}

const installWith = async ({ install, name }: PackageManagers.PackageManager): Promise<string> => {
  const { url } = await registry()
  const cache = folder(`${name} cache`)
  const server = folder(`${name} server`)
  Program.writeProject(server, { "@effect-mcp/server": published["@effect-mcp/server"] ?? "", ...peers })
  fs.writeFileSync(path.join(server, "greeter.ts"), Program.greeter())
  await Program.greet((await install(server, url, cache)).program("greeter.ts"), server)

  const everything = folder(`${name} everything`)
  Program.writeProject(everything, { ...published, ...peers })
  fs.writeFileSync(path.join(everything, "entries.js"), importing(entriesOfPrograms))
  const { args, command, env } = (await install(everything, url, cache)).program("entries.js")
  return `the tool answers; ${(await run(command, args, { cwd: everything, env })).trim()}`
}

/** Runs the command line as a user does that has installed nothing, and then in a project with a server. */
const runPrograms = async (): Promise<string> => {
  const { url } = await registry()
  const empty = folder("programs")
  PackageManagers.writeScope(empty, url)
  const cache = folder("programs cache")
  const server = await project()
  fs.writeFileSync(path.join(server, "greeter.ts"), Program.greeter())
  for (const { manifest } of programs.filter(({ folder }) => folder === "cli")) {
    const npx = ["exec", "--yes", "--cache", cache, "--", `${manifest.name}@${manifest.version}`]
    await run("npm", [...npx, "--version"], { cwd: empty })
    const words = ["call", "greet", "name=Ada", "--", process.execPath, path.join(server, "greeter.ts")]
    deepStrictEqual(await run("npm", [...npx, ...words], { cwd: empty }), "Hello, Ada!\n")
    await Transports.forEach(async (url) => {
      const words = ["call", "greet", "name=Ada", "--header", `Authorization: Bearer ${Transports.token}`, "--", url]
      deepStrictEqual(await run("npm", [...npx, ...words], { cwd: empty }), "Hello, Ada!\n")
    })
    const toml = path.join(empty, "config.toml")
    const args = JSON.stringify([path.join(server, "greeter.ts")])
    fs.writeFileSync(toml, `[mcp_servers.greeter]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${args}\n`)
    const configured = ["call", "greet", "name=Ada", "--config", toml]
    deepStrictEqual(await run("npm", [...npx, ...configured], { cwd: empty }), "Hello, Ada!\n")
    for (const installed of fs.globSync("_npx/*/node_modules/**/package.json", { cwd: cache })) {
      const { name }: Manifest = JSON.parse(fs.readFileSync(path.join(cache, installed), "utf8"))
      deepStrictEqual(name, manifest.name, "npx has installed another package")
    }
  }
  const { bytes } = Archives.sizeOf(path.join(cache, "_npx"))
  return `the tool answers; npx installs ${(bytes / 1_000_000).toFixed(1)} MB`
}

const projects = async (): Promise<string> => Projects.check({ registry: (await registry()).url, folder })

/** Installs packages that were published just now. */
const quarantine = async (): Promise<string> => {
  const projectOf = (name: string): string => {
    const cwd = folder(`quarantine-${name}`)
    Program.writeProject(cwd, { "@effect-mcp/protocol": published["@effect-mcp/protocol"] ?? "" })
    return cwd
  }
  return Quarantine.check((await registry()).url, projectOf, (name) => folder(`quarantine-${name}-cache`))
}

const parts: ReadonlyArray<Parts.Part> = [
  { name: "lint", run: lint },
  { name: "sizes", run: sizes },
  { name: "entries", run: importEntries },
  { name: "copies", run: secondCopy },
  { name: "roots", run: importRoots },
  { name: "bundles", run: bundles },
  ...Tools.compilers.map((compiler) => ({ name: `typescript ${compiler.version}`, run: () => compile(compiler) })),
  ...Tools.runtimes.map((runtime) => ({ name: `node ${runtime.version}`, run: () => runOn(runtime) })),
  ...PackageManagers.all.map((manager) => ({ name: manager.name, run: () => installWith(manager) })),
  { name: "programs", run: runPrograms },
  { name: "quarantine", run: quarantine },
  { name: "projects", run: projects }
]

const chosen = orExit(() => {
  const { values: { only } } = parseArgs({ options: { only: { type: "string", multiple: true } } })
  const found = Parts.select(parts, only)
  if (found.length > 0) return found
  throw new UsageError(`--only takes the beginning of one of ${parts.map(({ name }) => name).join(", ")}`)
})

const temporary = fs.mkdtempSync(path.join(os.tmpdir(), "effect-mcp-"))
try {
  const results = await Parts.runAll(chosen)
  console.log(Parts.table(results))
  if (results.some(({ failure }) => failure !== undefined)) process.exitCode = 1
} finally {
  await stop()
  fs.rmSync(temporary, { recursive: true })
}
