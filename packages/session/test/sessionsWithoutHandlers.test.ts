import { ErrorCode, JsonRpc, MethodTable } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { codeOf, connected, forms, performHandshake, withRawClient, withRawServer } from "./support/sessions.ts"

/** Returns the methods that one side may send and that need a handler. */
const requestsOf = (side: "client" | "server"): ReadonlyArray<string> =>
  Object.values<MethodTable.AnyRequest>({ ...MethodTable.requests })
    .filter(({ from, name }) => (from === side || from === "either") && name !== "initialize" && name !== "ping")
    .map(({ name }) => name)

describe("sessions without handlers", () => {
  for (const { form, pair } of forms) {
    it.effect(`[MSG-13] complete the handshake, answer pings, and close (${form})`, () =>
      Effect.gen(function*() {
        const { client, server } = yield* connected({ pair, server: { capabilities: { logging: false } } })
        assert.deepStrictEqual(client.profile.capabilities, {})
        assert.deepStrictEqual((yield* server.profile).capabilities, {})
        yield* client.ping()
        yield* server.ping()
        yield* client.close
        assert.strictEqual((yield* server.closed)._tag, "PeerEnded")
      }))
  }

  it.effect("[CMP-03] a server rejects methods without a handler with -32601, completion included", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({ server: { capabilities: { logging: false } } })
      yield* performHandshake(raw)
      const names = requestsOf("client")
      assert.include(names, "completion/complete")
      for (const name of names) {
        yield* raw.send(JsonRpc.request(name, name, undefined))
        const answer = yield* raw.response
        assert.deepStrictEqual([answer.id, codeOf(answer)], [name, ErrorCode.MethodNotFound])
      }
    }))

  it.effect("[ROOT-04] a client rejects methods without a handler with -32601, roots included", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawServer()
      const names = requestsOf("server")
      assert.include(names, "roots/list")
      const before = raw.received.length
      yield* raw.send(...names.map((name) => JsonRpc.request(name, name, undefined)))
      yield* Effect.yieldNow
      assert.deepStrictEqual(
        raw.received.slice(before).map((answer) => ["id" in answer ? answer.id : undefined, codeOf(answer)]),
        names.map((name) => [name, ErrorCode.MethodNotFound])
      )
    }))
})
