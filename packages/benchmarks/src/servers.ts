import { execFileSync } from "node:child_process"
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { build as bundle } from "rolldown"

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

const packages = ["protocol", "session", "transport"]
const built = path("../results/built")

/** The manifest as it will be published. */
const published = (manifest: string): string => {
  const { publishConfig, ...rest } = JSON.parse(manifest)
  return JSON.stringify({ ...rest, ...publishConfig })
}

/**
 * The server of this name as TypeScript, run by Node from the packages' sources.
 */
export const fromSource = (name: string): string => path(`servers/${name}.ts`)

/**
 * The server of this name as it would be deployed: plain JavaScript, over the built packages, laid out as an installation
 * would be. Effect and the official packages are found further up.
 */
export const fromBuild = (name: string): string => {
  // The servers name no types, so that a copy is a compilation.
  const file = `${built}/${name}.mjs`
  copyFileSync(fromSource(name), file)
  return file
}

/** Builds the packages and installs them beside the servers. */
export const build = (): void => {
  execFileSync(path("../../../node_modules/.bin/tsc"), ["-b", path("../../../tsconfig.build.json")])
  rmSync(built, { recursive: true, force: true })
  for (const name of packages) {
    const from = path(`../../${name}`)
    const to = `${built}/node_modules/@effect-mcp/${name}`
    mkdirSync(to, { recursive: true })
    cpSync(`${from}/dist`, `${to}/dist`, { recursive: true })
    writeFileSync(`${to}/package.json`, published(readFileSync(`${from}/package.json`, "utf8")))
  }
}

/** The server of this name as one file, with only what it uses of all packages, as it would be bundled to start fast. */
export const fromBundle = async (name: string): Promise<string> => {
  const file = `${built}/bundled/${name}.mjs`
  await bundle({
    input: fromBuild(name),
    platform: "node",
    logLevel: "silent",
    output: { file, format: "esm", codeSplitting: false, minify: true }
  })
  return file
}
