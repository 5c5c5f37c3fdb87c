/**
 * A rehearsal of two releases, in a copy of the workspace and with a registry on this machine: first the one that the
 * waiting changesets make, then one that breaks. A project with the first version stays on it. A project that mixes
 * both fails with a line that names them.
 */
import { deepStrictEqual } from "node:assert"
import * as fs from "node:fs"
import * as path from "node:path"
import { copyTo } from "../copy.ts"
import { run } from "../packages/command.ts"
import * as PackageManagers from "../packages/packageManagers.ts"
import * as Program from "../packages/program.ts"
import * as Registry from "../packages/registry.ts"
import { type Manifest, publicPackages, root } from "../workspace.ts"

const names = publicPackages.map(({ manifest }) => manifest.name)

/** Returns the versions of the packages of this project that a project has installed. */
const installedIn = (project: string): ReadonlyArray<string> => {
  const folder = path.join(project, "node_modules", `@${Registry.scope}`)
  const versions = fs.readdirSync(folder).map((name) => {
    const { version }: Manifest = JSON.parse(fs.readFileSync(path.join(folder, name, "package.json"), "utf8"))
    return version ?? ""
  })
  return Array.from(new Set(versions))
}

/** A server of one package over the transport of another one. It prints why it cannot start. */
const mixed = `
  import { McpGroup, McpResource, McpServer } from "@effect-mcp/server"
  import { Authentication, StreamableHttpServer } from "@effect-mcp/transport/node"
  import * as Effect from "effect/Effect"
  import * as Layer from "effect/Layer"

  const Time = McpGroup.make("time", McpResource.make("now", { uri: "time://now" }))
  const TimeLive = Time.toLayer((handlers) => handlers.resource("now", Effect.sync(() => new Date().toISOString())))
  const host = McpServer.layerHost(TimeLive, { info: { name: "time", version: "1.0.0" } })
  const server = StreamableHttpServer.layerNode({ port: 0 }).pipe(
    Layer.provide(host),
    Layer.provide(Authentication.anonymous)
  )
  const started = Effect.runPromise(Effect.scoped(Layer.build(server)))
  console.log(await started.then(() => "it serves", String))
  process.exit()
`

/** Returns the minor version after a version. */
const nextMinor = (version: string): string => {
  const [major, minor] = version.split(".")
  return `${major}.${Number(minor) + 1}.0`
}

/** Runs the rehearsal in an empty folder. */
export const dryRun = async (temporary: string): Promise<void> => {
  const folder = (name: string): string => {
    const created = path.join(temporary, name)
    fs.mkdirSync(created)
    return created
  }
  const state = () => run("git", ["status", "--porcelain"], { cwd: root })
  const before = await state()
  const copy = folder("copy")
  copyTo(copy)
  const inCopy = (command: string, ...args: ReadonlyArray<string>) =>
    run(command, args, { cwd: copy, env: { npm_config_userconfig: path.join(temporary, "registry", "npmrc") } })
  const commit = async (message: string): Promise<void> => {
    const identity = ["-c", "user.name=Release", "-c", "user.email=release@localhost", "-c", "commit.gpgsign=false"]
    await inCopy("git", "add", "--all")
    await inCopy("git", ...identity, "commit", "--quiet", "--no-verify", "--message", message)
  }
  await inCopy("git", "init", "--quiet", "--initial-branch", "main")
  await commit("the workspace")
  await inCopy("pnpm", "install", "--frozen-lockfile", "--prefer-offline")
  const registry = await Registry.start(folder("registry"))
  try {
    const versionOfCopy = (): string => {
      const found = new Set(publicPackages.map(({ manifestFile }) => {
        const { version }: Manifest = JSON.parse(fs.readFileSync(path.join(copy, manifestFile), "utf8"))
        return version
      }))
      deepStrictEqual(found.size, 1, `the packages have different versions: ${Array.from(found).join(", ")}`)
      return Array.from(found).join()
    }
    /** Makes the versions of the waiting changesets, and publishes them. */
    const release = async (): Promise<string> => {
      await inCopy("node", "scripts/release.ts", "version")
      // The sources have the version of their manifest.
      await inCopy("node", "scripts/manifests.ts")
      const version = versionOfCopy()
      for (const { folder: name } of publicPackages) {
        const changelog = fs.readFileSync(path.join(copy, "packages", name, "CHANGELOG.md"), "utf8")
        deepStrictEqual(changelog.includes(`\n## ${version}\n`), true, `the changelog of ${name} lacks ${version}`)
      }
      await commit(version)
      await inCopy("node", "scripts/release.ts", "publish", "--registry", registry.url)
      for (const name of names) {
        deepStrictEqual((await Registry.versionsIn(registry.url, name)).at(-1), version, name)
      }
      console.log(`${version}: ${names.length} packages published`)
      return version
    }
    /** Installs the server of the README in a project of its own, and calls its tool. */
    const start = async (name: string, range: string): Promise<string> => {
      const project = folder(name)
      Program.writeProject(project, {
        "@effect-mcp/server": range,
        "@effect-mcp/client": range,
        ...Program.peers
      })
      fs.writeFileSync(path.join(project, "greeter.ts"), Program.greeter())
      const { program } = await PackageManagers.npm.install(project, registry.url, "")
      await Program.greet(program("greeter.ts"), project)
      return project
    }

    const first = await release()
    const project = await start("first", `^${first}`)
    deepStrictEqual(installedIn(project), [first])

    const breaking = "---\n\"@effect-mcp/server\": minor\n---\n\nA change that breaks.\n"
    fs.writeFileSync(path.join(copy, ".changeset", "breaking.md"), breaking)
    const second = await release()
    deepStrictEqual(second, nextMinor(first))
    await run("npm", ["update", "--no-audit", "--no-fund"], { cwd: project })
    deepStrictEqual(installedIn(project), [first])
    console.log(`a project with ^${first} stays at ${first}`)
    deepStrictEqual(installedIn(await start("second", `^${second}`)), [second])
    console.log(`a project with ^${second} has ${second}`)

    const mixture = folder("mixed")
    const dependencies = { "@effect-mcp/server": first, "@effect-mcp/transport": second, ...Program.peers }
    Program.writeProject(mixture, dependencies)
    fs.writeFileSync(path.join(mixture, "server.mjs"), mixed)
    await PackageManagers.npm.install(mixture, registry.url, "")
    const line = (await run(process.execPath, ["server.mjs"], { cwd: mixture })).trim()
    const areNamed = [first, second].every((version) => line.includes(`@effect-mcp/protocol ${version} (`))
    deepStrictEqual([areNamed, line.split("\n").length], [true, 1], line)
    console.log(`a project with both: ${line}`)

    // Nothing is left to publish.
    await inCopy("node", "scripts/release.ts", "publish", "--registry", registry.url)
    for (const name of names) deepStrictEqual(await Registry.versionsIn(registry.url, name), [first, second])
    deepStrictEqual(await state(), before, "the work tree has changed")
  } finally {
    await registry.stop()
  }
}
