/**
 * Projects that users create from the templates, with the real command and the packages of a registry on this machine.
 *
 * Each is created by `npm create @effect-mcp`, passes its own scripts, and is started once: a client calls a tool of
 * its server, in the worker as well, the agent answers, and the library is imported. Other package managers create one.
 */
import { ClientSession, type Transport } from "@effect-mcp/session"
import { StdioClient, StreamableHttpClient } from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { deepStrictEqual } from "node:assert"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as path from "node:path"
import { run } from "./command.ts"
import * as PackageManagers from "./packageManagers.ts"
import * as Program from "./program.ts"
import * as Tools from "./tools.ts"
import * as Workers from "./workers.ts"

/** Calls a tool over a transport, and compares the text of its result. */
const call = (
  transport: Layer.Layer<Transport.Transport>,
  tool: string,
  input: { readonly [name: string]: unknown },
  expected: string
): Promise<void> =>
  Effect.gen(function*() {
    const session = yield* ClientSession.ClientSession
    const { content } = yield* session.callTool(tool, input)
    deepStrictEqual(content, [{ type: "text", text: expected }])
  }).pipe(
    Effect.provide(Layer.provide(ClientSession.layer({ info: { name: "packages", version: "1.0.0" } }), transport)),
    Effect.runPromise
  )

/** Starts a server that prints its URL, uses it, and stops it. It has to end by itself. */
const listening = async (
  cwd: string,
  env: Readonly<Record<string, string>>,
  use: (url: string) => Promise<void>
): Promise<void> => {
  const child = spawn(process.execPath, ["dist/server.mjs"], {
    cwd,
    env: { ...process.env, PORT: "0", ...env },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const closed = once(child, "close")
  try {
    let printed = ""
    for await (const chunk of child.stdout.setEncoding("utf8")) {
      printed += String(chunk)
      const [url] = /http:\S+/.exec(printed) ?? []
      if (url === undefined) continue
      await use(url)
      break
    }
    child.kill("SIGTERM")
    const [status] = await closed
    deepStrictEqual(status === 0 || status === 130 || status === 143, true, `the server has ended with ${status}`)
  } finally {
    child.kill("SIGKILL")
  }
}

/** Starts the project of each template, in its folder, and returns a line for the table. */
const starts: { readonly [template: string]: (cwd: string) => Promise<string> } = {
  stdio: async (cwd) => {
    // The bundle runs alone, and is a bundle for hosts.
    const alone = path.join(fs.mkdtempSync(path.join(path.dirname(cwd), "alone-")), "server.mjs")
    fs.copyFileSync(path.join(cwd, "dist", "server.mjs"), alone)
    const server = StdioClient.layerNode({ command: process.execPath, args: [alone], stderr: "inherit" })
    await call(server, "greet", { name: "Ada" }, "Hello, Ada!")
    const mcpb = await Tools.commandOf(Tools.mcpb, "mcpb")
    await run(process.execPath, [mcpb, "validate", "dist/manifest.json"], { cwd })
    await run(process.execPath, [mcpb, "pack", "dist", "server.mcpb"], { cwd })
    return `a server of ${fs.statSync(alone).size} bytes, and a bundle of ${
      fs.statSync(path.join(cwd, "server.mcpb")).size
    }`
  },
  http: async (cwd) => {
    const token = (await run("npm", ["run", "--silent", "token", "ada"], { cwd })).trim()
    const [, secret = ""] = /^TOKEN_SECRET=(.+)$/m.exec(fs.readFileSync(path.join(cwd, ".env"), "utf8")) ?? []
    await listening(cwd, { TOKEN_SECRET: secret }, async (url) => {
      deepStrictEqual((await fetch(url, { method: "POST" })).status, 401)
      const server = StreamableHttpClient.layerNode({ url, headers: { authorization: `Bearer ${token}` } })
      await call(server, "add_note", { text: "tea" }, "{\"count\":1}")
    })
    return "a server that accepts its token"
  },
  stateless: async (cwd) => {
    const use = (url: string) =>
      call(StreamableHttpClient.layerNode({ url }), "to_fahrenheit", { celsius: 100 }, "{\"fahrenheit\":212}")
    await listening(cwd, {}, use)
    const worker = path.join(cwd, "dist", "worker.js")
    await Workers.serving(worker, {}, (url) => use(new URL("/mcp", url).href))
    return `a server, and a worker of ${fs.statSync(worker).size} bytes`
  },
  agent: async (cwd) => {
    // Without a terminal, no person can permit the note.
    const answer = (await run("npm", ["start", "--silent", "--", "Remember tea"], { cwd })).trim()
    deepStrictEqual(answer, "The notes are: {\"notes\":[]}")
    deepStrictEqual((await run(process.execPath, ["dist/agent.mjs", "Remember tea"], { cwd })).trim(), answer)
    return "an agent that answers"
  },
  tools: async (cwd) => {
    const program = "import(\"my-tools\").then((all) => console.log(Object.keys(all).join()))"
    const printed = (await run(process.execPath, ["--eval", program], { cwd })).trim()
    deepStrictEqual(printed, "Bookings,BookingsLive,Seat,SeatFree,SeatTaken,Seats")
    return "a library that is imported"
  }
}

/** Creates a project by a package manager in a new folder, and returns its folder. */
const create = async (
  { create, install, name: manager }: PackageManagers.PackageManager,
  template: string,
  { folder, registry }: Place
): Promise<string | undefined> => {
  if (create === undefined) return undefined
  const [cwd, cache] = [folder(`${manager} creates ${template}`), folder(`${manager} create cache`)]
  // Package managers read the registry of a scope from the project in which they run.
  Program.writeProject(cwd, {})
  await install(cwd, registry, cache)
  const name = `my-${template}`
  const printed = await create(cwd, cache, [name, "--template", template])
  const [command = ""] = manager.split(" ")
  if (!printed.includes(`\n  ${command} install\n`)) throw new Error(`the next command is missing:\n${printed}`)
  return path.join(cwd, name)
}

/** The registry, and a function that creates folders. */
export interface Place {
  readonly registry: string
  readonly folder: (name: string) => string
}

/** Creates, checks and starts a project of each template by npm, and creates one by each other package manager. */
export const check = async (place: Place): Promise<string> => {
  const lines: Array<string> = []
  for (const [template, start] of Object.entries(starts)) {
    const cwd = await create(PackageManagers.npm, template, place)
    if (cwd === undefined) throw new Error("npm creates no projects")
    await PackageManagers.npm.install(cwd, place.registry, "")
    for (const script of ["check", "test", "build"]) await run("npm", ["run", script], { cwd })
    lines.push(`${template}: ${await start(cwd)}`)
  }
  const creators = [PackageManagers.npm.name]
  for (const manager of PackageManagers.all.filter(({ name }) => !creators.includes(name))) {
    const cwd = await create(manager, "tools", place)
    if (cwd === undefined) continue
    deepStrictEqual(fs.existsSync(path.join(cwd, "package.json")), true, manager.name)
    creators.push(manager.name)
  }
  return [...lines, `created by ${creators.join(", ")}`].join("\n")
}
