/**
 * The servers that were known too late to need no handshake, because they start slowly (VER-19).
 *
 * The next session over such a transport waits longer for the response to its probe. Otherwise each session would start
 * the server twice. As for servers that need a handshake, the transport stands for the server.
 */

import type { Transport } from "../../Transport.ts"

type Port = Transport["Service"]

const known = new WeakSet<Port>()

/** Returns whether the server of this transport was silent at a probe that it would have answered later. */
export const has = (transport: Port): boolean => known.has(transport)

/** Remembers that the server of this transport starts slowly. */
export const add = (transport: Port): void => void known.add(transport)
