/**
 * Programs of the npm registry that the checks of packages run: other package managers, runtimes and compilers.
 *
 * They are no dependencies of this workspace, because each installation of it would take them along. npm installs a
 * program at its exact version when a check first needs it, into `node_modules/.cache/tools`.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { root } from "../workspace.ts"
import { run } from "./command.ts"

/** A program, at a version of the npm registry. */
export interface Tool {
  readonly name: string
  readonly version: string
  /** Versions of packages that npm installs instead of those that the program asks for. */
  readonly overrides?: Readonly<Record<string, string>>
}

export const arethetypeswrong: Tool = { name: "@arethetypeswrong/cli", version: "0.18.5" }
export const bun: Tool = { name: "bun", version: "1.4.5" }
export const deno: Tool = { name: "deno", version: "2.9.6" }
export const esbuild: Tool = { name: "esbuild", version: "0.28.2" }
export const mcpb: Tool = { name: "@anthropic-ai/mcpb", version: "2.1.2" }
export const miniflare: Tool = { name: "miniflare", version: "4.20260730.0" }
export const yarn: Tool = { name: "@yarnpkg/cli-dist", version: "4.18.1" }
export const yarnClassic: Tool = { name: "yarn", version: "1.22.22" }

/** The compilers with which programs are checked. */
export const compilers: ReadonlyArray<Tool> = ["5.8.3", "5.9.3", "6.0.3", "7.0.2"].map((version) => ({
  name: "typescript",
  version
}))

/** The oldest supported version of Node, and the newest. */
export const runtimes: ReadonlyArray<Tool> = ["22.19.0", "26.10.0"].map((version) => ({ name: "node", version }))

/** The registry. It asks for `node-fetch` by a tag, which not every registry has. */
export const verdaccio: Tool = { name: "verdaccio", version: "6.10.4", overrides: { "node-fetch": "2.7.0" } }

/** Installs a program unless it is installed, and returns the folder of its package. */
export const install = async ({ name, overrides = {}, version }: Tool): Promise<string> => {
  const folder = path.join(root, "node_modules", ".cache", "tools", `${name.replace("/", "+")}@${version}`)
  if (!fs.existsSync(folder)) {
    fs.mkdirSync(path.dirname(folder), { recursive: true })
    // Renamed at the end, so that an interrupted installation is not taken for a complete one.
    const installing = fs.mkdtempSync(`${folder}-`)
    try {
      fs.writeFileSync(path.join(installing, "package.json"), JSON.stringify({ private: true, overrides }))
      await run("npm", ["install", "--no-audit", "--no-fund", `${name}@${version}`], { cwd: installing })
      fs.renameSync(installing, folder)
    } catch (cause) {
      fs.rmSync(installing, { recursive: true, force: true })
      throw new Error(`${name} ${version} cannot be installed`, { cause })
    }
  }
  return path.join(folder, "node_modules", name)
}

/** Installs a program unless it is installed, and returns the path of one of its commands. */
export const commandOf = async (tool: Tool, command: string): Promise<string> => {
  const folder = await install(tool)
  const { bin }: { readonly bin: string | Readonly<Record<string, string>> } = JSON.parse(
    fs.readFileSync(path.join(folder, "package.json"), "utf8")
  )
  const file = typeof bin === "string" ? bin : bin[command]
  if (file === undefined) throw new Error(`${tool.name} ${tool.version} has no command ${command}`)
  return path.join(folder, file)
}
