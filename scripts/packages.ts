/**
 * Checks the public packages as users get them: packed, installed by npm outside this workspace, imported by Node.
 *
 * `pnpm packages` builds them first. This script lints each package as it would be published, imports every entry, and
 * prints the names that the entry exports. Both forms of a package have to export the same names. A bundle that imports
 * every entry and uses nothing has to be empty, and a bundle of a client for browsers imports nothing of Node, whatever
 * conditions the bundler sets. Then the script starts a project from the template of a stdio server, runs the
 * project's checks and tests, and calls a tool of the bundled server, which it has copied to an empty folder.
 */
import { deepStrictEqual } from "node:assert"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { build } from "rolldown"
import * as Template from "./template.ts"
import { type Manifest, publicPackages, read, root } from "./workspace.ts"

const run = (cwd: string, command: string, args: ReadonlyArray<string>): void => {
  const { error, status } = spawnSync(command, args, { cwd, stdio: ["ignore", "inherit", "inherit"] })
  if (status !== 0) {
    throw new Error(`${path.basename(command)} failed`, { cause: error ?? `exit code ${status}` })
  }
}

// The versions that the tests ran with. Optional peers are installed as well, because every entry is imported.
const { devDependencies }: Manifest = JSON.parse(read("package.json"))
const peers = ["effect", "@effect/platform-node", "@effect/vitest", "vitest"].map((name) =>
  `${name}@${devDependencies?.[name] ?? "latest"}`
)

const importAll = `
  for (const entry of process.argv.slice(1)) {
    console.log(entry + ": " + Object.keys(await import(entry)).join(", "))
  }
`

/** Prints the entries whose two forms export different names. */
const compareForms = `
  import { readFileSync } from "node:fs"
  for (const name of process.argv.slice(1)) {
    const folder = new URL("node_modules/" + name + "/", "file://" + process.cwd() + "/")
    const { exports } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"))
    for (const [entry, forms] of Object.entries(exports)) {
      if (forms.node === undefined) continue
      const single = await import(new URL(forms.module, folder))
      const joined = await import(new URL(forms.node, folder))
      if (Object.keys(single).join() !== Object.keys(joined).join()) throw new Error(name + " " + entry)
    }
  }
`

const browserClient = `
  import { ClientSession } from "@effect-mcp/session"
  import { JsonLines } from "@effect-mcp/transport"
  globalThis.used = [ClientSession.layer, JsonLines.decoder]
`

const temporary = fs.mkdtempSync(path.join(os.tmpdir(), "effect-mcp-"))
const folder = (name: string): string => {
  const created = path.join(temporary, name)
  fs.mkdirSync(created)
  return created
}
try {
  const archives = folder("archives")
  const tarballs = publicPackages.map(({ folder }) => {
    const source = path.join(root, "packages", folder)
    const tarball = path.join(archives, `${folder}.tgz`)
    run(root, path.join("node_modules", ".bin", "publint"), [source, "--strict"])
    run(source, "pnpm", ["pack", "--out", tarball])
    return tarball
  })

  const project = folder("project")
  fs.writeFileSync(path.join(project, "package.json"), JSON.stringify({ private: true, type: "module" }))
  run(project, "npm", ["install", "--no-audit", "--no-fund", ...tarballs, ...peers])

  const entries = publicPackages.flatMap(({ manifest }) =>
    Object.keys(manifest.exports ?? {})
      .filter((entry) => entry !== "./package.json")
      .map((entry) => path.posix.join(manifest.name, entry))
  )
  run(project, process.execPath, ["--input-type=module", "--eval", importAll, ...entries])
  console.log(`${entries.length} entries imported`)
  run(project, process.execPath, [
    "--input-type=module",
    "--eval",
    compareForms,
    ...publicPackages.map(({ manifest }) => manifest.name)
  ])

  fs.writeFileSync(path.join(project, "unused.js"), entries.map((entry) => `import "${entry}"\n`).join(""))
  const bundler = path.join(root, "node_modules", ".bin", "rolldown")
  run(project, bundler, ["unused.js", "--platform", "node", "--minify", "--file", "unused.min.js"])
  deepStrictEqual(fs.readFileSync(path.join(project, "unused.min.js"), "utf8").trim(), "export{};")

  const client = path.join(project, "browser.js")
  fs.writeFileSync(client, browserClient)
  for (const conditionNames of [["module", "browser", "import", "default"], ["browser", "import", "default"]]) {
    const { output } = await build({ input: client, platform: "browser", resolve: { conditionNames }, write: false })
    const imported = output.flatMap((chunk) => chunk.type === "chunk" ? chunk.imports : [])
    deepStrictEqual(imported.filter((id) => id.startsWith("node:")), [])
  }

  const started = folder("started")
  Template.copyTo(started)
  const ofServers = ["protocol", "session", "tasks", "transport", "server"].map((name) =>
    path.join(archives, `${name}.tgz`)
  )
  run(started, "npm", ["install", "--save-dev", "--no-audit", "--no-fund", ...ofServers])
  for (const script of ["check", "test", "build"]) run(started, "npm", ["run", script])
  const bundled = path.join(folder("alone"), "server.mjs")
  fs.copyFileSync(path.join(started, "dist", "server.mjs"), bundled)
  await Template.tryBundled(bundled)
  console.log(`the template runs bundled, in ${fs.statSync(bundled).size} bytes`)
} finally {
  fs.rmSync(temporary, { recursive: true })
}
