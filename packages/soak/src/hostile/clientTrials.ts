/**
 * Attacks on a client: the victim and the hostile server are separate processes; the honest server is in this one.
 */
import { Content } from "@effect-mcp/protocol"
import { SessionHost } from "@effect-mcp/session"
import { UnixSocketServer } from "@effect-mcp/transport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { behaviours } from "./serverBehaviours.ts"
import type { Trial } from "./Trial.ts"
import * as Victim from "./Victim.ts"

/** The transports over which a client is attacked. */
export const clientTransports = ["stdio", "unix", "websocket", "http", "http-sse"] as const

export type ClientTransport = (typeof clientTransports)[number]

/** The names of the attacks over a transport. */
export const attacksOver = (transport: ClientTransport): ReadonlyArray<string> => Object.keys(behaviours(transport))

const honestServer = Effect.gen(function*() {
  const address = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "honest-")), "socket")
  const host = SessionHost.layer(
    { "tools/call": () => Effect.succeed({ content: [Content.text("here")] }) },
    { info: { name: "honest", version: "1.0.0" } }
  )
  yield* Layer.build(Layer.provide(UnixSocketServer.layerNode({ path: address }), host))
  return address
})

/** Runs an attack on a client, with a heap size and a duration. */
export const run = Effect.fnUntraced(function*(
  transport: ClientTransport,
  attack: string,
  { heapMebibytes, seconds }: { readonly heapMebibytes: number; readonly seconds: number }
) {
  const honest = yield* Effect.orDie(honestServer)
  // Over stdio the victim starts the hostile server itself.
  const address = transport === "stdio"
    ? attack
    : yield* (yield* Victim.start("hostileServer.ts", [transport, attack])).address
  const victim = yield* Victim.start("clientVictim.ts", [transport, address, honest], [
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
    newClients: undefined
  }
  return trial
}, Effect.scoped)
