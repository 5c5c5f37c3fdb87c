/**
 * Releases the public packages, which all have one version.
 *
 * `pnpm release version` uses up the changesets: it writes the next version to the manifests, and what the changesets
 * say to the changelogs. `pnpm release publish` builds and publishes what the registry does not have, from a commit;
 * `--registry` takes another registry than that of npm. `pnpm release --dry-run` does both twice, in a copy and with a
 * registry on this machine, and installs the packages from there.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parseArgs } from "node:util"
import { orExit, UsageError } from "./commandLine.ts"
import { run } from "./packages/command.ts"
import { dryRun } from "./release/dryRun.ts"
import { publish } from "./release/publish.ts"
import { root } from "./workspace.ts"

const bin = (name: string) => path.join(root, "node_modules", ".bin", name)

/** Writes the versions and the changelogs, in the layout of this workspace. */
const version = async (): Promise<void> => {
  await run(bin("changeset"), ["version"], { cwd: root })
  // The sources have the version as well.
  await run(process.execPath, ["scripts/manifests.ts", "--update"], { cwd: root })
  await run(bin("dprint"), ["fmt", "packages/*/package.json", "packages/*/CHANGELOG.md"], { cwd: root })
}

const rehearse = async (): Promise<void> => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "release-"))
  try {
    await dryRun(folder)
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
}

const command = orExit(() => {
  const { positionals: [name, ...rest], values } = parseArgs({
    allowPositionals: true,
    options: {
      "dry-run": { type: "boolean", default: false },
      registry: { type: "string", default: "https://registry.npmjs.org/" }
    }
  })
  if (rest.length > 0) throw new UsageError(`pnpm release takes one command, not also "${rest.join(" ")}"`)
  if (values["dry-run"]) {
    if (name !== undefined) throw new UsageError("--dry-run takes no command: it does all of them")
    return rehearse
  }
  if (name === "version") return version
  if (name === "publish") return () => publish(values.registry)
  throw new UsageError(`pnpm release takes version, publish or --dry-run, not "${name ?? ""}"`)
})
await command()
