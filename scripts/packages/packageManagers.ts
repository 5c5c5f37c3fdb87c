/** The package managers with which users install the packages, each with what it needs to take them from a registry. */
import * as fs from "node:fs"
import * as path from "node:path"
import { run } from "./command.ts"
import { scope } from "./registry.ts"
import * as Tools from "./tools.ts"

/** A command that runs a file of a project. */
export interface Program {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
}

/** A project whose dependencies are installed. */
export interface Installed {
  /** Returns the command that runs a file with the runtime of the package manager. */
  readonly program: (file: string) => Program
}

/** A package manager, or one way of installing of it. */
export interface PackageManager {
  readonly name: string
  /**
   * Installs the dependencies of the `package.json` in a folder. The packages of this project come from a registry.
   * `cache` is an empty folder: some caches know a package by its name and version alone, and would install that of
   * an earlier run.
   */
  readonly install: (folder: string, registry: string, cache: string) => Promise<Installed>
  /**
   * Runs `create @effect-mcp` in a folder in which something was installed, with these words, and returns its output.
   * Yarn 1 and Bun have none: they take a new package from their own registry only.
   */
  readonly create?: (folder: string, cache: string, words: ReadonlyArray<string>) => Promise<string>
}

const onNode = (env: Readonly<Record<string, string>> = {}): Installed => ({
  program: (file) => ({ command: process.execPath, args: [file], env })
})

/** Writes the line with which npm, pnpm, Yarn 1, Bun and Deno take the scope from a registry. */
export const writeScope = (folder: string, registry: string): void =>
  fs.writeFileSync(path.join(folder, ".npmrc"), `@${scope}:registry=${registry}\n`)

export const npm: PackageManager = {
  name: "npm",
  install: async (cwd, registry) => {
    writeScope(cwd, registry)
    await run("npm", ["install", "--no-audit", "--no-fund"], { cwd })
    return onNode()
  },
  create: (cwd, cache, words) => run("npm", ["create", `@${scope}`, "--yes", "--cache", cache, "--", ...words], { cwd })
}

const pnpm: PackageManager = {
  name: "pnpm",
  install: async (cwd, registry) => {
    writeScope(cwd, registry)
    await run("pnpm", ["install", "--ignore-scripts", "--no-frozen-lockfile"], { cwd })
    return onNode()
  },
  create: (cwd, cache, words) => run("pnpm", ["create", `@${scope}`, ...words], { cwd, env: { XDG_CACHE_HOME: cache } })
}

/** Yarn 4. Its gate for packages younger than a day is lifted. */
const yarn = (linker: "node-modules" | "pnp"): PackageManager => ({
  name: `yarn ${linker}`,
  install: async (cwd, registry, cache) => {
    const command = await Tools.commandOf(Tools.yarn, "yarn")
    const settings = [
      `nodeLinker: ${linker}`,
      // A package that imports what its manifest does not name fails.
      "pnpFallbackMode: none",
      "npmMinimalAgeGate: \"0m\"",
      `npmPreapprovedPackages: ["@${scope}/*"]`,
      "unsafeHttpWhitelist: [127.0.0.1]",
      "enableTelemetry: false",
      "enableImmutableInstalls: false",
      `globalFolder: ${JSON.stringify(cache)}`,
      "npmScopes:",
      `  ${scope}:`,
      `    npmRegistryServer: ${JSON.stringify(registry)}`
    ]
    fs.writeFileSync(path.join(cwd, ".yarnrc.yml"), `${settings.join("\n")}\n`)
    // Without a lockfile of its own, a project would belong to one of a folder above.
    fs.writeFileSync(path.join(cwd, "yarn.lock"), "")
    await run(process.execPath, [command, "install"], { cwd })
    return { program: (file) => ({ command: process.execPath, args: [command, "node", file], env: {} }) }
  },
  // Yarn runs the program inside of its archive, whatever the linker of the project is.
  create: async (cwd, _cache, words) =>
    run(process.execPath, [await Tools.commandOf(Tools.yarn, "yarn"), "create", `@${scope}`, ...words], { cwd })
})

const yarnClassic: PackageManager = {
  name: "yarn 1",
  install: async (cwd, registry, cache) => {
    writeScope(cwd, registry)
    const command = await Tools.commandOf(Tools.yarnClassic, "yarn")
    await run(process.execPath, [command, "install", "--cache-folder", cache, "--non-interactive"], { cwd })
    return onNode()
  }
}

const bun: PackageManager = {
  name: "bun",
  install: async (cwd, registry, cache) => {
    writeScope(cwd, registry)
    const command = await Tools.commandOf(Tools.bun, "bun")
    await run(command, ["install"], { cwd, env: { BUN_INSTALL_CACHE_DIR: cache } })
    return { program: (file) => ({ command, args: ["run", file], env: {} }) }
  }
}

const denoEnvironment = (cache: string) => ({ DENO_DIR: cache, DENO_NO_UPDATE_CHECK: "1" })

/** Deno. Its gate for packages younger than a day is lifted. */
const deno: PackageManager = {
  name: "deno",
  install: async (cwd, registry, cache) => {
    writeScope(cwd, registry)
    fs.writeFileSync(
      path.join(cwd, "deno.json"),
      JSON.stringify({ nodeModulesDir: "auto", minimumDependencyAge: "0" })
    )
    const command = await Tools.commandOf(Tools.deno, "deno")
    const env = denoEnvironment(cache)
    await run(command, ["install"], { cwd, env })
    return { program: (file) => ({ command, args: ["run", "--allow-all", file], env }) }
  },
  create: async (cwd, cache, words) => {
    const args = ["create", "--yes", "--npm", `@${scope}`, "--", ...words]
    return run(await Tools.commandOf(Tools.deno, "deno"), args, { cwd, env: denoEnvironment(cache) })
  }
}

/** All package managers. */
export const all: ReadonlyArray<PackageManager> = [
  npm,
  pnpm,
  yarn("node-modules"),
  yarn("pnp"),
  yarnClassic,
  bun,
  deno
]
