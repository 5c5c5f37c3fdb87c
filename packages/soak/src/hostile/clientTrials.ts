/**
 * Attacks on a client: the victim and the hostile server are separate processes; the honest server is in this one.
 */
import * as Effect from "effect/Effect"
import * as HonestServer from "./honestServer.ts"
import { behaviours } from "./serverBehaviours.ts"
import type { Trial } from "./Trial.ts"
import * as Victim from "./Victim.ts"

/** The transports over which a client is attacked. */
export const clientTransports = ["stdio", "unix", "websocket", "http", "http-sse"] as const

export type ClientTransport = (typeof clientTransports)[number]

/** The names of the attacks over a transport. */
export const attacksOver = (transport: ClientTransport): ReadonlyArray<string> => Object.keys(behaviours(transport))

/** Runs an attack on a client, with a heap size and a duration. */
export const run = Effect.fnUntraced(function*(
  transport: ClientTransport,
  attack: string,
  { heapMebibytes, seconds }: { readonly heapMebibytes: number; readonly seconds: number }
) {
  const honest = yield* Effect.orDie(HonestServer.start)
  // Over stdio the victim starts the hostile server itself.
  const address = transport === "stdio"
    ? attack
    : yield* (yield* Victim.start("hostileServer.ts", [transport, attack])).address
  const hostile = yield* Victim.program("hostileServer.ts")
  const victim = yield* Victim.start("clientVictim.ts", [transport, address, honest, hostile], [
    `--max-old-space-size=${heapMebibytes}`
  ])
  // The bystander is served before the time starts; under an immediate attack that may take long.
  for (let turn = 0; turn < 300 && victim.vitals().served < 5; turn++) yield* Effect.sleep(100)
  yield* Effect.sleep(seconds * 1000)
  const trial: Trial = {
    side: "client",
    transport,
    attack,
    vitals: victim.vitals(),
    exit: victim.exit(),
    log: victim.log(),
    newClients: undefined
  }
  return trial
}, Effect.scoped)
