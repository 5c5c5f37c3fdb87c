/**
 * Runs an attack on a server: `node attacker.ts websocket ws://127.0.0.1:3000/mcp 'answers of 1 MB, unread'`. The
 * attack ends at a message of the parent, or with the parent. Over stdio this process is the parent of the victim, and
 * forwards its reports.
 */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { httpAttacks, httpSessionAttacks } from "./httpAttacks.ts"
import * as Line from "./Line.ts"
import { lineAttacks, manyLinesAttacks, type Open } from "./lineAttacks.ts"
import * as SsePlace from "./ssePlace.ts"
import { webSocketAttacks } from "./webSocketAttacks.ts"

const [transport = "", place = "", name = ""] = process.argv.slice(2)

const stop = new AbortController()
process.on("message", () => stop.abort())
process.on("disconnect", () => process.exit(0))

const named = <Way>(attacks: Readonly<Record<string, Way>>): Way => {
  const attack = attacks[name]
  if (attack === undefined) throw new Error(`unknown attack "${name}" over ${transport}`)
  return attack
}

/** Starts the victim as a child on the first call. */
const child = (): Open => {
  const victim = spawn(
    process.execPath,
    [...process.execArgv, fileURLToPath(new URL("serverVictim.ts", import.meta.url)), "stdio"],
    { stdio: ["pipe", "pipe", "inherit", "ipc"] }
  )
  victim.on("message", (message) => process.send?.(message))
  victim.on("exit", (code, signal) => process.send?.({ exit: signal ?? code }))
  const line = Line.stdio(victim)
  let used = false
  return () => {
    if (used) return new Promise(() => {})
    used = true
    return Promise.resolve(line)
  }
}

switch (transport) {
  case "stdio":
    await Promise.race([
      named(lineAttacks)(child(), stop.signal),
      new Promise((resolve) => stop.signal.addEventListener("abort", resolve))
    ])
    break
  case "unix":
    await named({ ...lineAttacks, ...manyLinesAttacks })(() => Line.unix(place), stop.signal)
    break
  case "websocket":
    if (name in webSocketAttacks) await named(webSocketAttacks)(new URL(place), stop.signal)
    else await named({ ...lineAttacks, ...manyLinesAttacks })(() => Line.webSocket(place), stop.signal)
    break
  case "http-sse":
    await named({ ...lineAttacks, ...manyLinesAttacks })(() => SsePlace.open(new URL(place)), stop.signal)
    break
  default:
    await named({ ...httpAttacks, ...httpSessionAttacks })({
      url: new URL(place),
      sessions: transport !== "http-sessionless"
    }, stop.signal)
}
process.exit(0)
