/** The transports that servers give to a host: each is one connection, and carries one session. */
import { type SessionHost, TransportError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { until } from "./fixtures/process.ts"
import * as Http from "./support/client.ts"
import * as Sse from "./support/httpSse.ts"
import { serve, text, tools } from "./support/server.ts"
import * as Unix from "./support/unixServer.ts"
import * as WebSocket from "./support/webSocketPeer.ts"
import * as WebSocketServing from "./support/webSocketServer.ts"

const handlers = tools({ greet: Effect.succeed(text("hello")) })

/** A server with one session, and what a client is answered that calls its tool. */
interface Scene {
  readonly host: SessionHost.SessionHostShape
  readonly called: Effect.Effect<{ readonly result?: unknown } | undefined>
}

const scenes: Readonly<Record<string, Effect.Effect<Scene, Error, Scope.Scope>>> = {
  "a Unix socket": Effect.gen(function*() {
    const server = yield* Unix.serve(handlers)
    const client = yield* Unix.join(server)
    const said = Effect.sync(() => client.say(Unix.call(1, "greet")))
    return { host: server.host, called: Effect.andThen(said, client.answer(1)) }
  }),
  "WebSocket": Effect.gen(function*() {
    const server = yield* WebSocketServing.serve(handlers)
    const peer = yield* WebSocket.connect(server)
    const called = Effect.suspend(() => {
      peer.say(WebSocket.call(1, "greet"))
      return Effect.map(until(() => peer.answer(1) !== undefined), () => peer.answer(1))
    })
    return { host: server.host, called }
  }),
  "HTTP+SSE": Effect.gen(function*() {
    const server = yield* Sse.serveSse(handlers)
    const client = yield* Sse.connectSse(server)
    return { host: server.host, called: Effect.andThen(client.call(1, "greet"), client.reply(1)) }
  }),
  "Streamable HTTP": Effect.gen(function*() {
    const server = yield* serve(handlers)
    const client = yield* Http.connect(server)
    const answered = Effect.tap(client.call(1, "greet"), ({ done }) => done)
    return { host: server.host, called: Effect.map(answered, ({ messages }) => messages[0]) }
  })
}

describe.concurrent("the transport of a session that a host keeps", () => {
  for (const [name, scene] of Object.entries(scenes)) {
    it.live(`is not connected a second time, and the session goes on, over ${name}`, () =>
      Effect.gen(function*() {
        const { called, host } = yield* scene
        const [listing] = yield* host.sessions
        const hosted = host.find(listing?.id ?? "")
        assert.isDefined(hosted)
        const again = yield* Effect.flip(Effect.scoped(hosted.transport.connect))
        assert.deepStrictEqual(again, TransportError.make({ _tag: "InUse" }))
        assert.deepStrictEqual((yield* called)?.result, text("hello"))
      }))
  }
})
