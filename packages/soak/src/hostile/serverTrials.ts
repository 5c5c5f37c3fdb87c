/** Attacks on a server: the victim and the attacker are separate processes; the bystanders are in this one. */
import type { Transport } from "@effect-mcp/session"
import { HttpSseClient, SocketClient, StreamableHttpClient, WebSocketClient } from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Bearer from "./applications/Bearer.ts"
import { cacheAttacks } from "./applications/cacheAttacks.ts"
import { gatewayAttacks } from "./applications/gatewayAttacks.ts"
import { smallRequestDelay, smallTaskAttacks, taskAttacks } from "./applications/taskAttacks.ts"
import * as Bystanders from "./bystander.ts"
import { connectionAttacks, multiConnectionAttacks } from "./connectionAttacks.ts"
import * as HonestServer from "./honestServer.ts"
import { httpAttacks, httpSessionAttacks } from "./httpAttacks.ts"
import { authenticated, type ServerTransport } from "./ServerTransport.ts"
import { statelessAttacks } from "./statelessAttacks.ts"
import { statelessHttpAttacks } from "./statelessHttpAttacks.ts"
import type { Trial } from "./Trial.ts"
import * as Victim from "./Victim.ts"
import { Bystander, none } from "./Vitals.ts"
import { webSocketAttacks } from "./webSocketAttacks.ts"

/** The names of the attacks over a transport. */
export const attacksOver = (transport: ServerTransport): ReadonlyArray<string> => {
  switch (transport) {
    case "stdio":
      return Object.keys({ ...connectionAttacks, ...statelessAttacks })
    case "websocket":
      return Object.keys({
        ...connectionAttacks,
        ...multiConnectionAttacks,
        ...webSocketAttacks,
        ...statelessAttacks
      })
    case "unix":
      return Object.keys({ ...connectionAttacks, ...multiConnectionAttacks, ...statelessAttacks })
    case "http-sse":
      return Object.keys({ ...connectionAttacks, ...multiConnectionAttacks })
    case "http-stateless":
      return Object.keys({ ...httpAttacks, ...statelessHttpAttacks })
    case "http":
    case "http-stored":
      return Object.keys({ ...httpAttacks, ...httpSessionAttacks, ...statelessHttpAttacks })
    case "http-application":
      return Object.keys({ ...taskAttacks, ...cacheAttacks })
    case "http-sql":
      return Object.keys(taskAttacks)
    case "http-gateway":
      return Object.keys(gatewayAttacks)
  }
}

/** Returns the transport of an honest client; `undefined` over stdio, which has one client. */
const transportTo = (transport: ServerTransport, address: string): Layer.Layer<Transport.Transport> | undefined => {
  switch (transport) {
    case "stdio":
      return undefined
    case "unix":
      return SocketClient.layerUnix({ path: address })
    case "websocket":
      return WebSocketClient.layerNode({ url: address })
    case "http-sse":
      return HttpSseClient.layerNode({ url: address })
    default:
      return StreamableHttpClient.layerNode({
        url: address,
        headers: authenticated.has(transport) ? { authorization: Redacted.make(Bearer.header("bystander")) } : {}
      })
  }
}

/** Starts the victim of a transport; over stdio the attacker does so. */
const startVictim = Effect.fnUntraced(function*(transport: ServerTransport, heap: string) {
  switch (transport) {
    case "stdio":
      return undefined
    case "http-application":
    case "http-sql":
      return yield* Victim.start("applications/applicationVictim.ts", [transport], [heap])
    case "http-gateway": {
      const honest = yield* Effect.orDie(HonestServer.start)
      return yield* Victim.start("applications/gatewayVictim.ts", ["unix", honest], [heap])
    }
    default:
      return yield* Victim.start("serverVictim.ts", [transport], [heap])
  }
})

/** The longest time that an attack has to reach the limits of the victim, before its time starts: a minute. */
const preparationTurns = 1200

/** Runs an attack on a server, with a heap size and a duration. */
export const run = Effect.fnUntraced(function*(
  transport: ServerTransport,
  attack: string,
  { heapMebibytes, seconds }: { readonly heapMebibytes: number; readonly seconds: number }
) {
  const heap = `--max-old-space-size=${heapMebibytes}`
  const sessionBystander = new Bystander()
  const newClients = new Bystander()
  const victim = yield* startVictim(transport, heap)
  // Over stdio the attacker starts the victim itself.
  const address = yield* victim === undefined ? Victim.program("serverVictim.ts") : victim.address
  const honestTransport = transportTo(transport, address)
  if (honestTransport !== undefined) {
    yield* Effect.forkScoped(Bystanders.keepSession(sessionBystander, honestTransport))
    yield* Effect.forkScoped(Bystanders.openSessions(newClients, honestTransport))
    // The bystanders are served before the attack starts.
    while (sessionBystander.served < 5) yield* Effect.sleep(50)
  }
  const attacker = yield* Victim.start("attacker.ts", [transport, address, attack], victim === undefined ? [heap] : [])
  const reporting = victim ?? attacker
  for (let turn = 0; turn < preparationTurns && !attacker.isPrepared() && reporting.exit() === undefined; turn++) {
    yield* Effect.sleep(50)
  }
  // Over stdio the victim starts with its attacker, and measures its event loop after its first second.
  if (victim === undefined) {
    while (attacker.vitals() === none && attacker.exit() === undefined) yield* Effect.sleep(50)
    yield* Effect.sleep(1000)
  }
  yield* Effect.sleep(seconds * 1000)
  // Over stdio the victim ends with its attacker. Missing reports after that are not a delay of the event loop.
  const attacked = reporting.vitals()
  attacker.send("stop")
  yield* Effect.sleep(500)
  const { failed, lastFailure, longestMillis, served } = sessionBystander
  const exit = reporting.exit()
  const trial: Trial = {
    side: "server",
    transport,
    attack,
    ...attack in smallTaskAttacks ? { longestDelay: smallRequestDelay } : {},
    vitals: { ...(victim?.vitals() ?? attacked), failed, lastFailure, longestMillis, served },
    // Over stdio a server that closes its only session exits, with code 0.
    exit: victim === undefined && String(exit) === "0" ? undefined : exit,
    log: reporting.log(),
    newClients: honestTransport === undefined ? undefined : { served: newClients.served, failed: newClients.failed }
  }
  return trial
}, Effect.scoped)
