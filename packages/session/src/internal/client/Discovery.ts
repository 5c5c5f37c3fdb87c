/** The judgement of the response to `server/discover`: whether the server needs a handshake, and what it can do. */

import {
  ErrorCode,
  Implementation,
  type JsonRpc,
  McpError,
  MethodTable,
  Profile,
  RequestMetadata,
  Revision,
  RevisionProjection
} from "@effect-mcp/protocol"
import { Excerpt, ResultType } from "@effect-mcp/protocol/internal"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type { HandshakeErrorReason } from "../../HandshakeError.ts"
import type { RequestError } from "../../RequestError.ts"
import type { TransportError } from "../../TransportError.ts"
import * as KeptProfile from "../engine/KeptProfile.ts"
import { validate } from "../engine/validation.ts"

/** The outcome of a probe. */
export type Verdict =
  /** The server serves this revision without a handshake. */
  | { readonly _tag: "Modern"; readonly kept: KeptProfile.Kept<Profile.ModernServerProfile> }
  /** The server asks for another revision. */
  | { readonly _tag: "Retry"; readonly version: Revision.ModernRevision }
  /** The server needs a handshake. */
  | { readonly _tag: "Legacy"; readonly problem: string }
  /** There is no session with this server. */
  | { readonly _tag: "Failed"; readonly reason: HandshakeErrorReason }

/** The client, as far as the judgement depends on it. */
export interface DiscoveringClient {
  readonly revisions: ReadonlyArray<Revision.Revision>
  readonly projection: RevisionProjection.Projection | undefined
}

/** The bounds of the server's revisions in an error. */
const shownRevisions = 16
const shownCharacters = 64

const legacy = (problem: string): Verdict => ({ _tag: "Legacy", problem })

const failed = (reason: HandshakeErrorReason): Verdict => ({ _tag: "Failed", reason })

/** Returns the newest revision without a handshake that both sides support. */
const commonModern = (
  { revisions }: DiscoveringClient,
  offered: ReadonlyArray<string>
): Revision.ModernRevision | undefined =>
  Revision.modern.findLast((revision) => revisions.includes(revision) && offered.includes(revision))

/** Returns the reason of a client that supports no revision of the server. */
export const noCommonRevision = (
  supported: ReadonlyArray<string>,
  offered: ReadonlyArray<string>
): HandshakeErrorReason => ({
  _tag: "NoCommonRevision",
  offered: offered.slice(0, shownRevisions).map((revision) => Excerpt.of(revision, shownCharacters)),
  supported
})

/** Judges a server that supports no revision without a handshake that the client supports. */
const withoutModern = ({ revisions }: DiscoveringClient, offered: ReadonlyArray<string>): Verdict =>
  revisions.some((revision) => Revision.isLegacy(revision) && offered.includes(revision))
    ? legacy("it supports no newer revision of this client")
    : failed(noCommonRevision(revisions, offered))

/** Returns the name and the version of the server, which the metadata of each of its results has. */
const infoIn = (meta: object | undefined): Implementation.Implementation | undefined => {
  const { serverInfo } = RequestMetadata.keys
  const info = Predicate.hasProperty(meta, serverInfo) ? meta[serverInfo] : undefined
  const valid = validate(Implementation.Implementation)(info)
  return Result.isSuccess(valid) ? valid.success : undefined
}

const isComplete = (result: object): boolean => ResultType.of(result) === "complete"

const judgeResult = (
  client: DiscoveringClient,
  maxProfileBytes: number,
  result: unknown
): Verdict => {
  const row = MethodTable.requests["server/discover"]
  const discovered = validate(row.result)(result)
  if (Result.isFailure(discovered) || !isComplete(discovered.success)) {
    return legacy("it answered server/discover with a result of another kind")
  }
  const { supportedVersions } = discovered.success
  const revision = commonModern(client, supportedVersions)
  if (revision === undefined) return withoutModern(client, supportedVersions)
  const { _meta, capabilities, instructions } = RevisionProjection.project(
    row.name,
    "result",
    revision,
    discovered.success,
    client.projection
  )
  const profile: Profile.ModernServerProfile = {
    revision,
    capabilities,
    info: infoIn(_meta) ?? Profile.unnamed,
    instructions
  }
  const kept = KeptProfile.within(profile, maxProfileBytes)
  return Result.isSuccess(kept)
    ? { _tag: "Modern", kept: kept.success }
    : failed({ _tag: "InvalidResult", problem: kept.failure })
}

const isMembers = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null

/** Returns the revisions in an error about an unsupported one (VER-07). */
export const supportedIn = ({ code, data }: JsonRpc.ErrorObject): ReadonlyArray<string> | undefined => {
  if (code !== ErrorCode.UnsupportedProtocolVersion || !isMembers(data)) return undefined
  const { supported } = data
  return Array.isArray(supported) && supported.every((version) => typeof version === "string") ? supported : undefined
}

/** Returns whether an error names a revision without a handshake that both sides support. */
export const namesModern = (client: DiscoveringClient, error: JsonRpc.ErrorObject): boolean =>
  commonModern(client, supportedIn(error) ?? []) !== undefined

/** Returns whether an error shows that the server serves a revision without a handshake, but not this request. */
export const isModern = ({ code, data }: JsonRpc.ErrorObject): boolean =>
  code === ErrorCode.HeaderMismatch ||
  (code === ErrorCode.MissingRequiredClientCapability && isMembers(data) && isMembers(data["requiredCapabilities"]))

const judgeError = (client: DiscoveringClient, error: JsonRpc.ErrorObject, isRetry: boolean): Verdict => {
  const rejected = () => failed({ _tag: "Rejected", error: McpError.received(error), method: "server/discover" })
  if (isModern(error)) return rejected()
  const supported = supportedIn(error)
  if (supported === undefined) return legacy(`it answered server/discover with error ${error.code}`)
  const version = commonModern(client, supported)
  if (version === undefined) return withoutModern(client, supported)
  // Such a server contradicts itself: it rejects a revision that it names.
  return isRetry ? rejected() : { _tag: "Retry", version }
}

/** Judges the response of a server (VER-08). */
export const judge = (
  client: DiscoveringClient,
  maxProfileBytes: number,
  response: JsonRpc.Response,
  isRetry: boolean
): Verdict =>
  "error" in response
    ? judgeError(client, response.error, isRetry)
    : judgeResult(client, maxProfileBytes, response.result)

/** The statuses that do not depend on the revision: of authorization, size, frequency or time. */
const unrelatedStatuses: ReadonlySet<number> = new Set([401, 402, 403, 407, 408, 413, 421, 423, 425, 429, 431, 451])

/** The statuses of a server that does not accept the client, or has no room for it now. */
const [unauthorized, forbidden, tooManyRequests, unavailable] = [401, 403, 429, 503]

/** The statuses of servers that accept no such message: as one without a response, elsewhere, or not at all. */
const isRefusal = (status: number): boolean => status === 202 || status === 501 || (status >= 300 && status < 500)

/**
 * Returns whether a server of a revision with a handshake may reject a request without one like this. A JSON-RPC error
 * comes from a server that has read the request, so its status counts only if that is about the client or the time.
 */
const mayBeLegacy = ({ reason }: TransportError): boolean => {
  if (reason._tag !== "Rejected") return false
  const { code, status } = reason
  if (code === undefined) return isRefusal(status) && !unrelatedStatuses.has(status)
  return status !== unauthorized && status !== forbidden &&
    (code === ErrorCode.MethodNotFound || (status !== tooManyRequests && status !== unavailable))
}

/**
 * Judges a server that sent no response. `mayNeedHandshake` says that silence may mean an older server. It says nothing
 * if each request has a stream of its own, as over HTTP, or if the server has no handshake.
 */
export const judgeSilence = (
  { reason }: RequestError,
  mayNeedHandshake: boolean
): Verdict | undefined => {
  switch (reason._tag) {
    case "Timeout":
      return mayNeedHandshake
        ? legacy(`it did not answer server/discover within ${reason.afterMillis} ms`)
        : failed({ _tag: "Timeout", afterMillis: reason.afterMillis, method: "server/discover" })
    case "MalformedResponse":
      return legacy("it answered server/discover with a malformed response")
    case "SendFailed":
      return mayBeLegacy(reason.error) ? legacy(`it rejected server/discover: ${reason.error.message}`) : undefined
    default:
      return undefined
  }
}
