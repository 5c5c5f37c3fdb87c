/**
 * A registry on this machine, to which the packages are published before users could have them.
 *
 * It has the packages of this project only, and asks no other registry: package managers take the scope `@effect-mcp`
 * from it, and everything else from their own registry. It keeps nothing after its end.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import { setTimeout } from "node:timers/promises"
import { run } from "./command.ts"
import * as Tools from "./tools.ts"

/** A running registry. */
export interface Registry {
  /** The URL, which ends with a slash. */
  readonly url: string
  /** Publishes an archive. */
  readonly publish: (archive: string) => Promise<void>
  readonly stop: () => Promise<void>
}

/** The scope of the packages, without the `@`. */
export const scope = "effect-mcp"

/** Returns the versions of a package that a registry has, the oldest first. */
export const versionsIn = async (registry: string, name: string): Promise<ReadonlyArray<string>> => {
  const response = await fetch(new URL(name, registry))
  if (response.status === 404) return []
  if (!response.ok) throw new Error(`${registry} answers ${response.status} about ${name}`)
  const { versions }: { readonly versions: Readonly<Record<string, unknown>> } = JSON.parse(await response.text())
  return Object.keys(versions)
}

const freePort = async (): Promise<number> => {
  const server = net.createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  if (address === null || typeof address === "string") throw new Error("no port is free")
  return address.port
}

const configuration = `
storage: ./storage
uplinks: {}
packages:
  "**":
    access: $all
    publish: $all
max_body_size: 50mb
web:
  enable: false
log: { type: stdout, format: pretty, level: warn }
`

/** Starts a registry whose files are in a folder. */
export const start = async (folder: string): Promise<Registry> => {
  const command = await Tools.commandOf(Tools.verdaccio, "verdaccio")
  const file = path.join(folder, "config.yaml")
  fs.writeFileSync(file, configuration)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const child = spawn(process.execPath, [command, "--config", file, "--listen", `127.0.0.1:${port}`], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"]
  })
  let log = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => log = (log + text).slice(-10_000))
  }
  const exited = once(child, "exit")
  const isUp = (): Promise<boolean> => fetch(`${url}-/ping`).then(({ ok }) => ok, () => false)
  while (!await isUp()) {
    if (child.exitCode !== null) throw new Error(`the registry has ended:\n${log}`)
    await setTimeout(100)
  }
  // Any token will do, but npm publishes nothing without one.
  const credentials = path.join(folder, "npmrc")
  fs.writeFileSync(credentials, `//127.0.0.1:${port}/:_authToken=local\n`)
  return {
    url,
    publish: async (archive) => {
      const options = ["--registry", url, "--userconfig", credentials, "--no-provenance", "--access", "public"]
      await run("npm", ["publish", archive, ...options], { cwd: folder })
    },
    stop: async () => {
      child.kill()
      await exited
    }
  }
}
