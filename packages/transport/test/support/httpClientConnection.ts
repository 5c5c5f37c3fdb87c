/** One connection of the Streamable HTTP client, which a test drives in place of a session. */
import { JsonRpc, type Profile } from "@effect-mcp/protocol"
import type { Transport, TransportError } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import type { ScriptedServer } from "./scriptedHttpServer.ts"

export const profile: Profile.ServerProfile = {
  revision: "2025-11-25",
  capabilities: {},
  info: { name: "peer", version: "1.0.0" },
  instructions: undefined
}

/** Delays that are too short to slow a test down. */
export const quickReconnect: StreamableHttpClient.Reconnect = {
  initialInterval: "2 millis",
  factor: 1,
  maxInterval: "2 millis"
}

export const request = (id: number | string, method = "tools/call"): JsonRpc.Request =>
  JsonRpc.request(id, method, method === "initialize" ? { protocolVersion: "2025-11-25" } : { name: "x" })

export const notification = (data: unknown): JsonRpc.Notification => ({
  jsonrpc: "2.0",
  method: "notifications/message",
  params: { data }
})

/** Opens a connection in its own scope, and runs it. */
export const connect = Effect.fnUntraced(function*(
  peer: ScriptedServer,
  options?: Partial<StreamableHttpClient.Options>
) {
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const client = yield* Layer.buildWithScope(NodeHttpClient.layerUndici, scope)
  const transport = yield* Effect.provideContext(
    StreamableHttpClient.make({ url: peer.url, reconnect: quickReconnect, ...options }),
    client
  )
  const session = yield* Scope.fork(scope)
  const connection = yield* Scope.provide(transport.connect, session)
  const inbound: Array<Transport.Inbound> = []
  const events: Array<Transport.TransportEvent> = []
  const running = yield* Effect.forkChild(connection.run((one) => inbound.push(one), {
    abandon: () => {},
    report: (event) => events.push(event)
  }))
  yield* Effect.yieldNow
  const sendRequest = connection.request
  if (sendRequest === undefined) return yield* Effect.die("the connection has no streams for requests")
  const send = (message: JsonRpc.Frame) => connection.send({ message, replyTo: undefined, last: false })
  return {
    connection,
    events,
    /** Returns the frames that were parsed. */
    messages: () => inbound.flatMap(({ frame }) => Result.isSuccess(frame) ? [frame.success] : []),
    /** Returns the errors of the frames that could not be parsed. */
    frameErrors: () => inbound.flatMap(({ frame }) => Result.isFailure(frame) ? [frame.failure] : []),
    inbound,
    running,
    request: sendRequest,
    send,
    /** Performs the handshake, as a session does. */
    handshake: Effect.gen(function*() {
      yield* sendRequest(request(0, "initialize"))
      inbound.length = 0
      connection.onHandshake?.(profile)
      yield* send(JsonRpc.notification("notifications/initialized"))
    }),
    /** Closes the connection, and keeps the HTTP client. */
    close: Scope.close(session, Exit.void),
    /** Closes the connection and the HTTP client. */
    closeAll: Scope.close(scope, Exit.void)
  }
})

/** Returns the reason of a failure. */
export const reasonOf = <A>(
  effect: Effect.Effect<A, TransportError.TransportError>
): Effect.Effect<TransportError.TransportErrorReason, A> => Effect.map(Effect.flip(effect), ({ reason }) => reason)

/** Forks an effect, and starts it at once. */
export const forkNow = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })

/** Waits in real time until the condition holds, also if a test clock stands still. The test's timeout is the bound. */
export const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.promise(async () => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2))
  })

/** Waits until the server has no open response, and no connection. */
export const allClosed = (peer: ScriptedServer) => until(() => peer.openResponses() === 0 && peer.sockets() === 0)

/** Returns the exit of a fiber that has ended. */
export const exitOf = <A, E>(fiber: Fiber.Fiber<A, E>) => fiber.pollUnsafe()
