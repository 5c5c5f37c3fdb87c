/**
 * The listener at the path of a socket.
 *
 * It sets the mode before any client can connect, and replaces no file of another server.
 */
import * as Effect from "effect/Effect"
import * as NetAddress from "effect/net/NetAddress"
import type * as Scope from "effect/Scope"
import type { SocketServer } from "effect/socket/SocketServer"
import * as SocketFile from "./SocketFile.ts"
import * as SocketListener from "./SocketListener.ts"

/** Creates a server of sockets at this path. */
export const make = (
  path: string,
  mode: number
): Effect.Effect<SocketServer["Service"], SocketFile.SocketFileError, Scope.Scope> =>
  Effect.map(
    SocketFile.make(path, mode, (at) =>
      Effect.mapError(SocketListener.make({ path: at }), (cause) =>
        new SocketFile.SocketFileError({ cause }))),
    ({ run }) => ({ address: NetAddress.unixPathAddress(path), run })
  )
