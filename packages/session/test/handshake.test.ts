import { JsonRpc } from "@effect-mcp/protocol"
import { MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as RawServer from "./support/RawServer.ts"
import { client } from "./support/sessions.ts"

describe("both sides' transports", () => {
  it.effect("are told of what was negotiated, once, before anything else is said under it", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const told: Array<string> = []
      const telling = (who: string, end: Transport.Transport["Service"]): Transport.Transport["Service"] => ({
        connect: Effect.map(end.connect, (connection) => ({
          ...connection,
          send: (outbound) => {
            told.push(`${who} ${"method" in outbound.message ? outbound.message.method : "answers"}`)
            return connection.send(outbound)
          },
          onHandshake: ({ info, revision }) => {
            told.push(`${who} knows ${info?.name} ${revision}`)
          }
        }))
      })
      yield* ServerSession.make({}, { info: { name: "s", version: "1" } }).pipe(
        Effect.provideService(Transport.Transport, telling("server", pair.server))
      )
      const session = yield* client(telling("client", pair.client), { revisions: ["2025-06-18"] })
      yield* session.ping()
      assert.deepStrictEqual(told.filter((line) => line.startsWith("client")), [
        "client initialize",
        "client knows s 2025-06-18",
        "client notifications/initialized",
        "client ping"
      ])
      assert.deepStrictEqual(told.filter((line) => line.startsWith("server knows")), ["server knows test 2025-06-18"])
      assert.deepStrictEqual(told.filter((line) => line === "server answers").length, 2)
    }))

  it.effect("are told nothing where nothing was negotiated", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      yield* RawServer.make(pair.server, () => [
        JsonRpc.success(0, RawServer.initializeResult({ protocolVersion: "1999-01-01" }))
      ])
      let told = 0
      yield* Effect.flip(client({
        connect: Effect.map(pair.client.connect, (connection) => ({
          ...connection,
          onHandshake: () => {
            told++
          }
        }))
      }))
      assert.strictEqual(told, 0)
    }))

  it.effect("are told why their session ends, once, before their scope closes", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const told: Array<string> = []
      const telling = (who: string, end: Transport.Transport["Service"]): Transport.Transport["Service"] => ({
        connect: Effect.gen(function*() {
          const connection = yield* end.connect
          yield* Effect.addFinalizer(() => Effect.sync(() => told.push(`${who} closes`)))
          return { ...connection, onSessionEnd: ({ _tag }) => void told.push(`${who}: ${_tag}`) }
        })
      })
      const server = yield* ServerSession.make({}, { info: { name: "s", version: "1" } }).pipe(
        Effect.provideService(Transport.Transport, telling("server", pair.server))
      )
      const session = yield* client(telling("client", pair.client))
      yield* session.close
      yield* server.closed
      assert.deepStrictEqual(told.filter((line) => line.startsWith("client")), ["client: Requested", "client closes"])
      assert.deepStrictEqual(told.filter((line) => line.startsWith("server")), ["server: PeerEnded", "server closes"])
    }))
})
