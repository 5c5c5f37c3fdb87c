import {
  type Capabilities,
  Excerpt,
  type Implementation,
  type Initialize,
  JsonRpc,
  type Meta,
  MethodTable,
  type Profile,
  Revision,
  RevisionProjection
} from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import * as RequestRejections from "../engine/RequestRejections.ts"
import { validate } from "../engine/validation.ts"
import * as Weight from "../engine/Weight.ts"
import * as KeptProfile from "./KeptProfile.ts"

/** What a server says of itself to whoever introduces itself, the same to all. */
export interface InitializeResponder {
  readonly revisions: readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>]
  /** What a client is answered that asks for another revision. */
  readonly fallback: Revision.Revision
  readonly info: Implementation.Implementation
  readonly instructions: string | undefined
  readonly capabilities: Capabilities.ServerCapabilities
  readonly projection: RevisionProjection.Projection | undefined
}

export const make = (options: {
  readonly revisions?: InitializeResponder["revisions"]
  readonly info: Implementation.Implementation
  readonly instructions?: string
  readonly capabilities: Capabilities.ServerCapabilities
  readonly projection?: RevisionProjection.Projection | undefined
}): InitializeResponder => {
  const revisions = options.revisions ?? Revision.supported
  return {
    revisions,
    fallback: Revision.newest(revisions),
    info: options.info,
    instructions: options.instructions,
    capabilities: options.capabilities,
    projection: options.projection
  }
}

/** What a client says of itself; or what is wrong with it. */
export const params = (request: JsonRpc.Request): Result.Result<Initialize.InitializeParams, JsonRpc.ErrorObject> =>
  Result.mapError(
    validate(MethodTable.requests.initialize.params)(request.params ?? {}),
    (problem) => RequestRejections.invalidParams(`Invalid params for initialize: ${problem}`)
  )

/** Without a handshake there is no revision that has batches (MSG-16); where there is none, the revision is known before it. */
export const notInBatch: JsonRpc.ErrorObject = RequestRejections.invalidRequest("initialize is no part of a batch")

/** The revision that a client is answered with: its own, if that is spoken here (INIT-04, INIT-05). */
export const agreed = ({ fallback, revisions }: InitializeResponder, offered: string): Revision.Revision =>
  revisions.find((revision) => revision === offered) ?? fallback

/**
 * The client's profile, as far as it may be kept; or what is wrong with it. A capability without a meaning in its
 * revision was not declared, even if the params have it.
 */
export const profile = (
  { projection }: InitializeResponder,
  params: Initialize.InitializeParams,
  revision: Revision.Revision,
  limitBytes: number
): Result.Result<KeptProfile.Kept<Profile.ClientProfile>, JsonRpc.ErrorObject> => {
  const { capabilities } = RevisionProjection.downgrade("initialize", "params", revision, params, projection)
  return Result.mapError(
    KeptProfile.within({ revision, capabilities, info: params.clientInfo }, limitBytes),
    (problem) => RequestRejections.invalidParams(`Invalid params for initialize: ${problem}`)
  )
}

/** What is kept of `initialize` beside the client's profile. */
export interface Opening {
  readonly requestedRevision: string
  readonly meta: Meta.RequestMeta | undefined
}

/**
 * How many characters of the revision that a client asks for are kept, and how many bytes of heap its `_meta` may take.
 */
const longestRevision = 64
const largestMeta = 4096

/** Picks what is kept, for as long as the session lives; a client does not decide how much that is. */
export const opening = ({ _meta: meta, protocolVersion }: Initialize.InitializeParams): Opening => ({
  // A revision that is known is kept once for all sessions.
  requestedRevision: Revision.supported.find((revision) => revision === protocolVersion) ??
    Excerpt.of(protocolVersion, longestRevision),
  meta: meta === undefined || Weight.of(meta, largestMeta) > largestMeta ? undefined : meta
})

/** The answer to `initialize`, in the words of this revision. */
export const answer = (
  { capabilities, info, instructions, projection }: InitializeResponder,
  id: JsonRpc.Request["id"],
  revision: Revision.Revision
): JsonRpc.Response => {
  const result: Initialize.InitializeResult = {
    protocolVersion: revision,
    capabilities,
    serverInfo: info,
    ...(instructions === undefined ? undefined : { instructions })
  }
  return JsonRpc.success(id, RevisionProjection.downgrade("initialize", "result", revision, result, projection))
}
