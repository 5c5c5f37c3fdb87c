/** Attacks on a server: the victim and the attacker are separate processes; the bystanders are in this one. */
import type { Transport } from "@effect-mcp/session"
import { HttpSseClient, StreamableHttpClient, UnixSocketClient, WebSocketClient } from "@effect-mcp/transport"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Bystanders from "./bystander.ts"
import { httpAttacks, httpSessionAttacks } from "./httpAttacks.ts"
import { lineAttacks, manyLinesAttacks } from "./lineAttacks.ts"
import type { ServerTransport } from "./ServerTransport.ts"
import type { Trial } from "./Trial.ts"
import * as Victim from "./Victim.ts"
import { Bystander, none } from "./Vitals.ts"
import { webSocketAttacks } from "./webSocketAttacks.ts"

/** The names of the attacks over a transport. */
export const attacksOver = (transport: ServerTransport): ReadonlyArray<string> => {
  switch (transport) {
    case "stdio":
      return Object.keys(lineAttacks)
    case "websocket":
      return Object.keys({ ...lineAttacks, ...manyLinesAttacks, ...webSocketAttacks })
    case "unix":
    case "http-sse":
      return Object.keys({ ...lineAttacks, ...manyLinesAttacks })
    case "http-sessionless":
      return Object.keys(httpAttacks)
    case "http":
    case "http-stored":
      return Object.keys({ ...httpAttacks, ...httpSessionAttacks })
  }
}

/** Returns the transport of an honest client; `undefined` over stdio, which has one client. */
const wayTo = (transport: ServerTransport, place: string): Layer.Layer<Transport.Transport> | undefined => {
  switch (transport) {
    case "stdio":
      return undefined
    case "unix":
      return UnixSocketClient.layerNode({ path: place })
    case "websocket":
      return WebSocketClient.layerNode({ url: place })
    case "http-sse":
      return HttpSseClient.layerNode({ url: place })
    default:
      return StreamableHttpClient.layerNode({ url: place })
  }
}

/** Runs an attack on a server, with a heap size and a duration. */
export const run = Effect.fnUntraced(function*(
  transport: ServerTransport,
  attack: string,
  { heapMebibytes, seconds }: { readonly heapMebibytes: number; readonly seconds: number }
) {
  const heap = `--max-old-space-size=${heapMebibytes}`
  const staying = new Bystander()
  const coming = new Bystander()
  const victim = transport === "stdio" ? undefined : yield* Victim.start("serverVictim.ts", [transport], [heap])
  const place = victim === undefined ? "" : yield* victim.place
  const way = wayTo(transport, place)
  if (way !== undefined) {
    yield* Effect.forkScoped(Bystanders.stay(staying, way))
    yield* Effect.forkScoped(Bystanders.come(coming, way))
    // The bystanders are served before the attack starts.
    while (staying.served < 5) yield* Effect.sleep(50)
  }
  const attacker = yield* Victim.start("attacker.ts", [transport, place, attack], victim === undefined ? [heap] : [])
  // Over stdio the victim starts with its attacker, and measures its event loop after its first second.
  if (victim === undefined) {
    while (attacker.vitals() === none && attacker.death() === undefined) yield* Effect.sleep(50)
    yield* Effect.sleep(1000)
  }
  yield* Effect.sleep(seconds * 1000)
  const suffering = victim ?? attacker
  // Over stdio the victim ends with its attacker. Missing reports after that are not a delay of the event loop.
  const attacked = suffering.vitals()
  attacker.send("stop")
  yield* Effect.sleep(500)
  const { failed, lastFailure, longestMillis, served } = staying
  const death = suffering.death()
  const trial: Trial = {
    side: "server",
    transport,
    attack,
    vitals: { ...(victim?.vitals() ?? attacked), failed, lastFailure, longestMillis, served },
    // Over stdio a server that closes its only session exits, with code 0.
    death: victim === undefined && String(death) === "0" ? undefined : death,
    newcomers: way === undefined ? undefined : { served: coming.served, failed: coming.failed }
  }
  return trial
}, Effect.scoped)
