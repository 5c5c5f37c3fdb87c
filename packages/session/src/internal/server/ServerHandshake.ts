/**
 * The server's side of the handshake: the first `initialize`, a second one, and `notifications/initialized`.
 *
 * Each event that is legal in one state only is a step of `Handshake.server`, which does not compile for another state
 * or action. `Handshake.strictServer` has the same rows for these events.
 */

import {
  type Capabilities,
  Handshake,
  type Implementation,
  type Initialize,
  JsonRpc,
  McpError,
  type Meta,
  MethodTable,
  type Profile,
  Revision,
  RevisionProjection
} from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Result from "effect/Result"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { StreamOrigin } from "../../Transport.ts"
import { isBatch } from "../engine/Batch.ts"
import * as KeptProfile from "../engine/KeptProfile.ts"
import * as RequestRejections from "../engine/RequestRejections.ts"
import { reject, type ReplySink } from "../engine/RequestServer.ts"
import type { Abortion } from "../engine/SessionRuntime.ts"
import { validate } from "../engine/validation.ts"
import * as Weight from "../engine/Weight.ts"
import type { HandshakeState } from "./ServerSessionShape.ts"

/** The state of a server with this name. */
type StateOf<Name extends HandshakeState["_tag"]> = Extract<HandshakeState, { readonly _tag: Name }>

/** The server as it describes itself to every client. */
export interface ServerDescription {
  /** The revisions with a handshake; empty if the server serves none of them. */
  readonly revisions: ReadonlyArray<Revision.LegacyRevision>
  /** The revisions of the server, those without a handshake included, newest first. */
  readonly supported: ReadonlyArray<Revision.Revision>
  /** Whether the server serves a revision without a handshake. */
  readonly isModern: boolean
  /** The revision for a client that requests one that is not among `revisions`. */
  readonly fallback: Revision.LegacyRevision | undefined
  readonly info: Implementation.Implementation
  readonly instructions: string | undefined
  readonly capabilities: Capabilities.ServerCapabilities
  readonly projection: RevisionProjection.Projection | undefined
}

/** Describes a server by its options. */
export const describe = (options: {
  readonly revisions: ReadonlyArray<Revision.Revision>
  readonly info: Implementation.Implementation
  readonly instructions?: string
  readonly capabilities: Capabilities.ServerCapabilities
  readonly projection?: RevisionProjection.Projection | undefined
}): ServerDescription => {
  const supported = [...options.revisions].toSorted().toReversed()
  const revisions = supported.filter((revision) => Revision.isLegacy(revision))
  return {
    revisions,
    supported,
    isModern: supported.some((revision) => Revision.isModern(revision)),
    fallback: revisions[0],
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

/** The session of the handshake. */
export interface HandshakeRuntime {
  readonly limits: { readonly maxProfileBytes: number }
  readonly replies: Pick<ReplySink, "reply">
  state(): HandshakeState
  /** Moves to the state that a step leads to. Returns `false` if the session has left the state of that step. */
  commit(from: HandshakeState, to: HandshakeState): boolean
  /** Applies an event to the handshake machine, and moves to the next state. */
  apply<Tag extends Handshake.EventTag>(event: Handshake.EventOf<Tag>): Handshake.Outcome<HandshakeState, Tag>
  /** Runs an action, and emits the changes of state that it causes after it. */
  deferEvents(action: () => void): void
  emit(event: SessionEvent): void
}

/** The server, and the part of a session that stores the client. */
export interface HandshakeOwner {
  readonly description: ServerDescription
  /** Sends the requests of this side that are held until the client is ready. */
  release(): void
  /** Stores the client, before the response to `initialize` is sent. */
  storeClient(profile: Profile.ClientProfile, details: InitializeDetails): void
  /** Passes the client on to the transport and to the program, after the response is sent. */
  establish(profile: Profile.ClientProfile): void
}

/** The bounds of the details that a session stores: the characters of the requested revision, the memory of `_meta`. */
const maxRevisionCharacters = 64
const maxMetaBytes = 4096

/** Returns the details that a session stores until it ends. The client does not decide how large they are. */
const detailsOf = ({ _meta: meta, protocolVersion }: Initialize.InitializeParams): InitializeDetails => ({
  // A known revision is one string for all sessions.
  requestedRevision: Revision.legacy.find((revision) => revision === protocolVersion) ??
    Excerpt.of(protocolVersion, maxRevisionCharacters),
  meta: meta === undefined || Weight.of(meta, maxMetaBytes) > maxMetaBytes ? undefined : meta
})

/**
 * Returns the negotiated revision: the requested one, if the server supports it (INIT-04, INIT-05). Fails if the server
 * serves no revision with a handshake, with the error that names those that it serves.
 */
const negotiate = (
  { fallback, revisions, supported }: ServerDescription,
  requested: string
): Result.Result<Revision.LegacyRevision, JsonRpc.ErrorObject> => {
  const revision = revisions.find((revision) => revision === requested) ?? fallback
  if (revision !== undefined) return Result.succeed(revision)
  const { code, data, message } = McpError.unsupportedVersion(requested, supported)
  return Result.fail({
    code,
    message: `${message}; initialize is not served here: send server/discover in ${supported.join(" or ")}`,
    ...(data === undefined ? undefined : { data })
  })
}

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
  const negotiated = negotiate(description, params.protocolVersion)
  if (Result.isFailure(negotiated)) return Result.fail(negotiated.failure)
  const revision = negotiated.success
  const { capabilities } = RevisionProjection.project(
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

/** Returns the successful response to `initialize`, in the form of this revision. */
const responseOf = (
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
  return JsonRpc.success(id, RevisionProjection.project("initialize", "result", revision, result, projection))
}

/**
 * The rejection of an `initialize` in a batch. Before the handshake no revision with batches is negotiated (MSG-16).
 * Without sessions the revision is known, and the rule is the same.
 */
const notInBatch = RequestRejections.invalidRequest("initialize must not be part of a batch")

/** The rejection of a second `initialize`, which changes nothing: a session has one handshake. */
const secondInitialize = RequestRejections.invalidRequest("The session is already initialized")

/** The client as its `initialize` describes it. */
interface InitializingClient extends KeptProfile.Kept<Profile.ClientProfile> {
  readonly details: InitializeDetails
}

/** Returns the client that `initialize` describes, as far as it may be kept, or the error for invalid params. */
const read = (
  description: ServerDescription,
  maxProfileBytes: number,
  message: JsonRpc.Request
): Result.Result<InitializingClient, JsonRpc.ErrorObject> =>
  Result.mapError(validate(MethodTable.requests.initialize.params)(message.params ?? {}), invalidInitialize).pipe(
    Result.flatMap((params) =>
      Result.map(profileOf(description, maxProfileBytes, params), (kept) => ({ ...kept, details: detailsOf(params) }))
    )
  )

/** Returns the error for an `initialize` with invalid params. A second one is rejected because it is the second. */
const errorOfInvalid = (
  runtime: Pick<HandshakeRuntime, "apply">,
  invalid: JsonRpc.ErrorObject
): JsonRpc.ErrorObject => {
  const outcome = runtime.apply({ _tag: "ReceiveInvalidInitialize" })
  if (outcome._tag === "RemoteViolation") return secondInitialize
  switch (outcome.action) {
    case "RejectParams":
      return invalid
    case "Reject":
      return secondInitialize
  }
}

/** Returns the client that `initialize` describes, or the error that rejects the request. */
const initializing = (
  runtime: Pick<HandshakeRuntime, "apply" | "limits">,
  description: ServerDescription,
  message: JsonRpc.Request,
  origin: StreamOrigin | undefined
): Result.Result<InitializingClient, JsonRpc.ErrorObject> =>
  isBatch(origin)
    ? Result.fail(notInBatch)
    : Result.mapError(
      read(description, runtime.limits.maxProfileBytes, message),
      (invalid) => errorOfInvalid(runtime, invalid)
    )

/** Returns the error for a second `initialize`. The machine rejects it in each of these states. */
const errorOfSecond = (
  state: StateOf<"Negotiated" | "Operating" | "Closing">,
  profile: Profile.ClientProfile
): JsonRpc.ErrorObject => {
  switch (Handshake.server.step(state, { _tag: "ReceiveInitialize", profile }).action) {
    case "Reject":
      return secondInitialize
  }
}

/** Answers the first `initialize` of a session, which is in this state. */
const answerFirst = (
  runtime: HandshakeRuntime,
  owner: HandshakeOwner,
  state: StateOf<"AwaitingInitialize">,
  { details, isTrimmed, profile }: InitializingClient,
  message: JsonRpc.Request,
  origin: StreamOrigin | undefined
): void => {
  const received: Handshake.Step<StateOf<"Initializing">, "Answer"> = Handshake.server.step(state, {
    _tag: "ReceiveInitialize",
    profile
  })
  const sent: Handshake.Step<StateOf<"Negotiated">, "Send"> = Handshake.server.step(received.state, {
    _tag: "SendInitializeResult"
  })
  const isReceived = runtime.commit(state, received.state)
  if (isTrimmed) runtime.emit({ _tag: "ProfileTrimmed", limitBytes: runtime.limits.maxProfileBytes })
  owner.storeClient(profile, details)
  // The machine moves before the response is sent, because the transport may deliver the next message meanwhile. The
  // program may have closed the session in the meantime, on an event.
  if (!isReceived || !runtime.commit(received.state, sent.state)) {
    return reject(runtime, message, RequestRejections.notReady("server", runtime.state()._tag), origin)
  }
  runtime.replies.reply(responseOf(owner.description, message.id, profile.revision), origin)
  owner.establish(profile)
}

/** Answers an `initialize` without a session: the machine stays in its state, and the client is not stored. */
const answerStateless = (
  { replies }: Pick<HandshakeRuntime, "replies">,
  description: ServerDescription,
  state: StateOf<"Stateless">,
  { profile }: InitializingClient,
  message: JsonRpc.Request,
  origin: StreamOrigin | undefined
): void => {
  const received: Handshake.Step<StateOf<"Stateless">, "Answer"> = Handshake.statelessServer.step(state, {
    _tag: "ReceiveInitialize",
    profile
  })
  switch (Handshake.statelessServer.step(received.state, { _tag: "SendInitializeResult" }).action) {
    case "Send":
      replies.reply(responseOf(description, message.id, profile.revision), origin)
  }
}

const initialize = (
  runtime: HandshakeRuntime,
  owner: HandshakeOwner,
  message: JsonRpc.Request,
  origin: StreamOrigin | undefined
): void => {
  const client = initializing(runtime, owner.description, message, origin)
  if (Result.isFailure(client)) return reject(runtime, message, client.failure, origin)
  const state = runtime.state()
  switch (state._tag) {
    case "AwaitingInitialize":
      return answerFirst(runtime, owner, state, client.success, message, origin)
    case "Stateless":
      return answerStateless(runtime, owner.description, state, client.success, message, origin)
    case "Initializing":
    case "Closed":
      // The pair has no row.
      return reject(runtime, message, secondInitialize, origin)
    case "Negotiated":
    case "Operating":
    case "Closing":
      return reject(runtime, message, errorOfSecond(state, client.success.profile), origin)
  }
}

/** Answers `initialize`, as a session. */
export const answer = (
  runtime: HandshakeRuntime,
  owner: HandshakeOwner,
  message: JsonRpc.Request,
  origin: StreamOrigin | undefined
): void =>
  // The response enters the outbox in this step: before the responses to pipelined requests, and before the messages
  // that an observer of the new state sends.
  runtime.deferEvents(() => initialize(runtime, owner, message, origin))

/** Answers `initialize` in a frame without a session. */
export const answerInFrame = (
  runtime: Pick<HandshakeRuntime, "apply" | "emit" | "limits" | "replies">,
  description: ServerDescription,
  message: JsonRpc.Request,
  origin: StreamOrigin | undefined
): void => {
  const client = initializing(runtime, description, message, origin)
  if (Result.isFailure(client)) reject(runtime, message, client.failure, origin)
  else answerStateless(runtime, description, { _tag: "Stateless" }, client.success, message, origin)
}

/** Returns whether `notifications/initialized` ends the handshake. A second one does not. */
const endsHandshake = (runtime: Pick<HandshakeRuntime, "apply">): boolean => {
  const outcome = runtime.apply({ _tag: "ReceiveInitialized" })
  if (outcome._tag === "RemoteViolation") return false
  switch (outcome.action) {
    case "Release":
      return true
    case "Ignore":
      return false
  }
}

/** Handles `notifications/initialized`. Returns `false` for any other notification. */
export const observe = (
  runtime: Pick<HandshakeRuntime, "apply" | "emit" | "state">,
  { method }: JsonRpc.Notification,
  release: () => void
): boolean => {
  if (method !== "notifications/initialized") return false
  if (endsHandshake(runtime)) release()
  else runtime.emit({ _tag: "NotificationIgnored", method, problem: `not expected while ${runtime.state()._tag}` })
  return true
}

/** Takes the step of a session that received no `initialize` in time. Returns `undefined` if it received one. */
export const timeOut = (state: HandshakeState, event: Handshake.EventOf<"Timeout">): Abortion | undefined =>
  state._tag === "AwaitingInitialize" ? Handshake.server.step(state, event) : undefined
