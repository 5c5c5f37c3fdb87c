/** The server's side of the handshake: its answers to `initialize`, also to a second one, and to `initialized`. */

import {
  type Capabilities,
  Excerpt,
  type Handshake,
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
import type { SessionEvent } from "../../SessionEvent.ts"
import type { StreamOrigin } from "../../Transport.ts"
import { isBatch } from "../engine/Batch.ts"
import * as KeptProfile from "../engine/KeptProfile.ts"
import * as RequestRejections from "../engine/RequestRejections.ts"
import { reject, type ReplySink } from "../engine/RequestServer.ts"
import { validate } from "../engine/validation.ts"
import * as Weight from "../engine/Weight.ts"

/** The server as it describes itself to every client. */
export interface ServerDescription {
  readonly revisions: readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>]
  /** The revision for a client that requests one that is not among `revisions`. */
  readonly fallback: Revision.Revision
  readonly info: Implementation.Implementation
  readonly instructions: string | undefined
  readonly capabilities: Capabilities.ServerCapabilities
  readonly projection: RevisionProjection.Projection | undefined
}

/** Describes a server by its options. */
export const describe = (options: {
  readonly revisions?: ServerDescription["revisions"]
  readonly info: Implementation.Implementation
  readonly instructions?: string
  readonly capabilities: Capabilities.ServerCapabilities
  readonly projection?: RevisionProjection.Projection | undefined
}): ServerDescription => {
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

/** The parts of `initialize` that a session keeps beside the client's profile. */
export interface InitializeDetails {
  readonly requestedRevision: string
  readonly meta: Meta.RequestMeta | undefined
}

/** The session, or the one sessionless exchange, of the handshake. */
export interface HandshakeRuntime {
  readonly limits: { readonly maxProfileBytes: number }
  readonly replies: Pick<ReplySink, "reply">
  state(): { readonly _tag: string }
  /** Applies an event to the handshake machine. */
  apply<Tag extends Handshake.EventTag>(
    event: Handshake.EventOf<Tag>
  ): Handshake.Outcome<{ readonly _tag: string }, Tag>
  /** Runs an action, and emits the changes of state that it causes after it. */
  deferEvents(action: () => void): void
  emit(event: SessionEvent): void
}

/** The server, and what it remembers of the client. */
export interface HandshakeOwner {
  readonly description: ServerDescription
  /** The requests of this side that are held until the client is ready. */
  readonly sender: { release(): void }
  /** Remembers the client, before the answer to `initialize` is sent. */
  introduce(profile: Profile.ClientProfile, details: InitializeDetails): void
  /** Tells the transport and the program of the client, after the answer is sent. */
  establish(profile: Profile.ClientProfile): void
}

/** The most characters of the requested revision, and the most bytes of heap of `_meta`, that a session keeps. */
const longestRevision = 64
const largestMeta = 4096

/** Picks the details that a session keeps for as long as it lives. The client does not decide how large they are. */
const detailsOf = ({ _meta: meta, protocolVersion }: Initialize.InitializeParams): InitializeDetails => ({
  // A known revision is one string for all sessions.
  requestedRevision: Revision.supported.find((revision) => revision === protocolVersion) ??
    Excerpt.of(protocolVersion, longestRevision),
  meta: meta === undefined || Weight.of(meta, largestMeta) > largestMeta ? undefined : meta
})

/** Returns the revision to answer with: the requested one, if the server has it (INIT-04, INIT-05). */
const negotiate = ({ fallback, revisions }: ServerDescription, requested: string): Revision.Revision =>
  revisions.find((revision) => revision === requested) ?? fallback

const invalidInitialize = (problem: string): JsonRpc.ErrorObject =>
  RequestRejections.invalidParams(`Invalid params for initialize: ${problem}`)

/**
 * Returns the client's profile, as far as it may be kept, or the error for params that do not fit. A capability that
 * has no meaning in the negotiated revision does not count as declared, even if the params have it.
 */
const profileOf = (
  description: ServerDescription,
  maxProfileBytes: number,
  params: Initialize.InitializeParams
): Result.Result<KeptProfile.Kept<Profile.ClientProfile>, JsonRpc.ErrorObject> => {
  const revision = negotiate(description, params.protocolVersion)
  const { capabilities } = RevisionProjection.downgrade(
    "initialize",
    "params",
    revision,
    params,
    description.projection
  )
  return Result.mapError(
    KeptProfile.within({ revision, capabilities, info: params.clientInfo }, maxProfileBytes),
    invalidInitialize
  )
}

/** The successful answer to `initialize`, in the form of this revision. */
const answerOf = (
  { capabilities, info, instructions, projection }: ServerDescription,
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

/** No revision that has batches is known before the handshake (MSG-16), and it is known in advance without sessions. */
const notInBatch = RequestRejections.invalidRequest("initialize is no part of a batch")

/** The rejection of a second `initialize`: the machine allows one for each session, and it changes nothing. */
const secondInitialize = RequestRejections.invalidRequest("The session is initialized already")

/** Returns what `initialize` says of the client, as far as it may be kept, or the error for params that do not fit. */
const read = (
  description: ServerDescription,
  maxProfileBytes: number,
  message: JsonRpc.Request
): Result.Result<
  KeptProfile.Kept<Profile.ClientProfile> & { readonly details: InitializeDetails },
  JsonRpc.ErrorObject
> =>
  Result.mapError(validate(MethodTable.requests.initialize.params)(message.params ?? {}), invalidInitialize).pipe(
    Result.flatMap((params) =>
      Result.map(profileOf(description, maxProfileBytes, params), (kept) => ({ ...kept, details: detailsOf(params) }))
    )
  )

const initialize = (
  runtime: HandshakeRuntime,
  owner: HandshakeOwner,
  message: JsonRpc.Request,
  origin: StreamOrigin | undefined
): void => {
  if (isBatch(origin)) return reject(runtime, message, notInBatch, origin)
  const { limits: { maxProfileBytes }, replies } = runtime
  const client = read(owner.description, maxProfileBytes, message)
  if (Result.isFailure(client)) {
    const outcome = runtime.apply({ _tag: "ReceiveInvalidInitialize" })
    const isFirst = outcome._tag === "Moved" && outcome.action === "RejectParams"
    return reject(runtime, message, isFirst ? client.failure : secondInitialize, origin)
  }
  const { details, isTrimmed, profile } = client.success
  const outcome = runtime.apply({ _tag: "ReceiveInitialize", profile })
  if (outcome._tag !== "Moved" || outcome.action !== "Answer") return reject(runtime, message, secondInitialize, origin)
  // Without sessions the machine keeps no profile, and then nothing else does.
  const isRemembered = "profile" in outcome.state
  if (isTrimmed) runtime.emit({ _tag: "ProfileTrimmed", limitBytes: maxProfileBytes })
  if (isRemembered) owner.introduce(profile, details)
  // The machine moves before the answer is sent, because a transport may deliver the client's next message meanwhile.
  runtime.apply({ _tag: "SendInitializeResult" })
  replies.reply(answerOf(owner.description, message.id, profile.revision), origin)
  if (isRemembered) owner.establish(profile)
}

const initialized = (
  runtime: HandshakeRuntime,
  owner: HandshakeOwner,
  { method }: JsonRpc.Notification
): void => {
  const outcome = runtime.apply({ _tag: "ReceiveInitialized" })
  if (outcome._tag === "Moved" && outcome.action === "Release") return owner.sender.release()
  runtime.emit({ _tag: "NotificationIgnored", method, problem: `not expected while ${runtime.state()._tag}` })
}

/** Handles a message of the handshake. Returns `false` for any other message. */
export const intercept = (
  runtime: HandshakeRuntime,
  owner: HandshakeOwner,
  message: JsonRpc.Request | JsonRpc.Notification,
  origin: StreamOrigin | undefined
): boolean => {
  if (message.method === "initialize" && "id" in message) {
    // The answer takes its place in the outbox in this step: ahead of the answers to what is pipelined after the
    // request, and ahead of what an observer of the new state may send.
    runtime.deferEvents(() => initialize(runtime, owner, message, origin))
    return true
  }
  if (message.method === "notifications/initialized" && !("id" in message)) {
    initialized(runtime, owner, message)
    return true
  }
  return false
}
