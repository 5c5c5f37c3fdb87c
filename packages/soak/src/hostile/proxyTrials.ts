/**
 * Attacks of a proxied server on its gateway: the victim, the hostile server and the clients that use it are separate
 * processes. The bystanders, which use the gateway's own tool, are in this one.
 */
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Bearer from "./applications/Bearer.ts"
import { proxiedBehaviours } from "./applications/proxiedBehaviours.ts"
import * as Bystanders from "./bystander.ts"
import type { Trial } from "./Trial.ts"
import * as Victim from "./Victim.ts"
import { Bystander } from "./Vitals.ts"

/** The transports over which a gateway is attacked by the server that it proxies. */
export const proxiedTransports = ["stdio", "http"] as const

export type ProxiedTransport = (typeof proxiedTransports)[number]

/** The names of the attacks over a transport. */
export const attacksOver = (transport: ProxiedTransport): ReadonlyArray<string> =>
  Object.keys(proxiedBehaviours(transport))

/** Runs an attack on a gateway, with a heap size and a duration. */
export const run = Effect.fnUntraced(function*(
  transport: ProxiedTransport,
  attack: string,
  { heapMebibytes, seconds }: { readonly heapMebibytes: number; readonly seconds: number }
) {
  // Over stdio the victim starts the hostile server itself.
  const remote = transport === "stdio"
    ? attack
    : yield* (yield* Victim.start("hostileServer.ts", [transport, attack])).address
  const hostile = yield* Victim.program("hostileServer.ts")
  const victim = yield* Victim.start("applications/gatewayVictim.ts", [transport, remote, hostile], [
    `--max-old-space-size=${heapMebibytes}`
  ])
  const url = yield* victim.address
  const honestTransport = StreamableHttpClient.layerNode({
    url,
    headers: { authorization: Redacted.make(Bearer.header("bystander")) }
  })
  const sessionBystander = new Bystander()
  const newClients = new Bystander()
  yield* Effect.forkScoped(Bystanders.keepSession(sessionBystander, honestTransport))
  yield* Effect.forkScoped(Bystanders.openSessions(newClients, honestTransport))
  while (sessionBystander.served < 5 && victim.exit() === undefined) yield* Effect.sleep(50)
  yield* Victim.start("applications/gatewayClients.ts", [url])
  yield* Effect.sleep(seconds * 1000)
  const { failed, lastFailure, longestMillis, served } = sessionBystander
  const trial: Trial = {
    side: "gateway",
    transport,
    attack,
    vitals: { ...victim.vitals(), failed, lastFailure, longestMillis, served },
    exit: victim.exit(),
    log: victim.log(),
    newClients: { served: newClients.served, failed: newClients.failed }
  }
  return trial
}, Effect.scoped)
