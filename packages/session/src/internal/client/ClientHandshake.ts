/**
 * The client's side of the handshake: the probe for a server without one, and `initialize`.
 *
 * Each event that is legal in one state only is a step of `Handshake.client`, which does not compile for another state
 * or action.
 */

import {
  CloseReason,
  Handshake,
  JsonRpc,
  McpError,
  type Meta,
  MethodTable,
  type Profile,
  Revision
} from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as HandshakeError from "../../HandshakeError.ts"
import * as RequestError from "../../RequestError.ts"
import * as Outgoing from "../engine/Outgoing.ts"
import type { PendingRequests } from "../engine/PendingRequests.ts"
import type { Sender } from "../engine/Sender.ts"
import * as SessionRuntime from "../engine/SessionRuntime.ts"
import { requiredByHandshake } from "./AuthorizationWait.ts"
import * as ClientDescription from "./ClientDescription.ts"
import type { ClientEra } from "./ClientEra.ts"
import * as Discovery from "./Discovery.ts"
import type { EarlyLogs } from "./EarlyLogs.ts"
import * as InitializeResponse from "./InitializeResponse.ts"
import * as ProbeState from "./ProbeState.ts"
import type { StrayTexts } from "./StrayTexts.ts"

/** The state of a client with this name. */
type StateOf<Name extends Handshake.ClientState["_tag"]> = Extract<Handshake.ClientState, { readonly _tag: Name }>

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
export interface HandshakeDependencies {
  readonly description: ClientDescription.ClientDescription
  readonly sender: Pick<Sender, "exchange" | "notify">
  readonly logs: EarlyLogs
  readonly strayTexts: StrayTexts
  /** Makes the client of a server with a handshake, before the session is established. */
  readonly legacy: (server: Profile.ServerProfile) => ClientEra
  /** Makes the client of a server without a handshake, before the session is established. */
  readonly modern: (server: Profile.ModernServerProfile) => ClientEra
}

/** The outcome of a handshake that has not failed. */
export type Outcome =
  | { readonly _tag: "Established"; readonly era: ClientEra }
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
  readonly #dependencies: HandshakeDependencies
  #probe: ProbeState.ProbeState = "None"
  /** The judgement of the response to the probe, from the step in which it is read. */
  #discovered: Discovery.Verdict | undefined
  /** The client of a server without a handshake, after the response to the probe. */
  #era: ClientEra | undefined
  /** The judgement of the response to `initialize`, from the step in which it is read. */
  #initialized: Result.Result<ClientEra, HandshakeError.HandshakeErrorReason> | undefined
  /** Whether a person has to authorize the client. Then another connection replaces this one. */
  #awaitsPerson = false
  /** Whether the server's process, if the transport starts one, has written anything. */
  #hasStarted = true

  constructor(runtime: HandshakeRuntime, dependencies: HandshakeDependencies) {
    this.#runtime = runtime
    this.#dependencies = dependencies
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
        const { probe } = this.#dependencies.description
        if (probe === undefined) return this.#initialize
        return runtime.connection.handshakeOnly === true
          ? this.#fallBack("its transport exists only in revisions with a handshake")
          : this.#discover(probe, false)
      }),
      () => ended
    )
  }

  /** Returns whether a session that ends for this reason is replaced by one over another connection. */
  isReplaced(reason: CloseReason.CloseReason): boolean {
    return (ProbeState.isMistaken(this.#probe) && reason._tag === "HandshakeFailed") || this.#awaitsPerson ||
      this.#isEndedByProbe(reason)
  }

  /** Returns whether the session ends because the server does not survive a probe, and it can be connected again. */
  #isEndedByProbe(reason: CloseReason.CloseReason): boolean {
    return ProbeState.isOpen(this.#probe) && reason._tag === "PeerEnded" &&
      this.#dependencies.description.offer !== undefined &&
      !this.#isStreamed
  }

  /** Whether each request has a stream of its own, as over HTTP. */
  get #isStreamed(): boolean {
    return this.#runtime.connection.request !== undefined
  }

  /** Sends `server/discover`, and continues as its response demands. */
  #discover(version: Revision.ModernRevision, isRetry: boolean): Effect.Effect<Outcome, HandshakeError.HandshakeError> {
    const { description, sender } = this.#dependencies
    const { discoverTimeout, handshakeTimeout } = this.#runtime.limits
    if (this.#probe === "Unnamed") this.#probe = "Sent"
    const fallsBack = description.offer !== undefined && !this.#isStreamed
    const timeout = fallsBack ? Math.min(discoverTimeout, handshakeTimeout) : handshakeTimeout
    const { started } = this.#runtime.connection
    const own = ClientDescription.metadata(description, version, undefined)
    const discover = (timeout: number) =>
      sender.exchange(MethodTable.requests["server/discover"], {}, {
        timeout,
        onResponse: (response) => this.#receiveDiscovery(response, isRetry),
        admit: () => this.#admitProbe(),
        metadata: own
      })
    const discovered = fallsBack && started !== undefined
      ? Effect.raceFirst(discover(handshakeTimeout), this.#silence(started, own, timeout))
      : discover(timeout)
    return Effect.flatMap(Effect.result(discovered), (response) => {
      const verdict = this.#discovered ??
        (Result.isFailure(response)
          ? Discovery.judgeSilence(response.failure, !this.#isStreamed && description.rejection === undefined)
          : undefined)
      this.#discovered = undefined
      if (verdict === undefined) {
        return this.#failOrReconnect(
          Result.isFailure(response) ? reasonOf(response.failure) : { _tag: "InvalidResult", problem: "no response" }
        )
      }
      switch (verdict._tag) {
        case "Modern":
          return this.#era === undefined
            ? this.#failOrReconnect({ _tag: "InvalidResult", problem: "no response" })
            : Effect.succeed<Outcome>({ _tag: "Established", era: this.#era })
        case "Retry":
          return this.#discover(verdict.version, true)
        case "Legacy":
          this.#probe = ProbeState.fallBack(
            this.#probe,
            Result.isFailure(response) && response.failure.reason._tag === "Timeout"
          )
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
      this.#dependencies.sender.exchange(MethodTable.requests.ping, {}, {
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
    const { offer, rejection } = this.#dependencies.description
    // A server that rejects both contradicts itself. The advice to add older revisions would be wrong then.
    if (offer === undefined) return this.#fail(rejection ?? { _tag: "LegacyServer", problem })
    const isGuess = this.#probe === "Guessed"
    this.#runtime.emit(isGuess ? { _tag: "FellBack", problem, isGuess: true } : { _tag: "FellBack", problem })
    return this.#initialize
  }

  /** Sends `initialize`, and establishes the session of its response. */
  get #initialize(): Effect.Effect<Outcome, HandshakeError.HandshakeError> {
    const { description, sender } = this.#dependencies
    const { offer = Revision.latestLegacy } = description
    const initialized = sender.exchange(
      MethodTable.requests.initialize,
      ClientDescription.initializeParams(description, offer),
      {
        timeout: this.#initializeTimeout,
        onResponse: (response) => this.#receive(response),
        admit: () => this.#admit(offer)
      }
    )
    return Effect.flatMap(Effect.result(initialized), (response) => {
      const verdict = this.#initialized ??
        (Result.isFailure(response)
          ? Result.fail(reasonOf(response.failure))
          : Result.fail({ _tag: "InvalidResult" as const, problem: "no response" }))
      return Result.isSuccess(verdict)
        ? Effect.succeed<Outcome>({ _tag: "Established", era: verdict.success })
        : this.#failOrReconnect(verdict.failure)
    })
  }

  /** The time for the response to `initialize`. A process that has not started had the time of a handshake before. */
  get #initializeTimeout(): number {
    const { discoverTimeout, handshakeTimeout } = this.#runtime.limits
    return this.#hasStarted ? handshakeTimeout : Math.min(discoverTimeout, handshakeTimeout)
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
    return this.#dependencies.strayTexts.addTo(reason)
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
      this.#runtime.state()._tag !== "Probing" || this.#isStreamed || this.#probe === "Unnamed" ||
      this.#dependencies.description.offer === undefined
    ) return undefined
    const probe = this.#runtime.exchanges.only
    if (probe?.handed !== true || probe.outcome !== "Pending") return undefined
    this.#probe = "Unnamed"
    this.#runtime.emit({ _tag: "Tolerated", method: probe.method, problem: "the error has no id" })
    return { ...error, id: probe.id }
  }

  /** Moves the machine by the sending of `server/discover`. */
  #admitProbe(): Outgoing.RequestAdmission {
    const state = this.#runtime.state()
    if (state._tag !== "Idle" && state._tag !== "Probing") return Outgoing.notAllowed(state)
    const sent: Handshake.Step<StateOf<"Probing">, "Send"> = Handshake.client.step(state, { _tag: "SendDiscover" })
    this.#probe = "Sent"
    return this.#runtime.commit(state, sent.state) ? sent.action : Outgoing.notAllowed(this.#runtime.state())
  }

  /** Judges the response to a probe in the step in which it is read, so that the messages after it find a session. */
  #receiveDiscovery(response: JsonRpc.Response, isRetry: boolean): void {
    const { limits: { maxProfileBytes } } = this.#runtime
    // The response may win the race against the first byte.
    this.#hasStarted = true
    this.#discovered = Discovery.judge(this.#dependencies.description, maxProfileBytes, response, isRetry)
    if (this.#discovered._tag !== "Modern") return
    const { isTrimmed, profile } = this.#discovered.kept
    this.#era = this.#dependencies.modern(profile)
    const state = this.#runtime.state()
    // The program may have closed the session meanwhile, on an event.
    if (state._tag !== "Probing") return
    if (isTrimmed) this.#runtime.emit({ _tag: "ProfileTrimmed", limitBytes: maxProfileBytes })
    this.#adopt(state, Handshake.client.step(state, { _tag: "ReceiveDiscoverResult", profile }))
  }

  #adopt(from: StateOf<"Probing">, { state: modern }: Handshake.Step<StateOf<"Modern">, "Adopt">): void {
    const { connection, replies } = this.#runtime
    this.#probe = "None"
    if (!this.#runtime.commit(from, modern)) return
    replies.mute()
    connection.onHandshake?.(modern.profile)
    this.#dependencies.logs.deliver()
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
    const judged = InitializeResponse.judge(this.#dependencies.description, maxProfileBytes, response)
    const namesModern = JsonRpc.isFailure(response) &&
      Discovery.namesModern(this.#dependencies.description, response.error)
    const isRejected = Result.isFailure(judged) && judged.failure._tag === "Rejected"
    this.#probe = ProbeState.initialized(this.#probe, { namesModern, isRejected, isStreamed: this.#isStreamed })
    this.#initialized = Result.map(judged, ({ profile }) => this.#dependencies.legacy(profile))
    if (Result.isFailure(judged)) return
    const { isTrimmed, profile } = judged.success
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
    const { sender } = this.#dependencies
    if (!this.#runtime.commit(from, state)) return
    connection.onHandshake?.(state.profile)
    this.#runtime.fork(Effect.ignore(sender.notify(MethodTable.notifications["notifications/initialized"], {})))
    this.#dependencies.logs.deliver()
  }

  /** Closes the session, waits until it has closed, and fails. */
  #fail(given: HandshakeError.HandshakeErrorReason): Effect.Effect<never, HandshakeError.HandshakeError> {
    const reason = this.#withStray(this.#withoutSecrets(given))
    this.#awaitsPerson = requiredByHandshake(HandshakeError.make(reason)) !== undefined
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
    const probe = this.#probe
    if (ProbeState.isMistaken(probe) && this.#runtime.state()._tag === "Initializing") {
      const shown = this.#withoutSecrets(reason)
      return Effect.as(this.#close(shown), {
        _tag: probe === "WrongGuess" ? "WithoutHandshake" : "SpoiledByProbe",
        error: HandshakeError.make(shown)
      })
    }
    return reason._tag === "Closed" && this.#isEndedByProbe(reason.reason)
      ? Effect.as(this.#runtime.closed, { _tag: "SpoiledByProbe", error: HandshakeError.make(this.#withStray(reason)) })
      : this.#fail(reason)
  }
}
