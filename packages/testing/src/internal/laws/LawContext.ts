/** The context of every law: the transport under test, its clients, and common checks. */

import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { ClientSession, type Handlers, type HandshakeError, type SessionEvent, Transport } from "@effect-mcp/session"
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { ClientEnd, Subject } from "../../laws/TransportSubject.ts"
import * as RawPeer from "../../RawPeer.ts"

/** Options of the session of a law. */
export type SessionOptions = Partial<ClientSession.Options<Handlers.Handlers<"server">>>

/**
 * The transport under test, and constructors of its clients.
 */
export interface LawContext<Served extends ClientEnd> {
  readonly runs: number
  readonly form: NonNullable<Subject<Served>["form"]>
  readonly sessionFirst: boolean
  readonly serve: Subject<Served>["serve"]
  /** Opens a session over a served transport. */
  readonly connect: (
    served: ClientEnd,
    options?: SessionOptions
  ) => Effect.Effect<ClientSession.ClientSessionShape, HandshakeError.HandshakeError, Scope.Scope>
  /** Serves a transport, and opens a session over it. */
  readonly open: (options?: SessionOptions) => Effect.Effect<ClientSession.ClientSessionShape, unknown, Scope.Scope>
  /** Connects a client without rules to a served transport. */
  readonly connectRaw: (served: ClientEnd) => Effect.Effect<RawPeer.RawPeer, TransportError, Scope.Scope>
  readonly openRaw: Effect.Effect<RawPeer.RawPeer, unknown, Scope.Scope>
  readonly openRawAndInitialized: Effect.Effect<RawPeer.RawPeer, unknown, Scope.Scope>
}

export const info = { name: "law-client", version: "1.0.0" }

export const initialize = JsonRpc.request(0, "initialize", {
  protocolVersion: Revision.latestLegacy,
  capabilities: {},
  clientInfo: info
})

export const initialized = JsonRpc.notification("notifications/initialized")

export const call = (id: number | string, tool: string, input: JsonRpc.Params = {}): JsonRpc.Request =>
  JsonRpc.request(id, "tools/call", { name: tool, arguments: input })

export const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null

/** The error of a condition that is not true yet. */
export class NotYet extends Data.TaggedError("NotYet") {}

/** Repeats a check until it holds, up to the time limit of the law: the other side may be another process. */
export const eventually = <E>(check: Effect.Effect<boolean, E>): Effect.Effect<void, E | NotYet> =>
  Effect.retry(
    Effect.flatMap(check, (is) => is ? Effect.void : Effect.fail(new NotYet())),
    { schedule: Schedule.spaced("10 millis"), while: (error) => error instanceof NotYet }
  )

export const errorCode = (response: JsonRpc.Response): number | undefined =>
  JsonRpc.isFailure(response) ? response.error.code : undefined

export const structured = (response: JsonRpc.Response): unknown =>
  JsonRpc.isFailure(response) || !isRecord(response.result) ? undefined : response.result["structuredContent"]

/** Returns the record of the server, by its tool `report`. */
export const reported = (session: ClientSession.ClientSessionShape) =>
  Effect.map(session.callTool("report"), (result) => ({
    waiting: result.structuredContent?.["waiting"],
    interrupted: result.structuredContent?.["interrupted"]
  }))

/** Waits until this number of calls of `wait` has started. */
export const untilWaiting = (session: ClientSession.ClientSessionShape, count: number) =>
  eventually(Effect.map(reported(session), ({ waiting }) => waiting === count))

/** Returns whether an event is a fault that must not occur in an undisturbed conversation. */
export const isOdd = (event: SessionEvent.SessionEvent): boolean =>
  event._tag === "UnmatchedResponse" || event._tag === "Malformed" || event._tag === "SendFailed"

/** Performs the handshake of a client without rules. */
export const shakeHands = Effect.fnUntraced(function*(peer: RawPeer.RawPeer) {
  yield* peer.send(initialize)
  yield* peer.response
  yield* peer.send(initialized)
  return peer
})

export const make = <Served extends ClientEnd>(subject: Subject<Served>): LawContext<Served> => {
  const { serve } = subject
  const connect: LawContext<Served>["connect"] = (served, options) =>
    ClientSession.make({ info, revisions: Revision.legacy, ...options }).pipe(
      Effect.provideService(Transport.Transport, served)
    )
  const connectRaw: LawContext<Served>["connectRaw"] = (served) =>
    RawPeer.make.pipe(Effect.provideService(Transport.Transport, served))
  const openRaw = Effect.flatMap(serve, connectRaw)
  return {
    runs: subject.runs ?? 20,
    form: subject.form ?? "OneStream",
    sessionFirst: subject.sessionFirst ?? false,
    serve,
    connect,
    open: (options) => Effect.flatMap(serve, (served) => connect(served, options)),
    connectRaw,
    openRaw,
    openRawAndInitialized: Effect.flatMap(openRaw, shakeHands)
  }
}
