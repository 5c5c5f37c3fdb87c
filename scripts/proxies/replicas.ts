/**
 * Two servers with sessions and one proxy, with the configuration of `docs/operate/containers.md`. Each session stays
 * at its server, and clients open new sessions at the other server after theirs has stopped.
 */
import { McpClient, McpTarget } from "@effect-mcp/client/node"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as path from "node:path"
import { freePort } from "../freePort.ts"
import { root } from "../workspace.ts"
import * as Running from "./running.ts"

const page = "docs/operate/containers.md"
const program = path.join(root, "packages/examples/container/src/server.ts")
const token = "token-of-ada"

const options = {
  info: { name: "replicas", version: "1.0.0" },
  // Only a revision with sessions.
  revisions: ["2025-11-25"]
} as const

const stop = (child: ChildProcess): Effect.Effect<void> =>
  Effect.promise(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, "exit")
    child.kill("SIGTERM")
    await exited
  })

/** Returns the number of sessions, which the readiness probe states. */
const sessionsAt = (port: number): Effect.Effect<number> =>
  Effect.promise(() => fetch(`http://127.0.0.1:${port}/readyz`).then((response) => response.text(), () => "")).pipe(
    Effect.map((text) => Number.parseInt(text, 10))
  )

/** Runs a server, until the scope closes. */
const serve = Effect.gen(function*() {
  const port = yield* freePort
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [program], {
        stdio: "ignore",
        env: { ...process.env, PORT: String(port), TOKEN: token }
      })
    ),
    stop
  )
  yield* Effect.repeat(sessionsAt(port), { until: (count) => count === 0, schedule: Schedule.spaced("100 millis") })
  return { child, port }
})

/** Checks a proxy with two servers and six sessions. */
export const check = Effect.fnUntraced(function*(proxy: Running.Proxy) {
  const fault = (problem: string) => new Running.ProxyFault({ proxy: proxy.command, problem })
  const [first, second] = [yield* serve, yield* serve]
  const url = `http://127.0.0.1:${yield* Running.start(page, proxy, [first.port, second.port])}/mcp`
  const headers = { authorization: Redacted.make(`Bearer ${token}`) }
  const clients = yield* Effect.forEach(
    Array.from({ length: 6 }),
    () => McpClient.make(McpTarget.url(url, { headers }), options)
  )
  const callAll = Effect.forEach(
    clients,
    ({ callTool }) => Effect.mapError(callTool("report", { pages: 1 }), (error) => fault(error.message))
  )
  for (let round = 0; round < 5; round++) yield* callAll
  const sessions = [yield* sessionsAt(first.port), yield* sessionsAt(second.port)]
  if (sessions.join() !== "3,3") return yield* fault(`the servers have ${sessions.join(" and ")} sessions`)
  yield* stop(first.child)
  yield* callAll
  const left = yield* sessionsAt(second.port)
  if (left !== clients.length) return yield* fault(`the server that is left has ${left} sessions`)
  yield* Console.log(
    `${proxy.command}  two servers with ${
      sessions.join(" and ")
    } sessions, and one with ${left} after the other has stopped`
  )
}, Effect.scoped)
