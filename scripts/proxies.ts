/**
 * Runs every installed reverse proxy with its configuration from `docs/serving/proxies.md`, and sends MCP messages
 * through it.
 *
 * `node scripts/proxies.ts` checks, for each proxy: a handshake and a call; that steps of progress arrive one by one
 * and not together with the result; that the session ends with DELETE; and a call over WebSocket. With HAProxy, it also
 * checks the configuration for several servers of `docs/operate/containers.md`. It fails if a check fails or if no
 * proxy is installed. `nginx`, `caddy`, `haproxy` and `apache2` are looked up in `PATH`.
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
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Tools from "../packages/examples/src/tools.ts"
import * as Replicas from "./proxies/replicas.ts"
import * as Running from "./proxies/running.ts"

const page = "docs/serving/proxies.md"

/** The time between two steps of progress, long enough to detect a proxy that buffers them until the result. */
const stepMillis = 100
const steps = 5

const proxies: ReadonlyArray<Running.Proxy> = [
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

const check = Effect.fnUntraced(function*(proxy: Running.Proxy) {
  const { host, ports } = yield* serve
  const port = yield* Running.start(page, proxy, [ports.http, ports.ws])

  const fault = (problem: string) => new Running.ProxyFault({ proxy: proxy.command, problem })
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

const installed = proxies.filter(Running.isInstalled)
for (const { command } of proxies.filter((proxy) => !installed.includes(proxy))) {
  console.log(`${command}  is not installed`)
}

if (installed.length === 0) {
  console.error("no proxy is installed: install nginx, caddy, haproxy or apache2")
  process.exitCode = 1
} else {
  const all = Effect.forEach(
    installed,
    (proxy) => proxy.language === "haproxy" ? Effect.andThen(check(proxy), Replicas.check(proxy)) : check(proxy)
  )
  const exit = await Effect.runPromise(Effect.result(all))
  if (exit._tag === "Failure") {
    console.error(exit.failure.message)
    process.exitCode = 1
  }
}
