/**
 * The metadata that every request carries in revision 2026-07-28, instead of a handshake: the revision, and who asks.
 * It is a part of `_meta`, under keys of the specification.
 *
 * @stability unstable
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { ClientCapabilities } from "./Capabilities.ts"
import { Implementation } from "./Implementation.ts"
import * as Excerpt from "./internal/text/Excerpt.ts"
import { trust } from "./internal/trust.ts"
import { Level } from "./Logging.ts"
import type { Meta } from "./Meta.ts"

/** The prefix of the keys of the specification. */
const prefix = "io.modelcontextprotocol/"

/**
 * The keys of the specification in `_meta`.
 *
 * @category constants
 */
export const keys = {
  protocolVersion: `${prefix}protocolVersion`,
  clientCapabilities: `${prefix}clientCapabilities`,
  clientInfo: `${prefix}clientInfo`,
  logLevel: `${prefix}logLevel`,
  serverInfo: `${prefix}serverInfo`,
  subscriptionId: `${prefix}subscriptionId`
} as const

/**
 * The metadata of a request (VER-01, VER-02).
 *
 * @category models
 */
export interface RequestMetadata {
  readonly protocolVersion: string
  readonly clientCapabilities: ClientCapabilities
  readonly clientInfo: Implementation | undefined
  /** The least severe log messages to send for this request. Without one, the server sends none (LOG-07). */
  readonly logLevel: Level | undefined
}

const Fields = Schema.Struct({
  [keys.protocolVersion]: Schema.String,
  [keys.clientCapabilities]: ClientCapabilities,
  [keys.clientInfo]: Schema.optionalKey(Implementation),
  [keys.logLevel]: Schema.optionalKey(Level)
})

const decode = Schema.decodeUnknownResult(Fields)

/** The longest description of a problem, in characters. */
const maxProblemLength = 256

/**
 * Tests whether the metadata of a message names a revision. Such a message does not belong to a session with a
 * handshake.
 *
 * @example
 * ```ts
 * import { RequestMetadata } from "@effect-mcp/protocol"
 *
 * export const answers = [
 *   RequestMetadata.isIn({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" }),
 *   RequestMetadata.isIn({ progressToken: 1 }),
 *   RequestMetadata.isIn(undefined)
 * ] // => [true, false, false]
 * ```
 *
 * @category guards
 */
export const isIn = (meta: unknown): boolean =>
  typeof meta === "object" && meta !== null && Object.hasOwn(meta, keys.protocolVersion)

/**
 * Returns the revision that the metadata of a message names, without reading the rest of it.
 *
 * @example
 * ```ts
 * import { RequestMetadata } from "@effect-mcp/protocol"
 *
 * export const version = RequestMetadata.versionIn({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" })
 * // => "2026-07-28"
 * ```
 *
 * @category decoding
 */
export const versionIn = (meta: unknown): string | undefined => {
  // `isIn` has found the member.
  const version: unknown = isIn(meta) ? trust<Meta>(meta)[keys.protocolVersion] : undefined
  return typeof version === "string" ? version : undefined
}

/**
 * Reads the metadata of a request. Fails with the problem if a required field is missing or a field is invalid
 * (VER-03).
 *
 * @example
 * ```ts
 * import { RequestMetadata } from "@effect-mcp/protocol"
 * import * as Result from "effect/Result"
 *
 * const metadata = RequestMetadata.read({
 *   "io.modelcontextprotocol/protocolVersion": "2026-07-28",
 *   "io.modelcontextprotocol/clientCapabilities": { roots: {} }
 * })
 *
 * export const capabilities = Result.getOrThrow(metadata).clientCapabilities // => { roots: {} }
 * ```
 *
 * @category decoding
 */
export const read = (meta: unknown): Result.Result<RequestMetadata, string> =>
  Result.mapBoth(decode(meta ?? {}), {
    onSuccess: (fields) => ({
      protocolVersion: fields[keys.protocolVersion],
      clientCapabilities: fields[keys.clientCapabilities],
      clientInfo: fields[keys.clientInfo],
      logLevel: fields[keys.logLevel]
    }),
    // The message may contain the values, whose size the peer decides.
    onFailure: ({ message }) => Excerpt.of(message, maxProblemLength).replaceAll(/\s+/g, " ")
  })

/**
 * Returns the metadata as members of `_meta`.
 *
 * @example
 * ```ts
 * import { RequestMetadata } from "@effect-mcp/protocol"
 *
 * export const meta = RequestMetadata.write({
 *   protocolVersion: "2026-07-28",
 *   clientCapabilities: {},
 *   clientInfo: undefined,
 *   logLevel: "warning"
 * })
 * export const level = meta["io.modelcontextprotocol/logLevel"] // => "warning"
 * ```
 *
 * @category encoding
 */
export const write = ({ clientCapabilities, clientInfo, logLevel, protocolVersion }: RequestMetadata): Meta => ({
  [keys.protocolVersion]: protocolVersion,
  [keys.clientCapabilities]: clientCapabilities,
  ...(clientInfo === undefined ? undefined : { [keys.clientInfo]: clientInfo }),
  ...(logLevel === undefined ? undefined : { [keys.logLevel]: logLevel })
})
