/** A server of HTTP+SSE that a test scripts, and a connection of the client that a test drives. */
import type { JsonRpc } from "@effect-mcp/protocol"
import type { Transport, TransportError } from "@effect-mcp/session"
import { HttpSseClient } from "@effect-mcp/transport"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { forkNow } from "./httpClientConnection.ts"
import {
  type EventReply,
  idOf,
  initializeResult,
  type Received,
  type Reply,
  response,
  type ScriptedServer,
  serve
} from "./scriptedHttpServer.ts"

export interface ScriptedSseServer extends ScriptedServer {
  /** The streams that were opened, in order. */
  readonly streams: ReadonlyArray<EventReply>
}

/** Encodes the first event of the stream of a session, which names the endpoint for messages. */
export const endpointEvent = (session: number): string => `event: endpoint\ndata: /in?session=${session}\n\n`

/** Handles a POST. */
export type PostHandler = (received: Received, reply: Reply, streams: ReadonlyArray<EventReply>) => void

/** Serves streams that begin with the endpoint, or with the given text. `post` handles the POSTs. */
export const serveStream = (
  post: PostHandler = (_, reply) => reply.status(202),
  first?: string
): Effect.Effect<ScriptedSseServer, never, Scope.Scope> =>
  Effect.gen(function*() {
    const streams: Array<EventReply> = []
    const peer = yield* serve((received, reply) => {
      if (received.method !== "GET") return post(received, reply, streams)
      streams.push(reply.stream().raw(first ?? endpointEvent(streams.length + 1)))
    })
    return { ...peer, streams }
  })

/** Encodes a message event. */
export const messageEvent = (data: unknown): string => `event: message\ndata: ${JSON.stringify(data)}\n\n`

/** Accepts each POST, and sends the response of a request on the stream of its session. */
export const respondOnStream: PostHandler = (received, reply, streams) => {
  reply.status(202)
  if (idOf(received) === undefined) return
  const result = received.kind === "initialize" ? initializeResult("2024-11-05") : { content: [] }
  const session = Number(/session=(\d+)/.exec(received.path)?.[1])
  streams[session - 1]?.raw(messageEvent(response(received, result)))
}

/** Creates the transport over a new HTTP client, in its own scope. */
export const transportTo = Effect.fnUntraced(function*(
  { url }: { readonly url: string },
  options?: Partial<HttpSseClient.Options>
) {
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const client = yield* Layer.buildWithScope(NodeHttpClient.layerUndici, scope)
  const transport = yield* Effect.provideContext(HttpSseClient.make({ url, ...options }), client)
  return { scope, transport }
})

/** Opens a connection, and runs it. */
export const connect = Effect.fnUntraced(function*(
  peer: { readonly url: string },
  options?: Partial<HttpSseClient.Options>
) {
  const { scope, transport } = yield* transportTo(peer, options)
  const session = yield* Scope.fork(scope)
  const connection = yield* Scope.provide(transport.connect, session)
  const inbound: Array<Transport.Inbound> = []
  const running = yield* forkNow(Effect.exit(connection.run((one) => inbound.push(one))))
  return {
    connection,
    inbound,
    running,
    messages: () => inbound.flatMap(({ frame }) => Result.isSuccess(frame) ? [frame.success] : []),
    frameErrors: () => inbound.flatMap(({ frame }) => Result.isFailure(frame) ? [frame.failure] : []),
    send: (message: JsonRpc.Frame): Effect.Effect<void, TransportError.TransportError> =>
      connection.send({ message, replyTo: undefined, last: false }),
    /** Closes the connection, and keeps the HTTP client. */
    close: Scope.close(session, Exit.void),
    /** Closes the connection and the HTTP client. */
    closeAll: Scope.close(scope, Exit.void)
  }
})
