/**
 * The connections of a client until it has a session.
 *
 * A second connection follows if the server ends at a probe, rejects `initialize` after one, needs a probe again, or
 * was silent at the probe and then has no handshake. If a person has to authorize the client, another connection
 * follows when the person has.
 */

import { Handshake, Revision } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Handlers from "../../Handlers.ts"
import * as HandshakeError from "../../HandshakeError.ts"
import * as Limits from "../../Limits.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import { Transport } from "../../Transport.ts"
import type { TransportError } from "../../TransportError.ts"
import * as SessionRuntime from "../engine/SessionRuntime.ts"
import * as AuthorizationWait from "./AuthorizationWait.ts"
import * as ClientDescription from "./ClientDescription.ts"
import type * as ClientHandshake from "./ClientHandshake.ts"
import { ClientSessionImplementation, type Options } from "./ClientSessionImplementation.ts"
import type { ClientSessionShape } from "./ClientSessionShape.ts"
import * as LegacyServers from "./LegacyServers.ts"
import * as SlowServers from "./SlowServers.ts"

/** The default limit of the server's profile in bytes. A server also has instructions, and a client has few servers. */
const defaultProfileBytes = 256 * 1024

/** Connects, runs the handshake, and returns the session. Leaving the scope closes the session. */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<ClientSessionShape, HandshakeError.HandshakeError, Transport | Scope.Scope> {
  const given = Limits.make({ maxProfileBytes: defaultProfileBytes, ...options.limits })
  const { capabilities, handlers = {}, tasks } = options
  const declared = tasks === undefined
    ? capabilities
    : { tasks: tasks.capabilities((method) => Object.hasOwn(handlers, method)), ...capabilities }
  const description = ClientDescription.describe({
    ...options,
    capabilities: Handlers.clientCapabilities(handlers, declared)
  })
  const transport = yield* Transport
  const limits = SlowServers.has(transport) ? { ...given, discoverTimeout: given.handshakeTimeout } : given
  const isKnown = description.probe !== undefined && description.offer !== undefined && LegacyServers.has(transport)
  const connected = yield* isKnown ? connectKnown(options, description, limits) : connect(options, description, limits)
  const session = connected._tag === "Established"
    ? connected.session
    : yield* connectAgain(options, description, limits, connected)
  if (connected._tag === "WithoutHandshake") SlowServers.add(transport)
  if (description.probe !== undefined) {
    LegacyServers.set(transport, Revision.isLegacy(session.profile.revision))
  }
  return session
})

/** Connects to a server that has needed a handshake before, without a probe. */
const connectKnown = Effect.fnUntraced(function*(
  options: Options,
  description: ClientDescription.ClientDescription,
  limits: Limits.Limits
): Effect.fn.Return<Connected, HandshakeError.HandshakeError, Transport | Scope.Scope> {
  const connecting = connect(options, ClientDescription.withHandshake(description), limits, {
    problem: "it needed a handshake before",
    isAssumed: true
  })
  const mayHaveChanged = ({ reason }: HandshakeError.HandshakeError) =>
    reason._tag !== "ConnectFailed" && reason._tag !== "Timeout" &&
    (reason._tag !== "Closed" || LegacyServers.mayHaveChanged(reason.reason))
  return yield* Effect.catchIf(connecting, mayHaveChanged, (error) =>
    Effect.gen(function*() {
      LegacyServers.set(yield* Transport, false)
      return yield* orEarlier(connect(options, description, limits), error)
    }))
})

/** Connects once more: without a probe to a server that did not survive it, and with a probe alone to the others. */
const connectAgain = Effect.fnUntraced(function*(
  options: Options,
  description: ClientDescription.ClientDescription,
  limits: Limits.Limits,
  { _tag, error, reportEnd }: Replaced
): Effect.fn.Return<ClientSessionShape, HandshakeError.HandshakeError, Transport | Scope.Scope> {
  const connecting = _tag === "SpoiledByProbe"
    ? connect(options, ClientDescription.withHandshake(description), limits, { problem: error.message })
    : connect(options, ClientDescription.withoutHandshake(description, error.reason), limits)
  const again = yield* orEarlier(
    // No session follows that could report its own end.
    Effect.tapError(connecting, ({ reason }) => reason._tag === "ConnectFailed" ? reportEnd : Effect.void),
    error
  ).pipe(
    // This connection leaves out revisions of the client, so the advice to add them would be wrong.
    Effect.catchIf(
      ({ reason }) => reason._tag === "ModernServer" || reason._tag === "NoCommonRevision",
      () => Effect.fail(error)
    )
  )
  return again._tag === "Established" ? again.session : yield* again.error
})

/** Fails with the earlier error if the transport carries one session only, because that says more. */
const orEarlier = <A, R>(
  connecting: Effect.Effect<A, HandshakeError.HandshakeError, R>,
  earlier: HandshakeError.HandshakeError
): Effect.Effect<A, HandshakeError.HandshakeError, R> =>
  Effect.catchIf(
    connecting,
    ({ reason }) => reason._tag === "ConnectFailed" && reason.error.reason._tag === "InUse",
    () => Effect.fail(earlier)
  )

/** The outcome of a connection that another one is to replace. */
type Replaced = Exclude<ClientHandshake.Outcome, { readonly _tag: "Established" }> & {
  /** Reports the end of this connection to the program after all. */
  readonly reportEnd: Effect.Effect<void>
}

type Connected = { readonly _tag: "Established"; readonly session: ClientSessionShape } | Replaced

/** The reason why a connection has no probe. */
interface WithoutProbe {
  readonly problem: string
  /** Whether the server may need no handshake any more. Then another connection replaces this one. */
  readonly isAssumed?: boolean
}

/** Connects, and runs the handshake. If a person has to authorize the client, waits for that and connects anew. */
const connect = Effect.fnUntraced(function*(
  options: Options,
  description: ClientDescription.ClientDescription,
  limits: Limits.Limits,
  withoutProbe?: WithoutProbe
): Effect.fn.Return<Connected, HandshakeError.HandshakeError, Transport | Scope.Scope> {
  for (let waits = 0;; waits++) {
    const connected = yield* connectOnce(options, description, limits, withoutProbe)
    if (connected._tag !== "Unauthorized") return connected
    const { error, reportEnd, required } = connected
    if (waits >= AuthorizationWait.maxWaits) return yield* Effect.andThen(reportEnd, Effect.fail(error))
    // No deadline counts the time of a person. The connection before has closed.
    yield* AuthorizationWait.authorized(
      required,
      (state) => notify(options, AuthorizationWait.eventOf(state))
    ).pipe(
      Effect.onError(() => reportEnd),
      Effect.mapError((error: TransportError) => HandshakeError.make({ _tag: "ConnectFailed", error }))
    )
  }
})

/** Passes an event to the program, while there is no session. */
const notify = ({ observe }: Options, event: SessionEvent): Effect.Effect<void> =>
  observe === undefined ? Effect.void : Effect.catchDefect(
    Effect.sync(() => observe(event)),
    (thrown) => Effect.logError("a session's observer threw", thrown)
  )

/** The outcome of a connection that the server rejects until a person has authorized the client. */
interface Unauthorized {
  readonly _tag: "Unauthorized"
  readonly required: AuthorizationWait.Required
  readonly error: HandshakeError.HandshakeError
  readonly reportEnd: Effect.Effect<void>
}

/** Connects once, and runs the handshake. */
const connectOnce = Effect.fnUntraced(function*(
  options: Options,
  description: ClientDescription.ClientDescription,
  limits: Limits.Limits,
  withoutProbe?: WithoutProbe
): Effect.fn.Return<Connected | Unauthorized, HandshakeError.HandshakeError, Transport | Scope.Scope> {
  const surroundings = yield* SessionRuntime.surroundings
  let session: ClientSessionImplementation | undefined
  let isAssumed = withoutProbe?.isAssumed === true
  let isReplaced = false
  let end: SessionEvent | undefined
  const opened = yield* Effect.result(SessionRuntime.make<Handshake.ClientState>({
    role: "client",
    machine: Handshake.client,
    initial: { _tag: "Idle" },
    firstId: 0,
    onEnd: (reason) => {
      isReplaced = session?.handshake.isReplaced(reason) === true ||
        (isAssumed && LegacyServers.mayHaveChanged(reason))
      session?.end(reason)
    }
  }, {
    ...surroundings,
    limits,
    // The program waits for a session that follows, so it must not take this end for the end of that session.
    observe: (event) => {
      if (event._tag === "Closed" && isReplaced) end = event
      else options.observe?.(event)
    }
  }))
  if (Result.isFailure(opened)) {
    const error = HandshakeError.make({ _tag: "ConnectFailed", error: opened.failure })
    const required = AuthorizationWait.requiredByHandshake(error)
    return required === undefined
      ? yield* error
      : { _tag: "Unauthorized", required, error, reportEnd: Effect.void }
  }
  const runtime = opened.success
  session = new ClientSessionImplementation(options, description, runtime)
  if (withoutProbe !== undefined) runtime.emit({ _tag: "FellBack", problem: withoutProbe.problem })
  const reportEnd = Effect.suspend(() => end === undefined ? Effect.void : notify(options, end))
  const outcome = yield* Effect.result(session.handshake.run)
  isAssumed = false
  if (Result.isFailure(outcome)) {
    const required = AuthorizationWait.requiredByHandshake(outcome.failure)
    return required === undefined
      ? yield* outcome.failure
      : { _tag: "Unauthorized", required, error: outcome.failure, reportEnd }
  }
  return outcome.success._tag === "Established"
    ? { _tag: "Established", session: session.start(outcome.success.era) }
    : { ...outcome.success, reportEnd }
})
