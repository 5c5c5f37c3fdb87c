/** The context of every law: the transport under test, the era of its clients, and common checks. */

import { JsonRpc, RequestMetadata, Revision, Tool } from "@effect-mcp/protocol"
import { ClientSession, type Handlers, type HandshakeError, type SessionEvent, Transport } from "@effect-mcp/session"
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { Era } from "../../laws/law/TransportLaw.ts"
import type { ClientEnd, Subject } from "../../laws/law/TransportSubject.ts"
import * as RawPeer from "../../RawPeer.ts"
import { isMembers } from "../arbitrary/jsonValues.ts"

/** Options of the session of a law. */
export type SessionOptions = Partial<ClientSession.Options<Handlers.Handlers<"server">>>

/**
 * The transport under test, and constructors of its clients. All clients are of one era, so that each law is written
 * once and holds in both.
 */
export interface LawContext<Served extends ClientEnd> {
  readonly era: Era
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
  /** Connects a client without rules, whose requests are served: after the handshake, if there is one. */
  readonly connectReady: (served: ClientEnd) => Effect.Effect<RawPeer.RawPeer, TransportError, Scope.Scope>
  readonly openReady: Effect.Effect<RawPeer.RawPeer, unknown, Scope.Scope>
  /** Creates a request of a client without rules. */
  readonly request: (id: number | string, method: string, params?: Params) => JsonRpc.Request
  /** Creates the call of a tool. */
  readonly call: (id: number | string, tool: string, input?: JsonRpc.Params, meta?: Params) => JsonRpc.Request
  /** Whether the end of its stream cancels a request, and not a message. */
  readonly cancelsByStream: boolean
  /** Cancels a request of a client without rules. */
  readonly cancel: (peer: RawPeer.RawPeer, id: number | string) => Effect.Effect<void, TransportError>
}

type Params = { readonly [name: string]: unknown }

export const info = { name: "law-client", version: "1.0.0" }

/** The capabilities of the client without rules. */
const capabilities = { elicitation: { form: {} } }

export const initialize = JsonRpc.request(0, "initialize", {
  protocolVersion: Revision.latestLegacy,
  capabilities,
  clientInfo: info
})

export const initialized = JsonRpc.notification("notifications/initialized")

/** Creates a request of the era, with the metadata of the client where there is no handshake. */
export const requestOf = (
  era: Era,
  id: number | string,
  method: string,
  params: Params = {},
  client: Partial<RequestMetadata.RequestMetadata> = {}
): JsonRpc.Request => {
  if (era === "legacy") return JsonRpc.request(id, method, params)
  const { _meta } = params
  const metadata = {
    protocolVersion: Revision.latest,
    clientCapabilities: capabilities,
    clientInfo: info,
    logLevel: undefined
  }
  return JsonRpc.request(id, method, {
    ...params,
    _meta: { ...isMembers(_meta) ? _meta : undefined, ...RequestMetadata.write({ ...metadata, ...client }) }
  })
}

/** Creates the call of a tool with a handshake. */
export const call = (id: number | string, tool: string, input: JsonRpc.Params = {}): JsonRpc.Request =>
  requestOf("legacy", id, "tools/call", { name: tool, arguments: input })

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
  JsonRpc.isFailure(response) || !isMembers(response.result) ? undefined : response.result["structuredContent"]

/** Returns the record of the server, by its tool `report`. */
export const reported = (session: ClientSession.ClientSessionShape) =>
  Effect.map(session.callTool("report"), (result) => ({
    waiting: Tool.structuredMembers(result)["waiting"],
    interrupted: Tool.structuredMembers(result)["interrupted"],
    listening: Tool.structuredMembers(result)["listening"]
  }))

/** The handlers of a client whose user repeats each question as the answer. */
export const answering: Handlers.Handlers<"server"> = {
  "elicitation/create": ({ message }) => Effect.succeed({ action: "accept", content: { value: message } })
}

/** Checks that the session still serves calls. */
export const stillServed = (session: ClientSession.ClientSessionShape) => Effect.asVoid(session.callTool("unit"))

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

const revisionsOf = { legacy: Revision.legacy, modern: Revision.modern } as const

export const make = <Served extends ClientEnd>(subject: Subject<Served>, era: Era): LawContext<Served> => {
  const { form = "OneStream", serve } = subject
  const cancelsByStream = era === "modern" && form === "StreamPerRequest"
  const connect: LawContext<Served>["connect"] = (served, options) =>
    ClientSession.make({ info, revisions: revisionsOf[era], ...options }).pipe(
      Effect.provideService(Transport.Transport, served)
    )
  const connectRaw: LawContext<Served>["connectRaw"] = (served) =>
    RawPeer.make.pipe(Effect.provideService(Transport.Transport, served))
  const connectReady: LawContext<Served>["connectReady"] = (served) =>
    era === "legacy" ? Effect.flatMap(connectRaw(served), shakeHands) : connectRaw(served)
  const request: LawContext<Served>["request"] = (id, method, params) => requestOf(era, id, method, params)
  return {
    era,
    runs: subject.runs ?? 20,
    form,
    sessionFirst: subject.sessionFirst ?? false,
    serve,
    connect,
    open: (options) => Effect.flatMap(serve, (served) => connect(served, options)),
    connectRaw,
    openRaw: Effect.flatMap(serve, connectRaw),
    connectReady,
    openReady: Effect.flatMap(serve, connectReady),
    request,
    call: (id, tool, input = {}, _meta = undefined) =>
      request(id, "tools/call", { name: tool, arguments: input, ...(_meta === undefined ? undefined : { _meta }) }),
    cancelsByStream,
    cancel: (peer, id) =>
      cancelsByStream
        ? peer.closeStream(id)
        : peer.send(JsonRpc.notification("notifications/cancelled", { requestId: id }))
  }
}
