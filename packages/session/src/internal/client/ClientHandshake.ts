/**
 * The client's side of the handshake: the probe for a server without one, `initialize`, and early log messages.
 *
 * Each event that is legal in one state only is a step of `Handshake.client`, which does not compile for another state
 * or action.
 */

import {
  type Capabilities,
  CloseReason,
  ErrorCode,
  Excerpt,
  Handshake,
  type Implementation,
  type Initialize,
  JsonRpc,
  McpError,
  type Meta,
  MethodTable,
  PlainText,
  type Profile,
  RequestMetadata,
  Revision,
  RevisionProjection
} from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as HandshakeError from "../../HandshakeError.ts"
import * as RequestError from "../../RequestError.ts"
import type { Inbound } from "../../Transport.ts"
import * as SlidingBuffer from "../collections/SlidingBuffer.ts"
import * as KeptProfile from "../engine/KeptProfile.ts"
import * as Outgoing from "../engine/Outgoing.ts"
import type { PendingRequests } from "../engine/PendingRequests.ts"
import type { Sender } from "../engine/Sender.ts"
import * as SessionRuntime from "../engine/SessionRuntime.ts"
import { validate } from "../engine/validation.ts"
import * as Weight from "../engine/Weight.ts"
import * as Discovery from "./Discovery.ts"

/** The state of a client with this name. */
type StateOf<Name extends Handshake.ClientState["_tag"]> = Extract<Handshake.ClientState, { readonly _tag: Name }>

/** The client as it describes itself to a server. */
export interface ClientDescription {
  readonly revisions: ReadonlyArray<Revision.Revision>
  /** The newest of `revisions` without a handshake. The client asks the server for it first. */
  readonly probe: Revision.ModernRevision | undefined
  /** The newest of `revisions` with a handshake. The client requests it by `initialize`. */
  readonly offer: Revision.LegacyRevision | undefined
  /** The rejection of `initialize` over an earlier connection, which showed that the server has no handshake. */
  readonly rejection: HandshakeError.HandshakeErrorReason | undefined
  readonly info: Implementation.Implementation
  readonly capabilities: Capabilities.ClientCapabilities
  readonly projection: RevisionProjection.Projection | undefined
}

/** Describes a client by its options. */
export const describe = (options: {
  readonly revisions?: ReadonlyArray<Revision.Revision>
  readonly info: Implementation.Implementation
  readonly capabilities: Capabilities.ClientCapabilities
  readonly projection?: RevisionProjection.Projection | undefined
}): ClientDescription => {
  const revisions = options.revisions ?? Revision.supported
  return {
    revisions,
    probe: Revision.modern.findLast((revision) => revisions.includes(revision)),
    offer: Revision.legacy.findLast((revision) => revisions.includes(revision)),
    rejection: undefined,
    info: options.info,
    capabilities: options.capabilities,
    projection: options.projection
  }
}

/** Returns the client without its revisions that have no handshake. */
export const withHandshake = (description: ClientDescription): ClientDescription => ({
  ...description,
  revisions: description.revisions.filter(Revision.isLegacy),
  probe: undefined
})

/** Returns the client without its revisions that have a handshake, after the server has rejected `initialize`. */
export const withoutHandshake = (
  description: ClientDescription,
  rejection: HandshakeError.HandshakeErrorReason
): ClientDescription => ({
  ...description,
  revisions: description.revisions.filter(Revision.isModern),
  offer: undefined,
  rejection
})

/** Returns the metadata of requests, in a revision without a handshake. */
export const metadata = (
  description: ClientDescription,
  version: Revision.ModernRevision,
  logLevel: RequestMetadata.RequestMetadata["logLevel"]
): Meta.Meta => {
  const { capabilities, clientInfo } = initializeParams(description, version)
  return RequestMetadata.write({ protocolVersion: version, clientCapabilities: capabilities, clientInfo, logLevel })
}

/** Returns the params of `initialize`, in the form of a revision. */
export const initializeParams = (
  { capabilities, info, projection }: ClientDescription,
  revision: Revision.Revision
): Initialize.InitializeParams =>
  RevisionProjection.project("initialize", "params", revision, {
    protocolVersion: revision,
    capabilities,
    clientInfo: info
  }, projection)

/**
 * Returns the reason of a client whose `initialize` the server rejected. A server without the handshake should name its
 * revisions (VER-20); one that does not is known by the codes of its errors.
 */
const rejectedBy = (
  revisions: ReadonlyArray<Revision.Revision>,
  received: JsonRpc.ErrorObject
): HandshakeError.HandshakeErrorReason => {
  const offered = Discovery.supportedIn(received)
  const error = McpError.received(received)
  if (offered !== undefined) {
    return revisions.some((revision) => offered.includes(revision))
      ? { _tag: "Rejected", error }
      : Discovery.noCommonRevision(revisions, offered)
  }
  const isModern = received.code === ErrorCode.UnsupportedProtocolVersion || Discovery.isModern(received)
  return isModern && revisions.every(Revision.isLegacy) ? { _tag: "ModernServer", error } : { _tag: "Rejected", error }
}

/**
 * Judges the response to `initialize`: returns the server's profile, as far as it may be kept, or the reason why there
 * is no session.
 */
export const judge = (
  { projection, revisions }: ClientDescription,
  maxProfileBytes: number,
  response: JsonRpc.Response
): Result.Result<KeptProfile.Kept<Profile.ServerProfile>, HandshakeError.HandshakeErrorReason> => {
  if (JsonRpc.isFailure(response)) return Result.fail(rejectedBy(revisions, response.error))
  const result = validate(MethodTable.requests.initialize.result)(response.result)
  if (Result.isFailure(result)) return Result.fail({ _tag: "InvalidResult", problem: result.failure })
  const { instructions, protocolVersion, serverInfo } = result.success
  const revision = revisions.filter(Revision.isLegacy).find((revision) => revision === protocolVersion)
  if (revision === undefined) {
    return Result.fail({ _tag: "UnsupportedRevision", chosen: protocolVersion, supported: revisions })
  }
  // A capability that has no meaning in the revision does not count as declared, even if the result has it.
  const { capabilities } = RevisionProjection.project("initialize", "result", revision, result.success, projection)
  return Result.mapError(
    KeptProfile.within({ revision, capabilities, info: serverInfo, instructions }, maxProfileBytes),
    (problem) => ({ _tag: "InvalidResult", problem })
  )
}

/** Returns the reason of a handshake whose `initialize` got no response. */
const reasonOf = (error: RequestError.RequestError): HandshakeError.HandshakeErrorReason => {
  switch (error.reason._tag) {
    case "Timeout":
      return { _tag: "Timeout", afterMillis: error.reason.afterMillis }
    case "Closed":
      return { _tag: "Closed", reason: error.reason.reason }
    case "SendFailed":
      return { _tag: "Closed", reason: SessionRuntime.reasonOf(error.reason.error) }
    case "MalformedResponse":
      return { _tag: "InvalidResult", problem: error.reason.problem }
    default:
      return { _tag: "Closed", reason: { _tag: "TransportFailed", cause: error } }
  }
}

/** Takes the step of a handshake that fails. */
const failed = (
  state: StateOf<"Initializing" | "Probing">,
  reason: HandshakeError.HandshakeErrorReason
): SessionRuntime.Abortion => {
  if (reason._tag === "Timeout") {
    return Handshake.client.step(state, {
      _tag: "Timeout",
      reason: { _tag: "HandshakeTimeout", afterMillis: reason.afterMillis }
    })
  }
  const problem: CloseReason.CloseReason = { _tag: "HandshakeFailed", problem: HandshakeError.describe(reason) }
  return state._tag === "Probing"
    ? Handshake.client.step(state, { _tag: "ReceiveDiscoverFailure", reason: problem })
    : Handshake.client.step(state, { _tag: "ReceiveInitializeFailure", reason: problem })
}

/** The session of the handshake. */
export type HandshakeRuntime =
  & Pick<
    SessionRuntime.SessionRuntime<Handshake.ClientState>,
    | "abort"
    | "apply"
    | "budget"
    | "closed"
    | "commit"
    | "connection"
    | "emit"
    | "end"
    | "fork"
    | "limits"
    | "state"
  >
  & { readonly exchanges: Pick<PendingRequests, "only">; readonly replies: { mute(): void } }

/** The client, and the parts of its session that the handshake uses. */
export interface HandshakeOwner {
  readonly description: ClientDescription
  readonly sender: Pick<Sender, "request" | "notify">
  readonly inbound: {
    /** Delivers a notification to its handler and to the streams that follow it. */
    deliverNotification(message: JsonRpc.Notification, bytes: number | undefined): void
    /** Reports a notification that has no effect. */
    ignoreNotification(method: string, problem: string): void
  }
  /** Stores the server's profile, before the session is established. */
  storeServer(profile: Profile.ServerProfile): void
}

/** A log message that arrived before the session was established, and the bytes that it arrived in. */
interface KeptLog {
  readonly message: JsonRpc.Notification
  readonly bytes: number | undefined
}

/** The bounds of the log messages that a client keeps until its session is established. Few servers log so early. */
const keptBounds = { capacity: 256, bytes: 1_048_576 }

const receiveLog: Handshake.EventOf<"ReceiveLog"> = { _tag: "ReceiveLog" }

/** The most characters of a text that is no message. */
const strayLength = 200

/** Returns the beginning of a frame that is no message. */
const strayText = (frame: Inbound["frame"]): string => {
  if (Result.isSuccess(frame)) return Excerpt.of(JSON.stringify(frame.success), strayLength)
  const { failure } = frame
  switch (failure._tag) {
    case "NotJson":
      return Excerpt.of(failure.text, strayLength)
    case "TooLarge":
      return `a text of more than ${failure.limitBytes} bytes`
    case "TooComplex":
      return `JSON of ${failure.nodes} arrays, objects and members (8 for an integer beyond 2^53)`
  }
}

/** The outcome of a handshake that has not failed. */
export type Outcome =
  | { readonly _tag: "Established"; readonly profile: Profile.ServerProfile }
  /**
   * After the probe the server ended, or rejected `initialize`. It needs a new connection, without a probe: a bridge
   * may have initialized a session by itself, to pass the probe on.
   */
  | { readonly _tag: "SpoiledByProbe"; readonly error: HandshakeError.HandshakeError }
  /** The server was silent at the probe, and then had no handshake. It needs a new connection, with a probe alone. */
  | { readonly _tag: "WithoutHandshake"; readonly error: HandshakeError.HandshakeError }

/** The handshake of one client's session. */
export class ClientHandshake {
  readonly #runtime: HandshakeRuntime
  readonly #owner: HandshakeOwner
  #verdict: Result.Result<Profile.ServerProfile, HandshakeError.HandshakeErrorReason> | undefined
  #probed: Discovery.Verdict | undefined
  /**
   * Whether a probe was sent, and no session exists yet. Until then, an end of the connection counts as its response.
   * Some servers end at once, others after an error, or only after they have started and read it.
   */
  #isProbed = false
  /**
   * Whether the client sent `initialize` only because no response to the probe arrived in time, or one without its id.
   * A server without a handshake that starts slowly then rejects `initialize`.
   */
  #isGuess = false
  /** Whether the response to the probe is an error without an id. */
  #isUnnamed = false
  /** Whether the server has then rejected `initialize`, and named a revision of the client without a handshake. */
  #isWrongGuess = false
  /** Whether the server has rejected `initialize` on a connection with a probe, and may accept it on another one. */
  #isSpoiled = false
  #kept: SlidingBuffer.SlidingBuffer<KeptLog> | undefined
  #stray: HandshakeError.StrayTexts | undefined
  /** Whether the server's process, if the transport starts one, has written anything. */
  #hasStarted = true

  constructor(runtime: HandshakeRuntime, owner: HandshakeOwner) {
    this.#runtime = runtime
    this.#owner = owner
  }

  /**
   * Asks the server for a revision without a handshake, if the client supports one. If the server needs a handshake,
   * sends `initialize`, judges the response, and sends `notifications/initialized`. If there is no session, closes the
   * connection first, and then fails.
   */
  get run(): Effect.Effect<Outcome, HandshakeError.HandshakeError> {
    const runtime = this.#runtime
    const ended = Effect.suspend(() => {
      runtime.end({ _tag: "Close", reason: CloseReason.requested }, "Immediate")
      return runtime.closed
    })
    return Effect.onInterrupt(
      Effect.suspend(() => {
        const { probe } = this.#owner.description
        if (probe === undefined) return this.#initialize
        return runtime.connection.handshakeOnly === true
          ? this.#fallBack("its transport exists only in revisions with a handshake")
          : this.#probe(probe, false)
      }),
      () => ended
    )
  }

  /** Returns whether a session that ends for this reason is replaced by one over another connection. */
  isReplaced(reason: CloseReason.CloseReason): boolean {
    return ((this.#isWrongGuess || this.#isSpoiled) && reason._tag === "HandshakeFailed") ||
      this.#isEndedByProbe(reason)
  }

  /** Returns whether the session ends because the server does not survive a probe, and it can be connected again. */
  #isEndedByProbe(reason: CloseReason.CloseReason): boolean {
    return this.#isProbed && reason._tag === "PeerEnded" && this.#owner.description.offer !== undefined &&
      !this.#isStreamed
  }

  /** Whether each request has a stream of its own, as over HTTP. */
  get #isStreamed(): boolean {
    return this.#runtime.connection.request !== undefined
  }

  /** Sends `server/discover`, and continues as its response demands. */
  #probe(version: Revision.ModernRevision, isRetry: boolean): Effect.Effect<Outcome, HandshakeError.HandshakeError> {
    const { description, sender } = this.#owner
    const { discoverTimeout, handshakeTimeout } = this.#runtime.limits
    this.#isUnnamed = false
    const fallsBack = description.offer !== undefined && !this.#isStreamed
    const timeout = fallsBack ? Math.min(discoverTimeout, handshakeTimeout) : handshakeTimeout
    const { started } = this.#runtime.connection
    const own = metadata(description, version, undefined)
    const discover = (timeout: number) =>
      sender.request(MethodTable.requests["server/discover"], {}, {
        timeout,
        onResponse: (response) => this.#receiveDiscovery(response, isRetry),
        admit: () => this.#admitProbe(),
        metadata: own
      })
    const discovered = fallsBack && started !== undefined
      ? Effect.raceFirst(discover(handshakeTimeout), this.#silence(started, own, timeout))
      : discover(timeout)
    return Effect.flatMap(Effect.result(discovered), (response) => {
      const verdict = this.#probed ??
        (Result.isFailure(response)
          ? Discovery.judgeSilence(response.failure, !this.#isStreamed && description.rejection === undefined)
          : undefined)
      this.#probed = undefined
      if (verdict === undefined) {
        return this.#failOrReconnect(
          Result.isFailure(response) ? reasonOf(response.failure) : { _tag: "InvalidResult", problem: "no response" }
        )
      }
      switch (verdict._tag) {
        case "Modern":
          return Effect.succeed<Outcome>({ _tag: "Established", profile: verdict.kept.profile })
        case "Retry":
          return this.#probe(verdict.version, true)
        case "Legacy":
          this.#isGuess = this.#isUnnamed ||
            (Result.isFailure(response) && response.failure.reason._tag === "Timeout")
          return this.#fallBack(verdict.problem)
        case "Failed":
          return this.#fail(verdict.reason)
      }
    })
  }

  /**
   * Fails this time after the process of the server has written its first byte, or when it has answered the `ping` that
   * follows a probe without a sign of life. Until then it has not started, and a machine under load would decide about
   * the revision.
   */
  #silence(
    started: Effect.Effect<void>,
    metadata: Meta.Meta,
    afterMillis: number
  ): Effect.Effect<never, RequestError.RequestError> {
    this.#hasStarted = false
    const written = Effect.andThen(started, Effect.sync(() => void (this.#hasStarted = true)))
    const pinged = Effect.andThen(
      Effect.sleep(afterMillis),
      Effect.suspend(() => this.#hasStarted ? Effect.never : this.#ping(metadata))
    )
    return Effect.andThen(
      Effect.raceFirst(Effect.andThen(written, Effect.sleep(afterMillis)), pinged),
      RequestError.make("server/discover", { _tag: "Timeout", afterMillis })
    )
  }

  /**
   * Sends `ping`, and completes when the server has answered it. Many servers ignore a method that they do not know,
   * and write nothing when they start: without this they would get the time of a process that has not started. A server
   * that reads the messages in their order answers `server/discover` first, if it answers it at all.
   */
  #ping(metadata: Meta.Meta): Effect.Effect<void> {
    const answered = Deferred.makeUnsafe<void>()
    // The race does not interrupt it: a message that cancels it would reach the server before `initialize`.
    this.#runtime.fork(Effect.ignore(
      this.#owner.sender.request(MethodTable.requests.ping, {}, {
        timeout: this.#runtime.limits.handshakeTimeout,
        metadata,
        admit: () => Outgoing.admitRequest(this.#runtime, Outgoing.sendPing),
        onResponse: () => Deferred.doneUnsafe(answered, Effect.void)
      })
    ))
    return Deferred.await(answered)
  }

  /** Continues with `initialize`, if the client supports a revision with a handshake. */
  #fallBack(problem: string): Effect.Effect<Outcome, HandshakeError.HandshakeError> {
    const { offer, rejection } = this.#owner.description
    // A server that rejects both contradicts itself. The advice to add older revisions would be wrong then.
    if (offer === undefined) return this.#fail(rejection ?? { _tag: "LegacyServer", problem })
    this.#runtime.emit(this.#isGuess ? { _tag: "FellBack", problem, isGuess: true } : { _tag: "FellBack", problem })
    return this.#initialize
  }

  /** Sends `initialize`, and establishes the session of its response. */
  get #initialize(): Effect.Effect<Outcome, HandshakeError.HandshakeError> {
    const { description, sender } = this.#owner
    const { offer = Revision.latestLegacy } = description
    const initialized = sender.request(MethodTable.requests.initialize, initializeParams(description, offer), {
      timeout: this.#initializeTimeout,
      onResponse: (response) => this.#receive(response),
      admit: () => this.#admit(offer)
    })
    return Effect.flatMap(Effect.result(initialized), (response) => {
      const verdict = this.#verdict ??
        (Result.isFailure(response)
          ? Result.fail(reasonOf(response.failure))
          : Result.fail({ _tag: "InvalidResult" as const, problem: "no response" }))
      return Result.isSuccess(verdict)
        ? Effect.succeed<Outcome>({ _tag: "Established", profile: verdict.success })
        : this.#failOrReconnect(verdict.failure)
    })
  }

  /** The time for the response to `initialize`. A process that has not started had the time of a handshake before. */
  get #initializeTimeout(): number {
    const { discoverTimeout, handshakeTimeout } = this.#runtime.limits
    return this.#hasStarted ? handshakeTimeout : Math.min(discoverTimeout, handshakeTimeout)
  }

  /** Counts a frame that is no message, and reports the first one at once. */
  receiveStray(frame: Inbound["frame"]): void {
    if (this.#stray !== undefined) {
      this.#stray = { ...this.#stray, count: this.#stray.count + 1 }
      return
    }
    const text = strayText(frame)
    // Only a transport that starts the server knows when it has started.
    const isPrinted = this.#runtime.connection.started !== undefined
    this.#stray = isPrinted ? { first: text, count: 1, isPrinted } : { first: text, count: 1 }
    this.#runtime.emit({ _tag: "StrayText", text })
    this.#runtime.fork(Effect.logWarning(
      `the server has sent a text that is no message, before its response to the handshake${
        isPrinted ? "; a server over stdio must print only messages to standard output" : ""
      }: ${PlainText.json(text)}`
    ))
  }

  /** Hides the secrets that a result or an error of the server repeats, such as in the names of its members. */
  #withoutSecrets(reason: HandshakeError.HandshakeErrorReason): HandshakeError.HandshakeErrorReason {
    const { hideSecrets } = this.#runtime.connection
    if (hideSecrets === undefined) return reason
    const hidden = (text: string): string => String(hideSecrets(text))
    switch (reason._tag) {
      case "Rejected":
      case "ModernServer": {
        const { code, data, message } = reason.error
        return { ...reason, error: McpError.received({ code, message, data: hideSecrets(data) }) }
      }
      case "InvalidResult":
        return { ...reason, problem: hidden(reason.problem) }
      case "UnsupportedRevision":
        return { ...reason, chosen: hidden(reason.chosen) }
      case "NoCommonRevision":
        return { ...reason, offered: reason.offered.map(hidden) }
      default:
        return reason
    }
  }

  /** Adds the texts of the server that are no messages to the reason of a handshake without a response. */
  #withStray(given: HandshakeError.HandshakeErrorReason): HandshakeError.HandshakeErrorReason {
    const reason: HandshakeError.HandshakeErrorReason = given._tag === "Timeout" && !this.#hasStarted
      ? { _tag: "Timeout", afterMillis: this.#runtime.limits.handshakeTimeout, method: "server/discover" }
      : given
    return this.#stray !== undefined && (reason._tag === "Timeout" || reason._tag === "Closed")
      ? { ...reason, stray: this.#stray }
      : reason
  }

  /**
   * Returns an error without an id as the response to the probe, if the client has sent nothing else, and continues
   * with `initialize` after it. Without this, servers that cannot read the request would cost `discoverTimeout`.
   *
   * A client without a handshake waits on: for it the error would be the end, and it may be about no request at all
   * (found by the simulation, whose servers send such errors).
   */
  identify(error: JsonRpc.Response): JsonRpc.Response | undefined {
    if (
      this.#runtime.state()._tag !== "Probing" || this.#isStreamed || this.#isUnnamed ||
      this.#owner.description.offer === undefined
    ) return undefined
    const probe = this.#runtime.exchanges.only
    if (probe?.handed !== true || probe.outcome !== "Pending") return undefined
    this.#isUnnamed = true
    this.#runtime.emit({ _tag: "Tolerated", method: probe.method, problem: "the error has no id" })
    return { ...error, id: probe.id }
  }

  /** Handles a log message: a server may send it before the response to `initialize` (INIT-10). */
  receiveLog(message: JsonRpc.Notification, bytes: number | undefined): void {
    const { inbound } = this.#owner
    switch (this.#logAction()) {
      case "Keep":
        return this.#keep(message, bytes)
      case "Deliver":
        return inbound.deliverNotification(message, bytes)
      case "Ignore":
        return inbound.ignoreNotification(message.method, `not expected while ${this.#runtime.state()._tag}`)
    }
  }

  /** Drops the log messages that were kept, because the session ends before it is established. */
  dropLogs(): void {
    this.#takeLogs(({ message }) =>
      this.#owner.inbound.ignoreNotification(message.method, "the session closed before the response to initialize")
    )
  }

  #logAction(): "Keep" | "Deliver" | "Ignore" {
    const outcome = this.#runtime.apply(receiveLog)
    return outcome._tag === "RemoteViolation" ? "Ignore" : outcome.action
  }

  /** Moves the machine by the sending of `server/discover`. */
  #admitProbe(): Outgoing.RequestAdmission {
    const state = this.#runtime.state()
    if (state._tag !== "Idle" && state._tag !== "Probing") return Outgoing.notAllowed(state)
    const sent: Handshake.Step<StateOf<"Probing">, "Send"> = Handshake.client.step(state, { _tag: "SendDiscover" })
    this.#isProbed = true
    return this.#runtime.commit(state, sent.state) ? sent.action : Outgoing.notAllowed(this.#runtime.state())
  }

  /** Judges the response to a probe in the step in which it is read, so that the messages after it find a session. */
  #receiveDiscovery(response: JsonRpc.Response, isRetry: boolean): void {
    const { limits: { maxProfileBytes } } = this.#runtime
    // The response may win the race against the first byte.
    this.#hasStarted = true
    this.#probed = Discovery.judge(this.#owner.description, maxProfileBytes, response, isRetry)
    if (this.#probed._tag !== "Modern") return
    const { isTrimmed, profile } = this.#probed.kept
    const state = this.#runtime.state()
    // The program may have closed the session meanwhile, on an event.
    if (state._tag !== "Probing") return
    this.#owner.storeServer(profile)
    if (isTrimmed) this.#runtime.emit({ _tag: "ProfileTrimmed", limitBytes: maxProfileBytes })
    this.#adopt(state, Handshake.client.step(state, { _tag: "ReceiveDiscoverResult", profile }))
  }

  #adopt(from: StateOf<"Probing">, { state: modern }: Handshake.Step<StateOf<"Modern">, "Adopt">): void {
    const { connection, replies } = this.#runtime
    this.#isProbed = false
    if (!this.#runtime.commit(from, modern)) return
    replies.mute()
    connection.onHandshake?.(modern.profile)
    this.#deliverLogs()
  }

  /** Moves the machine by the sending of `initialize`. */
  #admit(offer: Revision.LegacyRevision): Outgoing.RequestAdmission {
    const state = this.#runtime.state()
    if (state._tag !== "Idle" && state._tag !== "Probing") return Outgoing.notAllowed(state)
    const sent: Handshake.Step<StateOf<"Initializing">, "Send"> = Handshake.client.step(state, {
      _tag: "SendInitialize",
      offer
    })
    return this.#runtime.commit(state, sent.state) ? sent.action : Outgoing.notAllowed(this.#runtime.state())
  }

  /** Judges the response in the step in which it is read, so that the messages after it find a session. */
  #receive(response: JsonRpc.Response): void {
    const { limits: { maxProfileBytes } } = this.#runtime
    const judged = judge(this.#owner.description, maxProfileBytes, response)
    const namesModern = JsonRpc.isFailure(response) &&
      Discovery.namesModern(this.#owner.description, response.error)
    this.#isWrongGuess = this.#isGuess && namesModern
    this.#isSpoiled = this.#isProbed && !this.#isStreamed && !namesModern && Result.isFailure(judged) &&
      judged.failure._tag === "Rejected"
    this.#isProbed = false
    this.#verdict = Result.map(judged, ({ profile }) => profile)
    if (Result.isFailure(judged)) return
    const { isTrimmed, profile } = judged.success
    this.#owner.storeServer(profile)
    if (isTrimmed) this.#runtime.emit({ _tag: "ProfileTrimmed", limitBytes: maxProfileBytes })
    const state = this.#runtime.state()
    // The program may have closed the session meanwhile, on an event.
    if (state._tag !== "Initializing") return
    this.#establish(state, Handshake.client.step(state, { _tag: "ReceiveInitializeResult", profile }))
  }

  #establish(
    from: StateOf<"Initializing">,
    { state }: Handshake.Step<StateOf<"Operating">, "Establish">
  ): void {
    const { connection } = this.#runtime
    const { sender } = this.#owner
    if (!this.#runtime.commit(from, state)) return
    connection.onHandshake?.(state.profile)
    this.#runtime.fork(Effect.ignore(sender.notify(MethodTable.notifications["notifications/initialized"], {})))
    this.#deliverLogs()
  }

  /** Closes the session, waits until it has closed, and fails. */
  #fail(given: HandshakeError.HandshakeErrorReason): Effect.Effect<never, HandshakeError.HandshakeError> {
    const reason = this.#withStray(this.#withoutSecrets(given))
    return Effect.andThen(this.#close(reason), Effect.fail(HandshakeError.make(reason)))
  }

  /** Closes the session, and waits until it has closed. */
  #close(reason: HandshakeError.HandshakeErrorReason): Effect.Effect<void> {
    const state = this.#runtime.state()
    if (state._tag === "Initializing" || state._tag === "Probing") this.#runtime.abort(state, failed(state, reason))
    // The session has begun to end before the handshake failed: then its handlers get no time to finish.
    else this.#runtime.end({ _tag: "Close", reason: CloseReason.requested }, "Immediate")
    return this.#runtime.closed
  }

  /** Fails, unless another connection is to replace this one. */
  #failOrReconnect(
    reason: HandshakeError.HandshakeErrorReason
  ): Effect.Effect<Outcome, HandshakeError.HandshakeError> {
    if ((this.#isWrongGuess || this.#isSpoiled) && this.#runtime.state()._tag === "Initializing") {
      const shown = this.#withoutSecrets(reason)
      return Effect.as(this.#close(shown), {
        _tag: this.#isWrongGuess ? "WithoutHandshake" : "SpoiledByProbe",
        error: HandshakeError.make(shown)
      })
    }
    return reason._tag === "Closed" && this.#isEndedByProbe(reason.reason)
      ? Effect.as(this.#runtime.closed, { _tag: "SpoiledByProbe", error: HandshakeError.make(this.#withStray(reason)) })
      : this.#fail(reason)
  }

  #keep(message: JsonRpc.Notification, bytes: number | undefined): void {
    this.#kept ??= SlidingBuffer.make({ ...keptBounds, budget: this.#runtime.budget })
    if (this.#kept.offer({ message, bytes }, Weight.received(message, bytes))) return
    this.#owner.inbound.ignoreNotification(
      message.method,
      `more than ${keptBounds.capacity} log messages, or ${keptBounds.bytes} bytes, ` +
        "before the response to initialize; the oldest was dropped"
    )
  }

  /** Delivers the log messages that were kept. */
  #deliverLogs(): void {
    this.#takeLogs(({ bytes, message }) => this.receiveLog(message, bytes))
  }

  #takeLogs(take: (log: KeptLog) => void): void {
    const kept = this.#kept
    this.#kept = undefined
    for (let next = kept?.shift(); next !== undefined; next = kept?.shift()) {
      kept?.release(next)
      take(next.item)
    }
  }
}
