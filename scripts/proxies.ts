/**
 * Runs every installed reverse proxy with its configuration from `docs/serving/proxies.md`, and sends MCP messages
 * through it.
 *
 * `node scripts/proxies.ts` checks, for each proxy: a handshake and a call; that steps of progress arrive one by one
 * and not together with the result; that the session ends with DELETE; and a call over WebSocket. It fails if a check
 * fails or if no proxy is installed. `nginx`, `caddy`, `haproxy` and `apache2` are looked up in `PATH`.
 */
import { McpServer } from "@effect-mcp/server"
import { ClientSession, SessionHost } from "@effect-mcp/session"
import {
  Authentication,
  StreamableHttpClient,
  StreamableHttpServer,
  WebSocketClient,
  WebSocketServer
} from "@effect-mcp/transport/node"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import * as Tools from "../packages/examples/src/tools.ts"
import { freePort } from "./freePort.ts"
import { read } from "./workspace.ts"

const page = "docs/serving/proxies.md"

/** The time between two steps of progress, long enough to detect a proxy that buffers them until the result. */
const stepMillis = 100
const steps = 5

/** A proxy: the language of its block in the page, its program, and the arguments that run it in the foreground. */
interface Proxy {
  readonly language: string
  readonly command: string
  readonly args: (configuration: string, folder: string) => ReadonlyArray<string>
}

const proxies: ReadonlyArray<Proxy> = [
  {
    language: "nginx",
    command: "nginx",
    args: (file, folder) => ["-c", file, "-p", folder, "-e", "stderr", "-g", `daemon off; pid ${folder}/pid;`]
  },
  { language: "caddyfile", command: "caddy", args: (file) => ["run", "--config", file, "--adapter", "caddyfile"] },
  { language: "haproxy", command: "haproxy", args: (file) => ["-db", "-f", file] },
  {
    language: "apache",
    command: "apache2",
    args: (file, folder) => ["-X", "-f", file, "-c", `PidFile ${folder}/pid`, "-c", `ErrorLog ${folder}/errors`]
  }
]

class ProxyFault extends Data.TaggedError("ProxyFault")<{ readonly proxy: string; readonly problem: string }> {
  override get message(): string {
    return `${this.proxy}: ${this.problem}`
  }
}

const isInstalled = ({ command }: Proxy): boolean => spawnSync("which", [command]).status === 0

/** Returns the configuration of a proxy: the block of the page in its language. */
const configurationOf = ({ language }: Proxy): string => {
  const [, block] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(read(page)) ?? []
  if (block === undefined) throw new Error(`${page} has no block in ${language}`)
  return block
}

const isListening = (port: number): Effect.Effect<void, string> =>
  Effect.callback<void, string>((resume) => {
    const socket = net.connect(port, "127.0.0.1")
    socket.once("connect", () => resume(Effect.void)).once("error", ({ message }) => resume(Effect.fail(message)))
    return Effect.sync(() => socket.destroy())
  })

const stop = (child: ChildProcess): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    process.kill(-child.pid, "SIGKILL")
  })

/** Runs a proxy while the scope is open, with free ports instead of those of the page. Returns its port. */
const start = Effect.fnUntraced(function*(proxy: Proxy, ports: { readonly http: number; readonly ws: number }) {
  const port = yield* freePort
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "proxy-"))),
    (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
  )
  const configuration = path.join(folder, "configuration")
  const text = configurationOf(proxy)
    .replaceAll("8080", String(port))
    .replaceAll("3000", String(ports.http))
    .replaceAll("3001", String(ports.ws))
  fs.writeFileSync(configuration, text)
  const log: Array<string> = []
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(proxy.command, proxy.args(configuration, folder), {
        // A process group of its own, because worker processes of some proxies outlive the process that is killed.
        detached: true,
        stdio: ["ignore", "ignore", "pipe"],
        env: { ...process.env, MODULES: "/usr/lib/apache2/modules", HOME: folder }
      })
      child.stderr.setEncoding("utf8").on("data", (text: string) => log.push(text))
      return child
    }),
    stop
  )
  yield* isListening(port).pipe(
    Effect.retry(Schedule.max([Schedule.spaced("50 millis"), Schedule.recurs(100)])),
    Effect.mapError((problem) =>
      new ProxyFault({ proxy: proxy.command, problem: `does not listen: ${problem}\n${log.join("")}` })
    )
  )
  return port
})

/** Calls the tool `count`, and returns the arrival time of each step of progress and of the result, in milliseconds. */
const count = Effect.gen(function*() {
  const session = yield* ClientSession.ClientSession
  const began = performance.now()
  const arrivals: Array<number> = []
  yield* session.callTool("count", { to: steps, delayMs: stepMillis }, {
    onProgress: () => Effect.sync(() => void arrivals.push(performance.now() - began))
  })
  return { arrivals, total: performance.now() - began }
})

const client = ClientSession.layer({ info: { name: "proxies", version: "1.0.0" } })

const portOf = ({ address }: HttpServer["Service"]): number => "port" in address ? address.port : 0

/** Starts the server that the page describes, on free ports. */
const serve = Effect.gen(function*() {
  const host = Context.get(
    yield* Layer.build(McpServer.layerHost(Tools.layer, Tools.options)),
    SessionHost.SessionHost
  )
  const [http, ws] = yield* Effect.forEach(
    [StreamableHttpServer.layerNode({ port: 0 }), WebSocketServer.layerNode({ port: 0, path: "/ws" })],
    (server) => Effect.map(Layer.build(server), (built) => portOf(Context.get(built, HttpServer)))
  ).pipe(Effect.provideService(SessionHost.SessionHost, host), Effect.provide(Authentication.anonymous))
  return { host, ports: { http: http ?? 0, ws: ws ?? 0 } }
})

const check = Effect.fnUntraced(function*(proxy: Proxy) {
  const { host, ports } = yield* serve
  const port = yield* start(proxy, ports)

  const fault = (problem: string) => new ProxyFault({ proxy: proxy.command, problem })
  for (
    const [name, transport] of [
      ["Streamable HTTP", StreamableHttpClient.layerNode({ url: `http://127.0.0.1:${port}/mcp` })],
      ["WebSocket", WebSocketClient.layerNode({ url: `ws://127.0.0.1:${port}/ws` })]
    ] as const
  ) {
    const { arrivals, total } = yield* Effect.provide(count, Layer.provide(client, transport)).pipe(
      Effect.mapError((error) => fault(`${name}: ${String(error)}`))
    )
    const first = arrivals[0] ?? Number.POSITIVE_INFINITY
    if (arrivals.length < steps) return yield* fault(`${name}: ${arrivals.length} of ${steps} steps arrived`)
    if (first > total - stepMillis) return yield* fault(`${name}: the steps were held back until the result`)
    // Over WebSocket the server detects the end of the connection shortly after the client has closed it.
    const left = Effect.map(host.sessions, (sessions) => sessions.length)
    yield* Effect.repeat(left, { until: (open) => open === 0, schedule: Schedule.spaced("10 millis") }).pipe(
      Effect.timeoutOrElse({ duration: "5 seconds", orElse: () => fault(`${name}: the session did not end`) })
    )
    const rounded = arrivals.map((millis) => Math.round(millis)).join(", ")
    yield* Console.log(`${proxy.command}  ${name}: steps after ${rounded} ms, result after ${Math.round(total)} ms`)
  }
}, Effect.scoped)

const installed = proxies.filter(isInstalled)
for (const { command } of proxies.filter((proxy) => !installed.includes(proxy))) {
  console.log(`${command}  is not installed`)
}

if (installed.length === 0) {
  console.error("no proxy is installed: install nginx, caddy, haproxy or apache2")
  process.exitCode = 1
} else {
  const exit = await Effect.runPromise(Effect.result(Effect.forEach(installed, check, { discard: true })))
  if (exit._tag === "Failure") {
    console.error(exit.failure.message)
    process.exitCode = 1
  }
}
