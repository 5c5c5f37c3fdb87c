/** The door of a server: it decides once in which era a message is served. The decision travels with the message. */

import { type JsonRpc, McpError, RequestMetadata, Revision } from "@effect-mcp/protocol"
import { RequestHeaders } from "@effect-mcp/protocol/internal"
import * as Result from "effect/Result"
import type { StreamOrigin } from "../../Transport.ts"
import { isBatch } from "../engine/Batch.ts"
import * as RequestRejections from "../engine/RequestRejections.ts"
import type { KnownClients } from "./KnownClients.ts"
import type { ModernClient } from "./ModernRequest.ts"

/**
 * The era of a message. `Handshake`: the handshake machine decides about it. `Modern`: a request of revision 2026-07-28
 * with its client. `ModernFrame`: a POST of that revision that is no request. `Rejected`: a request that no handler may
 * see, because of this error.
 */
export type InboundEra =
  | { readonly _tag: "Handshake" }
  | { readonly _tag: "Modern"; readonly client: ModernClient }
  | { readonly _tag: "ModernFrame" }
  | { readonly _tag: "Rejected"; readonly error: JsonRpc.ErrorObject }

/** The era of a message that is certainly a request. */
export type RequestEra = Exclude<InboundEra, { readonly _tag: "ModernFrame" }>

/** The server that the door belongs to. */
export interface Door {
  readonly clients: KnownClients
  readonly description: {
    /** The revisions with a handshake. */
    readonly revisions: ReadonlyArray<Revision.LegacyRevision>
    readonly supported: ReadonlyArray<Revision.Revision>
    /** Whether the server serves a revision without a handshake. */
    readonly isModern: boolean
  }
}

/** The headers of a POST by their names in lower case. */
export type Headers = { readonly [name: string]: string | undefined }

/** The era of the messages of a handshake, and of those after it. */
export const handshake: RequestEra = { _tag: "Handshake" }

const modernFrame: InboundEra = { _tag: "ModernFrame" }

const rejected = (error: JsonRpc.ErrorObject): RequestEra => ({ _tag: "Rejected", error })

const metaOf = (message: JsonRpc.Classified): unknown =>
  message._tag === "Request" || message._tag === "Notification" ? message.message.params?.["_meta"] : undefined

/** Returns the era of a request without a handshake: its metadata name its client (VER-03, VER-07). */
export const ofModern = ({ clients }: Pick<Door, "clients">, message: JsonRpc.Request): RequestEra => {
  const client = clients.of(message)
  return Result.isSuccess(client) ? { _tag: "Modern", client: client.success } : rejected(client.failure)
}

/**
 * Returns the era of a request of a connection. A request without a handshake names its revision. A server that serves
 * no handshake expects that of every request but `initialize`, which it rejects by itself (VER-03).
 */
export const ofRequest = (door: Door, message: JsonRpc.Request, origin: StreamOrigin | undefined): RequestEra => {
  const { isModern, revisions } = door.description
  const isIncomplete = revisions.length === 0 && message.method !== "initialize"
  if (!isModern || !(isIncomplete || RequestMetadata.isIn(message.params?.["_meta"]))) return handshake
  // Its revision has no batches.
  return isBatch(origin) ? rejected(RequestRejections.inBatch) : ofModern(door, message)
}

/** Returns whether the header of a message names a revision without a handshake, or its metadata name any revision. */
const namesModern = (headers: Headers, message: JsonRpc.Classified): boolean => {
  const declared = headers[RequestHeaders.names.version]
  return RequestMetadata.isIn(metaOf(message)) || (declared !== undefined && Revision.isModern(declared))
}

const isInitialize = (message: JsonRpc.Classified): boolean =>
  message._tag === "Request" && message.message.method === "initialize"

/**
 * Returns the error of a request whose headers differ from its body (SHE-12, SHE-17), or name a revision that is not
 * among those of the server (SHE-13).
 */
const headerError = (
  headers: Headers,
  { method, params: received }: JsonRpc.Request,
  served: ReadonlyArray<string>
): McpError.McpError | undefined => {
  // A peer can send `null`, which the type of a valid request leaves out.
  const params = received ?? {}
  const version = RequestMetadata.versionIn(params["_meta"])
  if (version === undefined) {
    const declared = headers[RequestHeaders.names.version]
    // The rest of the metadata is read later, and rejected if it is missing or invalid.
    return declared === undefined || served.includes(declared)
      ? undefined
      : McpError.unsupportedVersion(declared, served)
  }
  const problem = RequestHeaders.difference(headers, { method, params, version })
  return problem === undefined ? undefined : McpError.headerMismatch(problem)
}

/**
 * Returns the era of a POST, whose headers repeat parts of its body. If the server serves no handshake, a POST is
 * modern unless it begins one: otherwise it would be rejected for its missing session (VER-03).
 */
export const ofPost = (door: Door, message: JsonRpc.Classified, headers: Headers): InboundEra => {
  const { isModern, revisions, supported } = door.description
  if (!isModern) return handshake
  const mayBeLegacy = revisions.length > 0 || isInitialize(message)
  if (mayBeLegacy && !namesModern(headers, message)) return handshake
  if (message._tag !== "Request") return modernFrame
  const error = headerError(headers, message.message, supported)
  if (error === undefined) return ofModern(door, message.message)
  const { code, data, message: text } = error
  return rejected(data === undefined ? { code, message: text } : { code, message: text, data })
}
