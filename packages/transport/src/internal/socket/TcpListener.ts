/** The listener on a TCP port. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as NetAddress from "effect/net/NetAddress"
import type * as Scope from "effect/Scope"
import type { SocketServer } from "effect/socket/SocketServer"
import * as SocketListener from "./SocketListener.ts"

/** The error of a port that cannot be listened on. */
export class TcpListenError extends Data.TaggedError("TcpListenError")<{ readonly cause: unknown }> {}

/** Creates a server of sockets on this port. The host is an IP address. */
export const make = (
  host: string,
  port: number
): Effect.Effect<SocketServer["Service"], TcpListenError, Scope.Scope> =>
  Effect.gen(function*() {
    const address = yield* Effect.fromResult(NetAddress.inetAddressFromIpString(host, port))
    const listening = yield* SocketListener.make({ host, port })
    return { address: { ...address, port: listening.port ?? port }, run: listening.run }
  }).pipe(Effect.mapError((cause) => new TcpListenError({ cause })))
