/** The attacks of hostile clients on a gateway. */
import type { Attack } from "../connectionAttacks.ts"
import { pause } from "../httpRequests.ts"
import type { PreparedTarget } from "./PreparedTarget.ts"
import * as PrincipalClient from "./PrincipalClient.ts"

/** The sessions that a proxy has with its server by default. */
const proxiedSessions = 256

/** Opens sessions of one principal, each with a call of the proxied server, and keeps them open. */
const sessions = (opening: number): Attack<PreparedTarget> => async (target, signal) => {
  let opened = 0
  const openForever = async (): Promise<void> => {
    while (!signal.aborted) {
      const client = await PrincipalClient.open(target, "attacker-0", "2025-11-25")
      if (client === undefined) await pause(50)
      else {
        await client.send({ method: "tools/call", params: `"name":"echo","arguments":{"bytes":1}` })
        if (++opened === proxiedSessions) target.prepared()
      }
    }
  }
  await Promise.all(Array.from({ length: opening }, openForever))
}

export const gatewayAttacks: Readonly<Record<string, Attack<PreparedTarget>>> = {
  "as many sessions of one principal as possible": sessions(8)
}
