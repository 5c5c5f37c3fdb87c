/**
 * Tries each part of the library on each runtime, and writes the table of `docs/serving/runtimes.md`.
 *
 * `pnpm runtimes` takes Bun, Deno and workerd from npm, as `pnpm packages` does, and the Chromium of the machine.
 * Servers run on a runtime and are called by Node, and clients run on a runtime and call Node. The page is served from
 * another origin than its servers. A runtime that cannot be had fails the run, and so does a difference from the table
 * without `--update`.
 */
import { spawn, spawnSync } from "node:child_process"
import { EventEmitter, once } from "node:events"
import * as fs from "node:fs"
import * as http from "node:http"
import * as os from "node:os"
import * as path from "node:path"
import { parseArgs } from "node:util"
import { build } from "rolldown"
import { orExit } from "./commandLine.ts"
import { formatted, replaced, table } from "./generated.ts"
import { run } from "./packages/command.ts"
import * as Tools from "./packages/tools.ts"
import * as Workers from "./packages/workers.ts"
import { everywhere, withTokens } from "./runtimes/calls.ts"
import * as Issuer from "./runtimes/issuer.ts"
import { read, root } from "./workspace.ts"

const { values: { update } } = orExit(() => parseArgs({ options: { update: { type: "boolean" } } }))

/** The part of a server that accepts tokens. */
const guardedServer = "protected server (`ResourceServer`)"

/** The parts in the order of the table, and whether a part is one of Node, Bun and Deno only. */
const parts: ReadonlyArray<readonly [name: string, isOnNode: boolean]> = [
  ["stdio server", true],
  ["HTTP server `layerNode`", true],
  ["HTTP+SSE server `layerNode`", true],
  ["WebSocket server `layerNode`", true],
  ["Unix socket server", true],
  ["`toWebHandler`", false],
  [guardedServer, false],
  ["stdio client", true],
  ["HTTP client `layerNode`", true],
  ["HTTP+SSE client `layerNode`", true],
  ["WebSocket client `layerNode`", true],
  ["Unix socket client", true],
  ["`McpClients` with a command", true],
  ["`OAuth` refuses names of private addresses", true],
  ...Object.keys(everywhere).map((name) => [name, false] as const)
]

/** Returns the result of a part that has failed. */
const failed = (error: unknown): string => `no: ${String(error).replaceAll(/\s+/g, " ").slice(-300)}`

const program = path.join(import.meta.dirname, "runtimes", "node.ts")
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "runtimes-"))
const running = new Set<ReturnType<typeof spawn>>()
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL")
  // Chromium ends its processes one after the other, and they write meanwhile.
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 })
})

/** Starts a server, and returns its address when it listens. */
const serve = async (command: ReadonlyArray<string>, ...args: ReadonlyArray<string>): Promise<string> => {
  const [file = "", ...first] = command
  const child = spawn(file, [...first, program, "serve", ...args], { stdio: ["ignore", "pipe", "pipe"] })
  running.add(child)
  let output = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  for (let wait = 0; wait < 300; wait++) {
    const address = /listening at (\S+)/.exec(output)?.[1]
    if (address !== undefined) return address
    if (child.exitCode !== null) break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(output.slice(0, 500))
}

/** Runs a client. Returns `yes`, or the end of its error. */
const call = ([file = "", ...first]: ReadonlyArray<string>, ...args: ReadonlyArray<string>): Promise<string> =>
  run(file, [...first, program, "call", ...args], { cwd: folder }).then(() => "yes", failed)

type Column = Readonly<Record<string, string>>

const node = [process.execPath]
const unix = path.join(folder, "node.sock")
const ports = { http: await serve(node, "http"), ws: await serve(node, "ws"), sse: await serve(node, "sse") }
await serve(node, "unix", unix)
const issuer = await Issuer.start()
const urlOfGuarded = (port: string): string => `http://127.0.0.1:${port}/protected`
/** The servers that clients of every platform call. */
const urls = [
  `http://127.0.0.1:${ports.http}/mcp`,
  `ws://127.0.0.1:${ports.ws}/mcp`,
  urlOfGuarded(await serve(node, "protected", issuer)),
  issuer
] as const
const asParameters = urls.map((url): [string, string] => ["address", url])
const [overHttp, overWebSocket, ...guarded] = urls
const addresses = [overHttp, overWebSocket, `http://127.0.0.1:${ports.sse}/sse`, unix, ...guarded]

/** Calls a protected server by a client of Node. */
const callGuarded = (url: string): Promise<string> => call(node, withTokens, "", "", "", "", url, issuer)

/** Tries all parts on a runtime that runs the programs of Node. */
const onNode = async (command: ReadonlyArray<string>): Promise<Column> => {
  const column: Record<string, string> = {}
  const attempt = async (name: string, work: () => Promise<string>) => {
    column[name] = await work().catch(failed)
  }
  const own = path.join(folder, `${running.size}.sock`)
  await attempt(
    "HTTP server `layerNode`",
    async () => call(node, "HTTP client `layerNode`", `http://127.0.0.1:${await serve(command, "http")}/mcp`)
  )
  await attempt(
    "HTTP+SSE server `layerNode`",
    async () => call(node, "HTTP+SSE client `layerNode`", "", "", `http://127.0.0.1:${await serve(command, "sse")}/sse`)
  )
  await attempt(
    "WebSocket server `layerNode`",
    async () => call(node, "WebSocket client `layerNode`", "", `ws://127.0.0.1:${await serve(command, "ws")}/mcp`)
  )
  await attempt(guardedServer, async () => callGuarded(urlOfGuarded(await serve(command, "protected", issuer))))
  await attempt("Unix socket server", async () => {
    await serve(command, "unix", own)
    return call(node, "Unix socket client", "", "", "", own)
  })
  for (const [name] of parts.filter(([name]) => !name.includes("server"))) {
    await attempt(name, () => call(command, name, ...addresses))
  }
  // The client of a runtime starts the server of the same runtime.
  column["stdio server"] = column["stdio client"] ?? ""
  return column
}

/**
 * Bundles a program for a page or a worker, without anything of Node. A worker is one file, because its host finds
 * imports by reading the file.
 */
const bundle = async (name: string): Promise<string> => {
  const dir = path.join(folder, name)
  const { output } = await build({
    input: path.join(import.meta.dirname, "runtimes", `${name}.ts`),
    platform: "browser",
    resolve: { conditionNames: ["browser", "import", "default"] },
    output: { dir, format: "esm", minify: true, entryFileNames: "[name].js", codeSplitting: name === "page" }
  })
  const imported = output.flatMap((chunk) => chunk.type === "chunk" ? [...chunk.imports, ...chunk.dynamicImports] : [])
    .filter((id) => !output.some(({ fileName }) => fileName === id))
  if (imported.length > 0) throw new Error(`the bundle of ${name}.ts imports ${imported.join(", ")}`)
  return dir
}

/** Tries the parts of every platform in a worker, without compatibility with Node. */
const inWorker = async (): Promise<Column> => {
  const dir = await bundle("worker")
  return Workers.serving(path.join(dir, "worker.js"), { ISSUER: issuer }, async (url) => {
    const column: Record<string, string> = {}
    column["`toWebHandler`"] = await call(node, "HTTP client `layerNode`", new URL("/mcp", url).href)
    column[guardedServer] = await callGuarded(new URL("/protected", url).href)
    for (const client of Object.keys(everywhere)) {
      const parameters = new URLSearchParams([["client", client], ...asParameters])
      const response = await fetch(new URL(`/call?${parameters}`, url))
      column[client] = await response.text()
    }
    return column
  })
}

const types: Readonly<Record<string, string>> = { ".js": "text/javascript", ".html": "text/html" }

/** Tries the clients of every platform in a page of another origin than the servers. */
const inPage = async (chromium: string): Promise<Column> => {
  const dir = await bundle("page")
  fs.writeFileSync(path.join(dir, "page.html"), "<!doctype html><script type=module src=/page.js></script>")
  const arrived = new EventEmitter()
  const server = http.createServer((request, response) => {
    if (request.method === "POST") {
      let body = ""
      request.on("data", (chunk: Buffer) => {
        body += chunk.toString()
      }).on("end", () => {
        response.end()
        arrived.emit("results", JSON.parse(body))
      })
      return
    }
    const file = path.join(dir, new URL(request.url ?? "/", "http://localhost").pathname)
    const isFile = fs.existsSync(file) && fs.statSync(file).isFile()
    response.writeHead(isFile ? 200 : 404, { "content-type": types[path.extname(file)] ?? "text/plain" })
      .end(isFile ? fs.readFileSync(file) : "")
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const parameters = new URLSearchParams(asParameters)
  const page = spawn(chromium, [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    `--user-data-dir=${path.join(folder, "profile")}`,
    `http://127.0.0.1:${port}/page.html?${parameters}`
  ], { stdio: "ignore" })
  running.add(page)
  const [column]: ReadonlyArray<Column> = await once(arrived, "results", { signal: AbortSignal.timeout(60_000) })
  page.kill("SIGKILL")
  server.close()
  server.closeAllConnections()
  return column ?? {}
}

/** Returns the command of the Chromium of this machine. */
const chromium = (): string => {
  const names = ["chromium", "chromium-browser", "google-chrome"]
  const found = names.find((name) => spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0)
  if (found === undefined) throw new Error(`this machine has no Chromium (${names.join(", ")}); install it`)
  return found
}

/** The permissions of programs on Deno, as the page lists them. `--no-prompt` rejects the use of any other one. */
const permissions = ["--no-prompt", ...["net", "env", "read", "write", "run"].map((name) => `--allow-${name}`)]

/** The columns of the table, and how each is made. */
const columns: ReadonlyArray<readonly [name: string, make: () => Promise<Column>]> = [
  ["Node", () => onNode(node)],
  ["Bun", async () => onNode([await Tools.commandOf(Tools.bun, "bun")])],
  ["Deno", async () => onNode([await Tools.commandOf(Tools.deno, "deno"), "run", ...permissions])],
  ["workerd", () => inWorker()],
  ["page in Chromium", () => inPage(chromium())]
]

const page = "docs/serving/runtimes.md"

const made: Array<readonly [name: string, column: Column]> = []
for (const [name, make] of columns) {
  const column = await make()
  made.push([name, column])
  for (const [part, result] of Object.entries(column)) if (result !== "yes") console.log(`${name}: ${part}: ${result}`)
}
const cell = (column: Column, part: string, isOnNode: boolean, name: string): string => {
  const isPossible = !isOnNode || ["Node", "Bun", "Deno"].includes(name)
  const isServer = part === "`toWebHandler`" || part === guardedServer
  if (!isPossible || (name.startsWith("page") && isServer)) return "–"
  return column[part] === "yes" ? "yes" : "**no**"
}
const text = table(
  ["", ...made.map(([name]) => name)],
  parts.map(([part, isOnNode]) => [part, ...made.map(([name, column]) => cell(column, part, isOnNode, name))])
)
console.log(text)
const before = read(page)
const after = formatted(page, replaced(before, "runtimes", text))
if (update === true) {
  fs.writeFileSync(path.join(root, page), after)
} else if (before !== after) {
  console.log(`${page} has another table; run pnpm runtimes --update`)
  process.exitCode = 1
}
process.exit()
