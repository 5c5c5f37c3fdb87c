/** The package managers that install no package younger than a day, and what they print instead. */
import * as fs from "node:fs"
import * as path from "node:path"
import { headingOf } from "../errorHeadings.ts"
import { run } from "./command.ts"
import * as Tools from "./tools.ts"

/** A package manager with its own settings for young packages. */
export interface Quarantine {
  readonly name: string
  /** The heading of the page on troubleshooting that explains the error. */
  readonly heading: string
  /** Installs the packages of a project. `scope` has the registry of this project's packages. */
  readonly install: (cwd: string, registry: string, cache: string) => Promise<unknown>
}

export const quarantines: ReadonlyArray<Quarantine> = [
  {
    name: "yarn",
    heading: "YN0016: … All versions satisfying \"…\" are quarantined",
    install: async (cwd, registry, cache) => {
      const settings = [
        "unsafeHttpWhitelist: [127.0.0.1]",
        "enableTelemetry: false",
        `globalFolder: ${JSON.stringify(cache)}`,
        "npmScopes:",
        "  effect-mcp:",
        `    npmRegistryServer: ${JSON.stringify(registry)}`
      ]
      fs.writeFileSync(path.join(cwd, ".yarnrc.yml"), `${settings.join("\n")}\n`)
      fs.writeFileSync(path.join(cwd, "yarn.lock"), "")
      await run(process.execPath, [await Tools.commandOf(Tools.yarn, "yarn"), "install"], { cwd })
    }
  },
  {
    name: "deno",
    heading: "hint: This version is blocked by the minimum dependency age policy, which avoids installing …",
    install: async (cwd, registry, cache) => {
      fs.writeFileSync(path.join(cwd, ".npmrc"), `@effect-mcp:registry=${registry}\n`)
      fs.writeFileSync(path.join(cwd, "deno.json"), JSON.stringify({ nodeModulesDir: "auto" }))
      const env = { DENO_DIR: cache, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" }
      await run(await Tools.commandOf(Tools.deno, "deno"), ["install"], { cwd, env })
    }
  }
]

/** Fails unless each of these package managers rejects packages that were published just now, with its heading. */
export const check = async (
  registry: string,
  projectOf: (name: string) => string,
  cacheOf: (name: string) => string
): Promise<string> => {
  for (const { heading, install, name } of quarantines) {
    const output = await install(projectOf(name), registry, cacheOf(name)).then(
      () => "it has installed them",
      (error: unknown) => String(error)
    )
    const lines = output.split("\n").map((line) => line.replace(/^[^\w]+/, ""))
    if (!lines.some((line) => headingOf(line) === heading)) throw new Error(`${name}: not ${heading}: ${output}`)
  }
  return quarantines.map(({ name }) => name).join(", ")
}
