/** The memory of a client of which servers need a handshake. */
import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { type HandshakeError, MemoryTransport, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { replyToDiscover } from "./support/modernServers.ts"
import * as RawServer from "./support/RawServer.ts"
import { client, type ClientOptions, names, recorder, settled, start } from "./support/sessions.ts"

const refuseDiscovery: RawServer.Script = RawServer.replyToInitialize((message) =>
  JsonRpc.isRequest(message) && message.method === "server/discover"
    ? [JsonRpc.failure(message.id, { code: -32601, message: "Method not found" })]
    : []
)

const modern = replyToDiscover((message) =>
  JsonRpc.isRequest(message) && message.method === "initialize"
    ? [JsonRpc.failure(message.id, { code: -32601, message: "Method not found" })]
    : []
)

const silent: RawServer.Script = () => []

/** A transport whose connections each lead to a server of their own, which follows the present script. */
const changingServer = (script: RawServer.Script) => {
  const received: Array<ReadonlyArray<JsonRpc.Message>> = []
  const present = { script }
  const transport = Transport.Transport.of({
    connect: Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawServer.make(pair.server, present.script)
      received.push(raw.received)
      return yield* pair.client.connect
    })
  })
  return {
    present,
    connect: (options: ClientOptions = {}) => client(transport, { revisions: Revision.supported, ...options }),
    methods: () => received.map((messages) => names(messages).filter((name) => name !== "notifications/initialized"))
  }
}

describe("a server that needs a handshake", () => {
  it.effect("[VER-19] is asked for other revisions once, in all sessions over one transport", () =>
    Effect.gen(function*() {
      const server = changingServer(refuseDiscovery)
      const record = recorder()
      for (let count = 0; count < 2; count++) yield* Effect.scoped(server.connect())
      const session = yield* server.connect({ observe: record.observe })
      assert.strictEqual(session.profile.revision, "2025-11-25")
      assert.deepStrictEqual(server.methods(), [["server/discover", "initialize"], ["initialize"], ["initialize"]])
      assert.deepStrictEqual(record.of("FellBack").map(({ problem }) => problem), ["it needed a handshake before"])
    }).pipe(Effect.scoped))

  it.effect("is asked again over another transport", () =>
    Effect.gen(function*() {
      for (let count = 0; count < 2; count++) {
        const server = changingServer(refuseDiscovery)
        yield* server.connect()
        assert.deepStrictEqual(server.methods(), [["server/discover", "initialize"]])
      }
    }).pipe(Effect.scoped))

  it.effect("[VER-19] and no longer does so, is asked again, and only the last connection is seen to close", () =>
    Effect.gen(function*() {
      const server = changingServer(refuseDiscovery)
      yield* Effect.scoped(server.connect())
      server.present.script = modern
      const record = recorder()
      const session = yield* server.connect({ observe: record.observe })
      assert.strictEqual(session.profile.revision, "2026-07-28")
      assert.deepStrictEqual(server.methods().slice(1), [["initialize"], ["server/discover"]])
      assert.deepStrictEqual(record.of("Closed"), [])
      yield* session.close
      assert.lengthOf(record.of("Closed"), 1)
      yield* Effect.scoped(server.connect())
      assert.deepStrictEqual(server.methods().slice(3), [["server/discover"]])
    }).pipe(Effect.scoped))

  it.effect("and stays silent, is not asked again, and its connection is seen to close", () =>
    Effect.gen(function*() {
      const server = changingServer(refuseDiscovery)
      yield* Effect.scoped(server.connect())
      server.present.script = silent
      const record = recorder()
      const connecting: Fiber.Fiber<unknown, HandshakeError.HandshakeError> = yield* start(
        server.connect({ observe: record.observe })
      )
      yield* settled
      yield* TestClock.adjust("1 minute")
      const { reason } = yield* Effect.flip(Fiber.join(connecting))
      assert.strictEqual(reason._tag, "Timeout")
      assert.deepStrictEqual(server.methods().slice(1), [["initialize"]])
      assert.lengthOf(record.of("Closed"), 1)
    }).pipe(Effect.scoped))
})
