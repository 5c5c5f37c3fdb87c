/** The clients of the last requests without a handshake, whose metadata need not be read again. */

import { type JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import * as LeastRecentlyUsed from "../collections/LeastRecentlyUsed.ts"
import * as Weight from "../engine/Weight.ts"
import * as ModernRequest from "./ModernRequest.ts"

/** The number of clients, and the bytes of the metadata of one of them. */
const maxClients = 16
const maxBytes = 4_096

/** The longest name or version of a client that is looked up. */
const maxLength = 128

type Members = { readonly [name: string]: unknown }

const isMembers = (value: unknown): value is Members => typeof value === "object" && value !== null

/** Returns whether two JSON values are equal. Its depth is that of the first one. */
const isEqual = (one: unknown, other: unknown): boolean => {
  if (one === other) return true
  if (!isMembers(one) || !isMembers(other) || Array.isArray(one) !== Array.isArray(other)) return false
  const names = Object.keys(one)
  return names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isEqual(one[name], other[name]))
}

/** The members of `_meta` that describe a client. */
const described = [
  RequestMetadata.keys.protocolVersion,
  RequestMetadata.keys.clientInfo,
  RequestMetadata.keys.clientCapabilities,
  RequestMetadata.keys.logLevel
]

/** Returns the name under which a client is looked up. */
const nameOf = (meta: Members): string | undefined => {
  const info = meta[RequestMetadata.keys.clientInfo]
  if (!isMembers(info)) return ""
  const { name, version } = info
  return typeof name !== "string" || typeof version !== "string" || name.length + version.length > maxLength
    ? undefined
    : `${name} ${version}`
}

interface Known {
  readonly meta: Members
  readonly client: ModernRequest.ModernClient
}

/** Returns whether metadata describes this client. */
const isOf = ({ meta }: Known, received: Members): boolean =>
  described.every((key) => isEqual(meta[key], received[key]))

/**
 * Reads the clients of requests. A client sends the same metadata with each request, and to check them against their
 * schema takes longer than to compare them with those of the last requests.
 */
export class KnownClients {
  readonly #supported: ReadonlyArray<string>
  readonly #known = LeastRecentlyUsed.make<Known>({ size: maxClients, weight: maxClients * maxBytes })
  /** The client of the last request. Mostly it is that of the next one, too, and need not be looked up. */
  #last: Known | undefined

  constructor(supported: ReadonlyArray<string>) {
    this.#supported = supported
  }

  /** Returns the client of a request. Fails with the error that rejects the request. */
  of(message: JsonRpc.Request): Result.Result<ModernRequest.ModernClient, JsonRpc.ErrorObject> {
    const meta = message.params?.["_meta"]
    if (!isMembers(meta)) return ModernRequest.clientOf(message, this.#supported)
    if (this.#last !== undefined && isOf(this.#last, meta)) return Result.succeed(this.#last.client)
    const name = nameOf(meta)
    if (name === undefined) return ModernRequest.clientOf(message, this.#supported)
    const known = this.#known.get(name)
    if (known !== undefined && isOf(known, meta)) {
      this.#last = known
      return Result.succeed(known.client)
    }
    return Result.map(ModernRequest.clientOf(message, this.#supported), (client) => {
      const own = Object.fromEntries(described.map((key) => [key, meta[key]]))
      const weight = Weight.of(own, maxBytes)
      if (weight <= maxBytes) {
        this.#last = { meta: own, client }
        this.#known.set(name, this.#last, weight)
      }
      return client
    })
  }
}
