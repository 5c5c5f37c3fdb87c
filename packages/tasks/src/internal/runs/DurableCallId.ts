/** The ids of durable calls among the tasks of a store. No client has such an id. */
import type { RequestId } from "@effect-mcp/protocol"
import { webCrypto } from "@effect-mcp/session/internal"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"

// This package is for every platform, and does without the types of Node.
declare const process:
  | undefined
  | {
    readonly getBuiltinModule?: (name: "node:crypto") => {
      readonly hash?: (algorithm: "sha256", text: string, encoding: "base64url") => string
    } | undefined
  }

/** Returns the SHA-256 of a text in base64url. Node computes it at once, which takes less time than a turn. */
const digest = (text: string): Effect.Effect<string> =>
  Effect.suspend(() => {
    const hash = typeof process === "undefined" ? undefined : process.getBuiltinModule?.("node:crypto")?.hash
    if (hash !== undefined) return Effect.succeed(hash("sha256", text, "base64url"))
    return Effect.map(
      Effect.promise(() => webCrypto.subtle().digest("SHA-256", webCrypto.bytesOf(text))),
      (bytes) => Base64Url.encode(new Uint8Array(bytes))
    )
  })

/** The ids of other tasks are UUIDs. */
const prefix = "call:"

/** Returns the beginning of the ids of all durable calls of a session. The id of the session is a secret. */
export const ofSession = (session: string): Effect.Effect<string> =>
  Effect.map(digest(session), (digest) => `${prefix}${digest}:`)

/** Returns the id of the durable call with a request id. The number 1 and the text "1" are two request ids. */
export const of = (session: string, id: RequestId.RequestId): Effect.Effect<string> =>
  Effect.zipWith(ofSession(session), digest(JSON.stringify(id)), (session, call) => session + call)

/** Returns whether a task is a durable call. */
export const is = (id: string): boolean => id.startsWith(prefix)
