/** SHA-256 on every platform, at once: Web Crypto makes its caller wait, and `node:crypto` is on Node only. */
import { sha256 } from "@noble/hashes/sha2.js"
import * as Hex from "effect/encoding/Hex"

/** Returns the SHA-256 of a text in hexadecimal digits. */
export const hexOf = (text: string): string => Hex.encode(sha256(new TextEncoder().encode(text)))
