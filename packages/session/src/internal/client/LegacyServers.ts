/**
 * The servers that are known to need a handshake (VER-19).
 *
 * A transport leads to one server, so a server is known by the transport of the client, for as long as the program
 * keeps that. Its address would not do: another server may listen there later.
 */

import type { CloseReason } from "@effect-mcp/protocol"
import type { Transport } from "../../Transport.ts"

type Port = Transport["Service"]

const known = new WeakSet<Port>()

/** Returns whether the last session over this transport needed a handshake. */
export const has = (transport: Port): boolean => known.has(transport)

/** Remembers whether the server of this transport needs a handshake. */
export const set = (transport: Port, needsHandshake: boolean): void => {
  if (needsHandshake) known.add(transport)
  else known.delete(transport)
}

/** Returns whether a handshake that ended a connection may have failed because the server no longer has any. */
export const mayHaveChanged = ({ _tag }: CloseReason.CloseReason): boolean =>
  _tag === "PeerEnded" || _tag === "TransportFailed" || _tag === "HandshakeFailed"
