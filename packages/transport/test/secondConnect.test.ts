/** The transports that servers pass to a host: each carries one session, so it connects once. */
import { type SessionHost, TransportError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Http from "./support/httpClient.ts"
import * as Sse from "./support/httpSse.ts"
import { until } from "./support/process.ts"
import { serve, text, tools } from "./support/server.ts"
import * as Unix from "./support/unixServer.ts"
import * as WebSocket from "./support/webSocketPeer.ts"
import * as WebSocketServing from "./support/webSocketServer.ts"

const handlers = tools({ greet: Effect.succeed(text("hello")) })

/** A host with one session, and a tool call of its client. */
interface Scene {
  readonly host: SessionHost.SessionHostShape
  readonly callTool: Effect.Effect<{ readonly result?: unknown } | undefined>
}

const scenes: Readonly<Record<string, Effect.Effect<Scene, Error, Scope.Scope>>> = {
  "a Unix socket": Effect.gen(function*() {
    const server = yield* Unix.serve(handlers)
    const client = yield* Unix.openSession(server)
    const sent = Effect.sync(() => client.send(Unix.call(1, "greet")))
    return { host: server.host, callTool: Effect.andThen(sent, client.awaitResponse(1)) }
  }),
  "WebSocket": Effect.gen(function*() {
    const server = yield* WebSocketServing.serve(handlers)
    const peer = yield* WebSocket.connect(server)
    const callTool = Effect.suspend(() => {
      peer.send(WebSocket.call(1, "greet"))
      return Effect.map(until(() => peer.responseTo(1) !== undefined), () => peer.responseTo(1))
    })
    return { host: server.host, callTool }
  }),
  "HTTP+SSE": Effect.gen(function*() {
    const server = yield* Sse.serveSse(handlers)
    const client = yield* Sse.connectSse(server)
    return { host: server.host, callTool: Effect.andThen(client.call(1, "greet"), client.awaitResponse(1)) }
  }),
  "Streamable HTTP": Effect.gen(function*() {
    const server = yield* serve(handlers)
    const client = yield* Http.connect(server)
    const response = Effect.tap(client.call(1, "greet"), ({ awaitEnd }) => awaitEnd)
    return { host: server.host, callTool: Effect.map(response, ({ messages }) => messages[0]) }
  })
}

describe.concurrent("the transport of a hosted session", () => {
  for (const [name, scene] of Object.entries(scenes)) {
    it.live(`fails a second connect with InUse, and its session continues, over ${name}`, () =>
      Effect.gen(function*() {
        const { callTool, host } = yield* scene
        const [listing] = yield* host.sessions
        const hosted = host.find(listing?.id ?? "")
        assert.isDefined(hosted)
        const second = yield* Effect.flip(Effect.scoped(hosted.transport.connect))
        assert.deepStrictEqual(second, TransportError.make({ _tag: "InUse" }))
        assert.deepStrictEqual((yield* callTool)?.result, text("hello"))
      }))
  }
})
