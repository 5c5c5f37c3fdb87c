/** The address at which the other processes reach a server: that of its listener, or that of the program. */
import { InvalidOptionError } from "@effect-mcp/session/InvalidOptionError"
import type { SessionOwners } from "@effect-mcp/session/SessionOwners"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as NetAddress from "effect/net/NetAddress"
import * as Option from "effect/Option"
import * as ForwardedHeaders from "./ForwardedHeaders.ts"

const allowed = "the origin at which the other processes reach this one, such as http://10.0.0.3:3000"

const invalid = (given: string, reason = ""): Effect.Effect<never> =>
  Effect.die(new InvalidOptionError({ option: "address", given, allowed: allowed + reason }))

/**
 * Announces the address of the listener, unless the program has set one. A server whose address is none of HTTP fails
 * to start, because no process could reach its sessions. A server on all interfaces does not know its address, and
 * fails to start. A server whose listener is not known waits for the program to announce one.
 */
export const announce = (owners: SessionOwners["Service"]): Effect.Effect<void> =>
  Effect.flatMap(Effect.serviceOption(HttpServer), (server) => {
    const given = owners.address()
    if (given !== undefined) return ForwardedHeaders.addressOf(given) === undefined ? invalid(given) : Effect.void
    const address = Option.getOrUndefined(server)?.address
    if (address === undefined || address._tag === "UnixPathAddress") {
      return Effect.logWarning(
        "the address of this process is not known, so it owns no session: set `address` of its SessionOwners"
      )
    }
    const origin = `http://${NetAddress.formatInet(address)}`
    return NetAddress.isUnspecified(address.address)
      ? invalid(origin, ", because the server listens on all interfaces")
      : owners.announce(origin)
  })
