/**
 * Runs the type check and the tests of this repository with the newest versions of Effect, and reports what fails.
 *
 * `node scripts/newestEffect.ts` copies the files of the workspace to an empty folder, replaces the versions of
 * `effect` and of the `@effect` packages there by those with the tag `latest`, installs, and runs `pnpm check` and
 * `pnpm test`. `--tag beta` takes another tag. It changes nothing here. The peers of the public packages are one minor
 * version of Effect, so this is the first step of supporting the next one.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parseArgs } from "node:util"
import { orExit } from "./commandLine.ts"
import { copyTo } from "./copy.ts"
import { packages, read, root } from "./workspace.ts"

const { values: { tag } } = orExit(() => parseArgs({ options: { tag: { type: "string", default: "latest" } } }))

/** Returns the output of a command. */
const output = (command: string, ...args: ReadonlyArray<string>): string => {
  const { error, status, stdout } = spawnSync(command, args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 ** 2 })
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed`, { cause: error ?? `exit code ${status}` })
  return stdout
}

/** The packages of Effect that manifests name at an exact version, and their versions. */
const used = new Map(
  ["package.json", ...packages.map(({ manifestFile }) => manifestFile)].flatMap((file) =>
    Array.from(read(file).matchAll(/"(effect|@effect\/[a-z-]+)": "(\d[^"]*)"/g), ([, name = "", version = ""]) =>
      [
        name,
        version
      ] as const)
  )
)
const newest = new Map(Array.from(used.keys(), (name) => {
  const { [tag]: version }: Readonly<Record<string, string>> = JSON.parse(
    output("npm", "view", name, "dist-tags", "--json")
  )
  if (version === undefined) throw new Error(`${name} has no version with the tag ${tag}`)
  return [name, version] as const
}))
for (const [name, version] of used) console.log(`${name} ${version} → ${newest.get(name)}`)

const copy = fs.mkdtempSync(path.join(os.tmpdir(), "newest-effect-"))
try {
  copyTo(copy)
  for (const file of ["package.json", ...packages.map(({ manifestFile }) => manifestFile)]) {
    const text = read(file).replaceAll(
      /"(effect|@effect\/[a-z-]+)": "([~^]?)\d[^"]*"/g,
      (all, name: string, range: string) => {
        const version = newest.get(name)
        return version === undefined ? all : `"${name}": "${range}${version}"`
      }
    )
    fs.writeFileSync(path.join(copy, file), text)
  }
  const run = (...args: ReadonlyArray<string>): boolean =>
    spawnSync("pnpm", args, { cwd: copy, stdio: "inherit" }).status === 0
  const steps = [["install", "--no-frozen-lockfile"], ["check"], ["test"]]
  const failed = steps.filter((step) => !run(...step)).map((step) => step.join(" "))
  console.log(failed.length === 0 ? "nothing fails" : `failed: ${failed.join(", ")}`)
  if (failed.length > 0) process.exitCode = 1
} finally {
  fs.rmSync(copy, { recursive: true })
}
