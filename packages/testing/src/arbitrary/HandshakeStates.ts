/**
 * Arbitrary states of sessions, and arbitrary close reasons.
 *
 * @stability unstable
 */
import { type CloseReason, type Handshake, type Profile, Revision } from "@effect-mcp/protocol"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { choose, oneOf } from "../internal/arbitrary/generators.ts"
import * as Profiles from "./Profiles.ts"

type Overflow = Extract<CloseReason.CloseReason, { readonly _tag: "RepliesOverflow" }>

const revision: Arbitrary.Arbitrary<Revision.LegacyRevision> = oneOf(Revision.latestLegacy, ...Revision.legacy)

const clientProfile: Arbitrary.Arbitrary<Profile.ClientProfile> = Arbitrary.flatMap(revision, Profiles.clientProfile)
const serverProfile: Arbitrary.Arbitrary<Profile.ServerProfile> = Arbitrary.flatMap(revision, Profiles.serverProfile)

const count = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 86_400_000 })))
const words = Arbitrary.schema(Schema.String)

const exit: Arbitrary.Arbitrary<CloseReason.ProcessExit> = Arbitrary.map(
  Arbitrary.all([
    oneOf<number | undefined>(0, 1, 2, 127, 137, 255, undefined),
    oneOf<string | undefined>(undefined, "SIGTERM", "SIGKILL", "SIGSEGV"),
    Arbitrary.array(words, { maxLength: 20 })
  ]),
  ([exitCode, signal, stderr]) => ({ exitCode, signal, stderr })
)

/**
 * Generates any reason for the end of a session.
 *
 * @example
 * ```ts
 * import { CloseReason } from "@effect-mcp/protocol"
 * import { HandshakeStates } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * // There are words for each of them.
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(HandshakeStates.closeReason, (reason) => CloseReason.describe(reason).length > 0),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const closeReason: Arbitrary.Arbitrary<CloseReason.CloseReason> = choose<CloseReason.CloseReason>(
  Arbitrary.Constant({ _tag: "Requested" }),
  Arbitrary.map(
    choose<CloseReason.ProcessExit | undefined>(Arbitrary.Constant(undefined), exit),
    (exit) => ({ _tag: "PeerEnded", exit })
  ),
  Arbitrary.map(count, (afterMillis) => ({ _tag: "PeerStalled", afterMillis })),
  Arbitrary.map(
    Arbitrary.all([count, count, oneOf<Overflow["limit"]>("maxOutgoingReplies", "maxOutgoingBytes", "MemoryBudget")]),
    ([waiting, bytes, limit]) => ({ _tag: "RepliesOverflow", waiting, bytes, limit })
  ),
  Arbitrary.map(
    choose<unknown>(Arbitrary.map(words, (message) => new Error(message)), Arbitrary.schema(Schema.Json)),
    (cause) => ({ _tag: "TransportFailed", cause })
  ),
  Arbitrary.map(words, (problem) => ({ _tag: "HandshakeFailed", problem })),
  Arbitrary.map(count, (afterMillis) => ({ _tag: "HandshakeTimeout", afterMillis })),
  Arbitrary.map(count, (afterMillis) => ({ _tag: "Expired", afterMillis, of: "idle" })),
  Arbitrary.map(count, (afterMillis) => ({ _tag: "Expired", afterMillis, of: "age" })),
  Arbitrary.map(count, (afterMillis) => ({ _tag: "Evicted", afterMillis, of: "idle" })),
  Arbitrary.map(count, (afterMillis) => ({ _tag: "Evicted", afterMillis, of: "handshake" })),
  Arbitrary.map(count, (afterMillis) => ({ _tag: "Evicted", afterMillis, of: "held" })),
  Arbitrary.Constant({ _tag: "Superseded" })
)

const closing: Arbitrary.Arbitrary<Handshake.Closing> = Arbitrary.map(
  closeReason,
  (reason) => ({ _tag: "Closing", reason })
)
const closed: Arbitrary.Arbitrary<Handshake.Closed> = Arbitrary.map(
  closeReason,
  (reason) => ({ _tag: "Closed", reason })
)

/**
 * Generates any state of a client's session.
 *
 * @example
 * ```ts
 * import { Handshake } from "@effect-mcp/protocol"
 * import { HandshakeStates } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * // Whatever happened before, one can always close.
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(HandshakeStates.clientState, (state) =>
 *     Handshake.client.transition(state, { _tag: "Close", reason: { _tag: "Requested" } })._tag === "Moved"),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const clientState: Arbitrary.Arbitrary<Handshake.ClientState> = choose<Handshake.ClientState>(
  Arbitrary.Constant({ _tag: "Idle" }),
  Arbitrary.Constant({ _tag: "Probing" }),
  Arbitrary.map(revision, (offer) => ({ _tag: "Initializing", offer })),
  Arbitrary.map(serverProfile, (profile) => ({ _tag: "Operating", profile })),
  Arbitrary.map(
    Profiles.serverProfile(Revision.latest),
    (profile) => ({ _tag: "Modern", profile: { ...profile, revision: Revision.latest } })
  ),
  closing,
  closed
)

/**
 * Generates any state of a server's session.
 *
 * @example
 * ```ts
 * import { Handshake } from "@effect-mcp/protocol"
 * import { HandshakeStates } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * // A ping that a peer sends never opens or closes anything.
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(HandshakeStates.serverState, (state) => {
 *     const outcome = Handshake.server.transition(state, { _tag: "ReceivePing" })
 *     return outcome._tag !== "Moved" || outcome.state === state
 *   }),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const serverState: Arbitrary.Arbitrary<Handshake.ServerState> = choose<Handshake.ServerState>(
  Arbitrary.Constant({ _tag: "AwaitingInitialize" }),
  Arbitrary.map(clientProfile, (profile) => ({ _tag: "Initializing", profile })),
  Arbitrary.map(clientProfile, (profile) => ({ _tag: "Negotiated", profile })),
  Arbitrary.map(clientProfile, (profile) => ({ _tag: "Operating", profile })),
  closing,
  closed
)

/**
 * Generates any state of a server without sessions.
 *
 * @example
 * ```ts
 * import { Handshake } from "@effect-mcp/protocol"
 * import { HandshakeStates } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * // Such a server sends no requests.
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(HandshakeStates.statelessServerState, (state) =>
 *     Handshake.statelessServer.transition(state, { _tag: "SendRequest" })._tag === "LocalViolation"),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const statelessServerState: Arbitrary.Arbitrary<Handshake.StatelessServerState> = choose<
  Handshake.StatelessServerState
>(Arbitrary.Constant({ _tag: "Stateless" }), closing, closed)
