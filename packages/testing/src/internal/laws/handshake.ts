/** Laws of the handshake. */

import { JsonRpc, Revision } from "@effect-mcp/protocol"
import * as assert from "node:assert/strict"
import type { ClientEnd } from "../../laws/law/TransportSubject.ts"
import { law, type Timeless, topic, type Unsorted } from "./Law.ts"
import { call, errorCode, info, initialize, type LawContext, structured } from "./LawContext.ts"

type OpenRaw = LawContext<ClientEnd>["openRaw"]

/** Returns the laws of messages before the handshake. */
const beforeSession = (openRaw: OpenRaw): ReadonlyArray<Unsorted> => [
  law("[PING-01] law 6: before the handshake a ping is answered and a request is rejected", function*() {
    const peer = yield* openRaw
    yield* peer.send(JsonRpc.request("early", "ping", undefined))
    assert.deepStrictEqual(yield* peer.response, { jsonrpc: "2.0", id: "early", result: {} })
    yield* peer.send(call(1, "echo"))
    const rejected = yield* peer.response
    assert.strictEqual(rejected.id, 1)
    assert.strictEqual(errorCode(rejected), -32600)
    yield* peer.send(initialize)
    assert.strictEqual(JsonRpc.isFailure(yield* peer.response), false)
  }),

  law("[INIT-10] requests pipelined after initialize are served", function*() {
    const peer = yield* openRaw
    yield* peer.send(initialize)
    yield* peer.send(call(1, "echo", { value: 1 }))
    const first = yield* peer.response
    const second = yield* peer.response
    assert.deepStrictEqual([first.id, second.id], [0, 1])
    assert.deepStrictEqual(structured(second), { value: 1 })
  })
]

/**
 * Returns the same laws for a transport whose session starts with `initialize`, and that rejects everything else
 * before.
 */
const withoutSession = (openRaw: OpenRaw): ReadonlyArray<Unsorted> => [
  law("[SHS-25] law 6: without a session a ping and a request are rejected", function*() {
    const peer = yield* openRaw
    for (const early of [JsonRpc.request("early", "ping", undefined), call(1, "echo")]) {
      yield* peer.send(early)
      const rejected = yield* peer.response
      assert.deepStrictEqual([rejected.id, errorCode(rejected)], [early.id, -32600])
    }
    yield* peer.send(initialize)
    assert.strictEqual(JsonRpc.isFailure(yield* peer.response), false)
  }),

  law(
    "[SHS-25] a request before the response to initialize is rejected, and does not affect the handshake",
    function*() {
      const peer = yield* openRaw
      yield* peer.send(initialize)
      yield* peer.send(call(1, "echo", { value: 1 }))
      // Each has a stream of its own, so either may be the first.
      const answers = new Map<unknown, JsonRpc.Response>()
      while (answers.size < 2) {
        const answer = yield* peer.response
        answers.set(answer.id, answer)
      }
      assert.deepStrictEqual([...answers.values()].map(errorCode).filter((code) => code !== undefined), [-32600])
      const first = [...answers.values()].find(({ id }) => id === 0)
      assert.strictEqual(first !== undefined && !JsonRpc.isFailure(first), true)
      yield* peer.send(call(2, "echo", { value: 2 }))
      assert.deepStrictEqual(structured(yield* peer.response), { value: 2 })
    }
  )
]

/** Returns the laws of the handshake, which only one era has. */
export const handshake = <Served extends ClientEnd>(
  { open, openRaw, openReady, sessionFirst }: LawContext<Served>
): ReadonlyArray<Timeless> =>
  topic("handshake", [
    ...(sessionFirst ? withoutSession(openRaw) : beforeSession(openRaw)),

    law("[TRN-01] [INIT-01] [INIT-07] [INIT-08] a new session is operating", function*() {
      const session = yield* open()
      assert.strictEqual((yield* session.state)._tag, "Operating")
      assert.strictEqual(session.profile.revision, Revision.latestLegacy)
      assert.strictEqual(session.profile.info.name, "law-server")
      assert.strictEqual(session.profile.instructions, "Every tool shows one side of a session.")
    }),

    ...Revision.legacy.map((revision) =>
      law(`[TRN-01] [INIT-04] [INIT-13] both sides settle on ${revision}`, function*() {
        const session = yield* open({ revisions: [revision] })
        assert.strictEqual(session.profile.revision, revision)
        yield* session.ping()
      })
    ),

    law("[INIT-05] an unknown revision is answered with the newest", function*() {
      const peer = yield* openRaw
      yield* peer.send(
        JsonRpc.request(0, "initialize", { protocolVersion: "1999-01-01", capabilities: {}, clientInfo: info })
      )
      const response = yield* peer.response
      assert.strictEqual(JsonRpc.isFailure(response), false)
      assert.ok(JSON.stringify(response).includes(Revision.latestLegacy))
    }),

    law("[INIT-02] an invalid initialize is rejected, and a later valid one succeeds", function*() {
      const peer = yield* openRaw
      yield* peer.send(JsonRpc.request(0, "initialize", { capabilities: {} }))
      assert.strictEqual(errorCode(yield* peer.response), -32602)
      yield* peer.send({ ...initialize, id: 1 })
      assert.strictEqual(JsonRpc.isFailure(yield* peer.response), false)
    }),

    law("law 6: a second initialize changes nothing", function*() {
      const peer = yield* openReady
      yield* peer.send({ ...initialize, id: 7 })
      assert.strictEqual(errorCode(yield* peer.response), -32600)
      yield* peer.send(call(8, "echo", { value: "still here" }))
      assert.deepStrictEqual(structured(yield* peer.response), { value: "still here" })
    })
  ])
