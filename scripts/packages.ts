/**
 * Checks the public packages as users get them: packed, installed by npm outside this workspace, imported by Node.
 *
 * `pnpm packages` builds them first. This script lints each package as it would be published, imports every entry, and
 * prints the names that the entry exports.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { type Manifest, publicPackages, read, root } from "./workspace.ts"

const run = (cwd: string, command: string, args: ReadonlyArray<string>): void => {
  const { error, status } = spawnSync(command, args, { cwd, stdio: ["ignore", "inherit", "inherit"] })
  if (status !== 0) {
    throw new Error(`${path.basename(command)} failed`, { cause: error ?? `exit code ${status}` })
  }
}

// The versions that the tests ran with. Optional peers are installed as well, because every entry is imported.
const { devDependencies }: Manifest = JSON.parse(read("package.json"))
const peers = ["effect", "@effect/platform-node", "@effect/vitest", "ajv", "vitest"].map((name) =>
  `${name}@${devDependencies?.[name] ?? "latest"}`
)

const importAll = `
  for (const entry of process.argv.slice(1)) {
    console.log(entry + ": " + Object.keys(await import(entry)).join(", "))
  }
`

const project = fs.mkdtempSync(path.join(os.tmpdir(), "effect-mcp-"))
try {
  const tarballs = publicPackages.map(({ folder }) => {
    const source = path.join(root, "packages", folder)
    const tarball = path.join(project, `${folder}.tgz`)
    run(root, path.join("node_modules", ".bin", "publint"), [source, "--strict"])
    run(source, "pnpm", ["pack", "--out", tarball])
    return tarball
  })
  fs.writeFileSync(path.join(project, "package.json"), JSON.stringify({ private: true, type: "module" }))
  run(project, "npm", ["install", "--no-audit", "--no-fund", ...tarballs, ...peers])

  const entries = publicPackages.flatMap(({ manifest }) =>
    Object.keys(manifest.exports ?? {})
      .filter((entry) => entry !== "./package.json")
      .map((entry) => path.posix.join(manifest.name, entry))
  )
  run(project, process.execPath, ["--input-type=module", "--eval", importAll, ...entries])
  console.log(`${entries.length} entries imported`)
} finally {
  fs.rmSync(project, { recursive: true })
}
