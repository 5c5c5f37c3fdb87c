/** The connection of a scripted peer: it finds the stream for each message, and queues received messages. */
import { Initialize, JsonRpc, type Profile, type RequestId, Revision } from "@effect-mcp/protocol"
import { Transport } from "@effect-mcp/session"
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { trust } from "../trust.ts"

/** An arrival: a message, bytes that are not a message, the end of the peer, or a failure of the transport. */
export type Arrival =
  | { readonly _tag: "Message"; readonly frame: unknown }
  | { readonly _tag: "Unreadable"; readonly error: Transport.FrameError }
  | { readonly _tag: "Ended"; readonly end: Transport.End }
  | { readonly _tag: "Failed"; readonly error: TransportError }

export interface ScriptedConnection {
  readonly arrivals: Queue.Dequeue<Arrival>
  /** Sends any JSON, valid message or not. */
  readonly send: (frame: unknown) => Effect.Effect<void, TransportError>
  /** Closes the connection. Returns at once; later messages of the peer arrive if the transport delivers them. */
  readonly end: Effect.Effect<void>
}

const asParams = Schema.decodeUnknownOption(Initialize.InitializeParams)
const asResult = Schema.decodeUnknownOption(Initialize.InitializeResult)

const clientProfile = (params: unknown, result: unknown): Profile.ClientProfile | undefined => {
  const [offer, response] = [Option.getOrUndefined(asParams(params)), Option.getOrUndefined(asResult(result))]
  return offer === undefined || response === undefined || !Revision.isLegacy(response.protocolVersion)
    ? undefined
    : { revision: response.protocolVersion, capabilities: offer.capabilities, info: offer.clientInfo }
}

const serverProfile = (result: unknown): Profile.ServerProfile | undefined => {
  const answered = Option.getOrUndefined(asResult(result))
  return answered === undefined || !Revision.isLegacy(answered.protocolVersion) ? undefined : {
    revision: answered.protocolVersion,
    capabilities: answered.capabilities,
    info: answered.serverInfo,
    instructions: answered.instructions
  }
}

/** Returns whether a frame has the members of a request, valid or not. It is sent like a request. */
const looksLikeRequest = (frame: unknown): boolean =>
  typeof frame === "object" && frame !== null && "method" in frame && "id" in frame

const tokenOf = ({ params }: JsonRpc.Request): unknown => {
  const meta = params?.["_meta"]
  return typeof meta === "object" && meta !== null && "progressToken" in meta ? meta.progressToken : undefined
}

/** The unanswered requests of the peer, and their streams. */
const makeOpenRequests = (endExchange: (origin: Transport.StreamOrigin) => void) => {
  const open = new Map<
    RequestId.RequestId,
    { readonly request: JsonRpc.Request; readonly origin: Transport.StreamOrigin }
  >()
  const latest = () => Array.from(open.values()).at(-1)?.origin
  return {
    take: (frame: unknown, origin: Transport.StreamOrigin | undefined) => {
      if (origin === undefined) return
      const messages = JsonRpc.messages(frame)
      for (const message of messages) {
        if (JsonRpc.isRequest(message)) open.set(message.id, { request: message, origin })
        else if ("method" in message && message.method === "notifications/cancelled") {
          // An id of another type is found in no map.
          const id = trust<RequestId.RequestId>(message.params?.["requestId"])
          const cancelled = open.get(id)
          open.delete(id)
          if (cancelled !== undefined) endExchange(cancelled.origin)
        }
      }
      if (!messages.some(JsonRpc.isRequest)) endExchange(origin)
    },
    /**
     * Returns the stream for a frame: a reply to its request, progress to the request with its token, other frames to
     * the latest request.
     */
    route: (frame: unknown): { readonly replyTo: Transport.StreamOrigin | undefined; readonly last: boolean } => {
      const messages = JsonRpc.messages(frame)
      const answered = messages.flatMap((message) => {
        const id = "method" in message ? undefined : message.id
        const found = id === undefined || id === null ? undefined : open.get(id)
        if (found !== undefined) open.delete(found.request.id)
        return found === undefined ? [] : [found]
      })
      const [reply] = answered
      if (reply !== undefined) return { replyTo: reply.origin, last: true }
      const [message] = messages
      if (message !== undefined && "method" in message && message.method === "notifications/progress") {
        const token = message.params?.["progressToken"]
        const reported = Array.from(open.values()).find(({ request }) => tokenOf(request) === token)
        if (reported !== undefined) return { replyTo: reported.origin, last: false }
      }
      return { replyTo: latest(), last: false }
    }
  }
}

/** Notifies the transport after the handshake, as a session does. */
const makeHandshakes = (onHandshake: ((profile: Profile.Profile) => void) | undefined) => {
  const sentRequests = new Map<RequestId.RequestId, JsonRpc.Request>()
  const receivedRequests = new Map<RequestId.RequestId, JsonRpc.Request>()
  const notify = (profile: Profile.Profile | undefined) => {
    if (profile !== undefined) onHandshake?.(profile)
  }
  const answeredBy = (requests: Map<RequestId.RequestId, JsonRpc.Request>, message: JsonRpc.Success) => {
    const request = requests.get(message.id)
    requests.delete(message.id)
    return request
  }
  return {
    sent: (frame: unknown) => {
      for (const message of JsonRpc.messages(frame)) {
        if (JsonRpc.isRequest(message) && message.method === "initialize") sentRequests.set(message.id, message)
        if ("result" in message) {
          const request = answeredBy(receivedRequests, message)
          if (request !== undefined) notify(clientProfile(request.params, message.result))
        }
      }
    },
    received: (frame: unknown) => {
      for (const message of JsonRpc.messages(frame)) {
        if (JsonRpc.isRequest(message) && message.method === "initialize") receivedRequests.set(message.id, message)
        if ("result" in message && answeredBy(sentRequests, message) !== undefined) {
          notify(serverProfile(message.result))
        }
      }
    }
  }
}

/** Connects, and sends nothing. The connection closes with the scope, or earlier. */
export const open: Effect.Effect<ScriptedConnection, TransportError, Transport.Transport | Scope.Scope> = Effect.gen(
  function*() {
    const transport = yield* Transport.Transport
    const outer = yield* Effect.scope
    const scope = yield* Scope.fork(outer)
    const connection = yield* Scope.provide(transport.connect, scope)
    const arrivals = yield* Queue.unbounded<Arrival>()
    const requests = makeOpenRequests((origin) => connection.endExchange?.(origin))
    const handshakes = makeHandshakes(connection.onHandshake)
    const arrive = (arrival: Arrival) => {
      Queue.offerUnsafe(arrivals, arrival)
    }

    const reading = connection.run(({ frame, origin }) => {
      if (Result.isFailure(frame)) return arrive({ _tag: "Unreadable", error: frame.failure })
      requests.take(frame.success, origin)
      handshakes.received(frame.success)
      arrive({ _tag: "Message", frame: frame.success })
    })
    yield* Effect.forkScoped(Effect.match(reading, {
      onSuccess: (end) => arrive({ _tag: "Ended", end }),
      onFailure: (error) => arrive({ _tag: "Failed", error })
    }))

    return {
      arrivals,
      send: (frame) =>
        Effect.suspend(() => {
          const { request } = connection
          if (request !== undefined && looksLikeRequest(frame)) {
            handshakes.sent(frame)
            // A script may send a frame that is not a message. The transport carries it unchanged.
            return request(trust<JsonRpc.Request>(frame)).pipe(
              Effect.catch((error) => Effect.sync(() => arrive({ _tag: "Failed", error }))),
              Effect.forkIn(scope, { startImmediately: true }),
              Effect.asVoid
            )
          }
          const { last, replyTo } = requests.route(frame)
          // As above, the frame may be no message.
          return Effect.tap(
            connection.send({ message: trust<JsonRpc.Frame>(frame), replyTo, last }),
            () => Effect.sync(() => handshakes.sent(frame))
          )
        }),
      end: Effect.asVoid(Effect.forkIn(Scope.close(scope, Exit.void), outer, { startImmediately: true }))
    }
  }
)
