import { execFileSync } from "node:child_process"
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { build as bundle } from "rolldown"

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

const packages = ["protocol", "session", "transport", "server"]
const built = path("../results/built")

/** Returns the manifest as it is published. */
const published = (manifest: string): string => {
  const { publishConfig, ...rest } = JSON.parse(manifest)
  return JSON.stringify({ ...rest, ...publishConfig })
}

/** Returns the path of a server in TypeScript, which Node runs from the packages' sources. */
export const fromSource = (name: string): string => path(`servers/${name}.ts`)

/**
 * Returns the path of a server as it is deployed: JavaScript with the built packages, in the layout of an installation.
 * Effect and the official packages resolve from a parent folder.
 */
export const fromBuild = (name: string): string => {
  // The servers have no type annotations, so a copy of the file is JavaScript.
  const file = `${built}/${name}.mjs`
  mkdirSync(dirname(file), { recursive: true })
  copyFileSync(fromSource(name), file)
  return file
}

let isBuilt = false

/** Builds the packages and installs them beside the servers, once for this process. */
export const build = (): void => {
  if (isBuilt) return
  isBuilt = true
  execFileSync(path("../../../node_modules/.bin/tsc"), ["-b", path("../../../tsconfig.build.json")])
  execFileSync(process.execPath, [path("../../../scripts/joined.ts")])
  rmSync(built, { recursive: true, force: true })
  for (const name of packages) {
    const from = path(`../../${name}`)
    const to = `${built}/node_modules/@effect-mcp/${name}`
    mkdirSync(to, { recursive: true })
    cpSync(`${from}/dist`, `${to}/dist`, { recursive: true })
    writeFileSync(`${to}/package.json`, published(readFileSync(`${from}/package.json`, "utf8")))
  }
}

/** Bundles a server into one file with only the code that it uses, for a fast start, and returns its path. */
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
