/**
 * Runs an attack on a server: `node attacker.ts websocket ws://127.0.0.1:3000/mcp 'results of 1 MB, unread'`. The
 * attack ends at a message of the parent, or with the parent. Over stdio this process is the parent of the victim, and
 * forwards its reports; the address is the file of the victim.
 */
import { spawn } from "node:child_process"
import { cacheAttacks } from "./applications/cacheAttacks.ts"
import { gatewayAttacks } from "./applications/gatewayAttacks.ts"
import { taskAttacks } from "./applications/taskAttacks.ts"
import * as Connection from "./Connection.ts"
import { connectionAttacks, multiConnectionAttacks, type Open } from "./connectionAttacks.ts"
import { httpAttacks, httpSessionAttacks } from "./httpAttacks.ts"
import * as SseConnection from "./sseConnection.ts"
import { statelessAttacks } from "./statelessAttacks.ts"
import { statelessHttpAttacks } from "./statelessHttpAttacks.ts"
import { webSocketAttacks } from "./webSocketAttacks.ts"

const [transport = "", address = "", name = ""] = process.argv.slice(2)

const stop = new AbortController()
process.on("message", () => stop.abort())
process.on("disconnect", () => process.exit(0))

const prepared = (): void => void process.send?.({ prepared: true })
// These attacks report it themselves.
if (!(name in taskAttacks || name in gatewayAttacks)) prepared()

const findAttack = <Target>(attacks: Readonly<Record<string, Target>>): Target => {
  const attack = attacks[name]
  if (attack === undefined) throw new Error(`unknown attack "${name}" over ${transport}`)
  return attack
}

/** Starts the victim as a child on the first call. */
const startVictim = (): Open => {
  const victim = spawn(
    process.execPath,
    [...process.execArgv, address, "stdio"],
    { stdio: ["pipe", "pipe", "inherit", "ipc"] }
  )
  victim.on("message", (message) => process.send?.(message))
  victim.on("exit", (code, signal) => process.send?.({ exit: signal ?? code }))
  const connection = Connection.stdio(victim)
  let used = false
  return () => {
    if (used) return new Promise(() => {})
    used = true
    return Promise.resolve(connection)
  }
}

switch (transport) {
  case "stdio":
    await Promise.race([
      findAttack({ ...connectionAttacks, ...statelessAttacks })(startVictim(), stop.signal),
      new Promise((resolve) => stop.signal.addEventListener("abort", resolve))
    ])
    break
  case "unix":
    await findAttack({ ...connectionAttacks, ...multiConnectionAttacks, ...statelessAttacks })(
      () => Connection.unix(address),
      stop.signal
    )
    break
  case "websocket":
    if (name in webSocketAttacks) await findAttack(webSocketAttacks)(new URL(address), stop.signal)
    else {
      await findAttack({ ...connectionAttacks, ...multiConnectionAttacks, ...statelessAttacks })(
        () => Connection.webSocket(address),
        stop.signal
      )
    }
    break
  case "http-sse":
    await findAttack({ ...connectionAttacks, ...multiConnectionAttacks })(
      () => SseConnection.open(new URL(address)),
      stop.signal
    )
    break
  case "http-application":
  case "http-sql":
    await findAttack({ ...taskAttacks, ...cacheAttacks })(
      { url: new URL(address), sessions: true, prepared },
      stop.signal
    )
    break
  case "http-gateway":
    await findAttack(gatewayAttacks)({ url: new URL(address), sessions: true, prepared }, stop.signal)
    break
  default:
    await findAttack({ ...httpAttacks, ...httpSessionAttacks, ...statelessHttpAttacks })({
      url: new URL(address),
      sessions: transport !== "http-stateless"
    }, stop.signal)
}
process.exit(0)
