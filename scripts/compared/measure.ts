/**
 * Measures the installations and the starts of the compared libraries.
 *
 * npm installs each library in a folder of its own: this one, which is built, from a registry on this machine, and the
 * others from the registry of npm. Program a of `packages/comparisons` is started as JavaScript beside the installed
 * packages, and bundled into one file. The contenders take turns, so that a change of the speed of the machine affects
 * all of them alike.
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { availableParallelism, cpus, tmpdir } from "node:os"
import * as path from "node:path"
import { build } from "rolldown"
import { type Implementation, implementations } from "../../packages/comparisons/src/implementations.ts"
import { fileOf } from "../../packages/comparisons/src/lineCount.ts"
import * as Archives from "../packages/archives.ts"
import { run } from "../packages/command.ts"
import * as Registry from "../packages/registry.ts"
import { type Manifest, publicPackages, read } from "../workspace.ts"
import type { Installation, Samples } from "./Samples.ts"

/** The packages of an implementation: those of a server, and what a client needs beside them. */
interface Needs {
  readonly server: ReadonlyArray<string>
  /** `undefined` if the library has no client. */
  readonly client: ReadonlyArray<string> | undefined
  /** Whether a package belongs to the library, and not to its foundation. */
  readonly isOwn: (name: string) => boolean
}

const effect = ["effect", "@effect/platform-node"]

const needs: Readonly<Record<string, Needs>> = {
  "effect-mcp": {
    server: ["@effect-mcp/server", ...effect],
    client: ["@effect-mcp/client"],
    isOwn: (name) => name.startsWith("@effect-mcp/")
  },
  official: {
    server: ["@modelcontextprotocol/server", "zod"],
    client: ["@modelcontextprotocol/client"],
    isOwn: (name) => name.startsWith("@modelcontextprotocol/")
  },
  fastmcp: { server: ["fastmcp", "zod"], client: undefined, isOwn: (name) => name === "fastmcp" },
  // It is a part of Effect.
  "effect-ai": { server: effect, client: [], isOwn: () => false }
}

const comparisons: Manifest = JSON.parse(read("packages/comparisons/package.json"))

/** Returns the version of a package: that of this workspace. */
const versionOf = (name: string): string =>
  publicPackages.find(({ manifest }) => manifest.name === name)?.manifest.version ??
    comparisons.dependencies?.[name] ?? ""

const sizeOf = (folder: string) => fs.existsSync(folder) ? Archives.sizeOf(folder) : { bytes: 0, files: 0 }

/** Installs packages in a folder. */
const install = async (
  folder: string,
  names: ReadonlyArray<string>,
  isOwn: Needs["isOwn"],
  registry: Registry.Registry
): Promise<Installation> => {
  fs.mkdirSync(folder, { recursive: true })
  const dependencies = Object.fromEntries(names.map((name) => [name, versionOf(name)]))
  fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }))
  fs.writeFileSync(path.join(folder, ".npmrc"), `@${Registry.scope}:registry=${registry.url}\n`)
  await run("npm", ["install", "--no-audit", "--no-fund"], { cwd: folder })
  const modules = path.join(folder, "node_modules")
  const { packages }: { readonly packages: Readonly<Record<string, unknown>> } = JSON.parse(
    fs.readFileSync(path.join(modules, ".package-lock.json"), "utf8")
  )
  const folders = Object.keys(packages)
  const own = folders.filter((one) => isOwn(one.replace(/^.*node_modules\//, "")))
  return {
    dependencies,
    packages: folders.length,
    ...sizeOf(modules),
    own: {
      packages: own.length,
      bytes: own.reduce((sum, one) => sum + sizeOf(path.join(folder, one)).bytes, 0)
    }
  }
}

/** Writes program a as JavaScript beside the installed packages, and as one file. Returns both. */
const writePrograms = async (implementation: Implementation, folder: string) => {
  const input = path.join(folder, "a.ts")
  fs.copyFileSync(fileOf(implementation, "a"), input)
  const written = { installed: path.join(folder, "a.mjs"), bundled: path.join(folder, "bundled", "a.mjs") }
  const options = { input, platform: "node", logLevel: "silent", cwd: folder } as const
  await build({
    ...options,
    external: (id) => !id.startsWith(".") && !path.isAbsolute(id),
    output: { file: written.installed, format: "esm" }
  })
  await build({ ...options, output: { file: written.bundled, format: "esm", codeSplitting: false, minify: true } })
  return written
}

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "compared", version: "1.0.0" } }
})

/** Returns the milliseconds from the start of a server to its first line, which is the answer. */
const firstAnswer = (file: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const began = performance.now()
    const child = spawn(process.execPath, [file], { stdio: ["pipe", "pipe", "ignore"], timeout: 30_000 })
    let output = ""
    let millis: number | undefined
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text
      if (millis !== undefined || !output.includes("\n")) return
      millis = performance.now() - began
      child.stdin.end()
    })
    child.stdin.on("error", reject)
    child.on("error", reject).on("close", () => {
      if (millis !== undefined && JSON.parse(output.split("\n", 1)[0] ?? "").id === 0) resolve(millis)
      else reject(new Error(`${file} has not answered, but written ${JSON.stringify(output.slice(0, 500))}`))
    })
    child.stdin.write(`${initialize}\n`)
  })

/** Measures everything, with this many rounds of starts. */
export const measure = async (rounds: number): Promise<Samples> => {
  const temporary = fs.mkdtempSync(path.join(tmpdir(), "compared-"))
  const folder = (name: string): string => {
    const created = path.join(temporary, name)
    fs.mkdirSync(created, { recursive: true })
    return created
  }
  const registry = await Registry.start(folder("registry"))
  try {
    for (const one of Archives.ordered) {
      await registry.publish((await Archives.pack(one, folder("archives"))).file)
    }
    const server: Record<string, Installation> = {}
    const both: Record<string, Installation> = {}
    const contenders: Array<{ readonly name: string; readonly file: string; readonly samples: Array<number> }> = []
    const installed: Record<string, Array<number>> = {}
    const bundled: Record<string, Array<number>> = {}
    const bundleBytes: Record<string, number> = {}
    for (const implementation of implementations) {
      const { folder: name } = implementation
      const needed = needs[name]
      if (needed === undefined) continue
      const project = folder(`${name}-server`)
      server[name] = await install(project, needed.server, needed.isOwn, registry)
      if (needed.client !== undefined) {
        const all = [...needed.server, ...needed.client]
        both[name] = await install(folder(`${name}-both`), all, needed.isOwn, registry)
      }
      const files = await writePrograms(implementation, project)
      bundleBytes[name] = fs.statSync(files.bundled).size
      contenders.push(
        { name: `${name}, installed`, file: files.installed, samples: installed[name] = [] },
        { name: `${name}, bundled`, file: files.bundled, samples: bundled[name] = [] }
      )
      console.log(`${name}: ${server[name].packages} packages installed`)
    }
    // The first start of each reads its files from the disk, and is not counted.
    for (const { file } of contenders) await firstAnswer(file)
    for (let round = 0; round < rounds; round++) {
      for (let turn = 0; turn < contenders.length; turn++) {
        const contender = contenders[(round + turn) % contenders.length]
        if (contender !== undefined) contender.samples.push(await firstAnswer(contender.file))
      }
    }
    return {
      date: new Date().toISOString().slice(0, 10),
      node: process.version,
      cpus: { count: availableParallelism(), model: (cpus()[0]?.model ?? "an unknown processor").trim() },
      server,
      both,
      installed,
      bundled,
      bundleBytes
    }
  } finally {
    await registry.stop()
    fs.rmSync(temporary, { recursive: true, force: true })
  }
}
