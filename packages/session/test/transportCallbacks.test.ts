import { JsonRpc } from "@effect-mcp/protocol"
import { MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as RawServer from "./support/RawServer.ts"
import { client } from "./support/sessions.ts"

describe("the transports of both sides", () => {
  it.effect("receive the negotiated profile once, before the next message is sent", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const events: Array<string> = []
      const recordingTransport = (
        side: string,
        end: Transport.Transport["Service"]
      ): Transport.Transport["Service"] => ({
        connect: Effect.map(end.connect, (connection) => ({
          ...connection,
          send: (outbound) => {
            events.push(`${side} ${"method" in outbound.message ? outbound.message.method : "responds"}`)
            return connection.send(outbound)
          },
          onHandshake: ({ info, revision }) => {
            events.push(`${side} has profile ${info?.name} ${revision}`)
          }
        }))
      })
      yield* ServerSession.make({}, { info: { name: "s", version: "1" } }).pipe(
        Effect.provideService(Transport.Transport, recordingTransport("server", pair.server))
      )
      const session = yield* client(recordingTransport("client", pair.client), { revisions: ["2025-06-18"] })
      yield* session.ping()
      assert.deepStrictEqual(events.filter((line) => line.startsWith("client")), [
        "client initialize",
        "client has profile s 2025-06-18",
        "client notifications/initialized",
        "client ping"
      ])
      assert.deepStrictEqual(events.filter((line) => line.startsWith("server has profile")), [
        "server has profile test 2025-06-18"
      ])
      assert.deepStrictEqual(events.filter((line) => line === "server responds").length, 2)
    }))

  it.effect("receive no profile if the handshake fails", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      yield* RawServer.make(pair.server, () => [
        JsonRpc.success(0, RawServer.initializeResult({ protocolVersion: "1999-01-01" }))
      ])
      let calls = 0
      yield* Effect.flip(client({
        connect: Effect.map(pair.client.connect, (connection) => ({
          ...connection,
          onHandshake: () => {
            calls++
          }
        }))
      }))
      assert.strictEqual(calls, 0)
    }))

  it.effect("receive the close reason once, before their scope closes", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const events: Array<string> = []
      const recordingTransport = (
        side: string,
        end: Transport.Transport["Service"]
      ): Transport.Transport["Service"] => ({
        connect: Effect.gen(function*() {
          const connection = yield* end.connect
          yield* Effect.addFinalizer(() => Effect.sync(() => events.push(`${side} closes`)))
          return { ...connection, onSessionEnd: ({ _tag }) => void events.push(`${side}: ${_tag}`) }
        })
      })
      const server = yield* ServerSession.make({}, { info: { name: "s", version: "1" } }).pipe(
        Effect.provideService(Transport.Transport, recordingTransport("server", pair.server))
      )
      const session = yield* client(recordingTransport("client", pair.client))
      yield* session.close
      yield* server.closed
      assert.deepStrictEqual(events.filter((line) => line.startsWith("client")), ["client: Requested", "client closes"])
      assert.deepStrictEqual(events.filter((line) => line.startsWith("server")), ["server: PeerEnded", "server closes"])
    }))
})
