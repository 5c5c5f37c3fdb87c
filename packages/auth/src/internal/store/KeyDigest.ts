/**
 * The digest of a key, for stores whose names have a limited length and alphabet.
 */
import { webCrypto } from "@effect-mcp/session/internal"
import * as Hex from "effect/encoding/Hex"
import * as KeyText from "../keys/KeyText.ts"

/** Returns 64 hexadecimal digits. No other key has them. */
export const of = async (key: KeyText.Key): Promise<string> =>
  Hex.encode(new Uint8Array(await webCrypto.subtle().digest("SHA-256", webCrypto.bytesOf(KeyText.of(key)))))
