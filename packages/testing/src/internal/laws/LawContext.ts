import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { ClientSession, type Handlers, type HandshakeError, type SessionEvent, Transport } from "@effect-mcp/session"
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { ClientEnd, Subject } from "../../laws/TransportSubject.ts"
import * as RawPeer from "../../RawPeer.ts"

/** How a law would have its session. */
export type SessionOptions = Partial<ClientSession.Options<Handlers.Handlers<"server">>>

/**
 * What every law has at hand: the transport that is judged, and clients of it.
 */
export interface LawContext<Served extends ClientEnd> {
  readonly runs: number
  readonly form: NonNullable<Subject<Served>["form"]>
  readonly sessionFirst: boolean
  readonly serve: Subject<Served>["serve"]
  /** A session over an end that was served. */
  readonly connect: (
    served: ClientEnd,
    options?: SessionOptions
  ) => Effect.Effect<ClientSession.ClientSessionShape, HandshakeError.HandshakeError, Scope.Scope>
  /** A session over an end of its own. */
  readonly open: (options?: SessionOptions) => Effect.Effect<ClientSession.ClientSessionShape, unknown, Scope.Scope>
  /** A client without rules over an end that was served. */
  readonly connectRaw: (served: ClientEnd) => Effect.Effect<RawPeer.RawPeer, TransportError, Scope.Scope>
  readonly openRaw: Effect.Effect<RawPeer.RawPeer, unknown, Scope.Scope>
  readonly openRawAndInitialized: Effect.Effect<RawPeer.RawPeer, unknown, Scope.Scope>
}

export const info = { name: "law-client", version: "1.0.0" }

export const initialize = JsonRpc.request(0, "initialize", {
  protocolVersion: Revision.latest,
  capabilities: {},
  clientInfo: info
})

export const initialized = JsonRpc.notification("notifications/initialized")

export const call = (id: number | string, tool: string, input: JsonRpc.Params = {}): JsonRpc.Request =>
  JsonRpc.request(id, "tools/call", { name: tool, arguments: input })

export const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null

/** What was waited for did not come to be so. */
export class NotYet extends Data.TaggedError("NotYet") {}

/** Tries again until something is so, for as long as the law has: the other side may be another process. */
export const eventually = <E>(check: Effect.Effect<boolean, E>): Effect.Effect<void, E | NotYet> =>
  Effect.retry(
    Effect.flatMap(check, (is) => is ? Effect.void : Effect.fail(new NotYet())),
    { schedule: Schedule.spaced("10 millis"), while: (error) => error instanceof NotYet }
  )

export const errorCode = (response: JsonRpc.Response): number | undefined =>
  JsonRpc.isFailure(response) ? response.error.code : undefined

export const structured = (response: JsonRpc.Response): unknown =>
  JsonRpc.isFailure(response) || !isRecord(response.result) ? undefined : response.result["structuredContent"]

/** What the server has seen, as its tool `report` tells it. */
export const reported = (session: ClientSession.ClientSessionShape) =>
  Effect.map(session.callTool("report"), (result) => ({
    waiting: result.structuredContent?.["waiting"],
    interrupted: result.structuredContent?.["interrupted"]
  }))

/** Waits until so many calls of `wait` have begun. */
export const untilWaiting = (session: ClientSession.ClientSessionShape, count: number) =>
  eventually(Effect.map(reported(session), ({ waiting }) => waiting === count))

/** The mistakes that nobody should see in a conversation that went well. */
export const isOdd = (event: SessionEvent.SessionEvent): boolean =>
  event._tag === "UnmatchedResponse" || event._tag === "Malformed" || event._tag === "SendFailed"

/** Does the handshake of a client without rules. */
export const shakeHands = Effect.fnUntraced(function*(peer: RawPeer.RawPeer) {
  yield* peer.send(initialize)
  yield* peer.response
  yield* peer.send(initialized)
  return peer
})

export const make = <Served extends ClientEnd>(subject: Subject<Served>): LawContext<Served> => {
  const { serve } = subject
  const connect: LawContext<Served>["connect"] = (served, options) =>
    ClientSession.make({ info, ...options }).pipe(Effect.provideService(Transport.Transport, served))
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
