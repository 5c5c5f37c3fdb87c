/** Laws of a connection whose requests have several clients, with a handshake and without one. */

import { ErrorCode, type JsonRpc, Revision } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as assert from "node:assert/strict"
import type { ClientEnd } from "../../laws/law/TransportSubject.ts"
import type * as RawPeer from "../../RawPeer.ts"
import { memberOf } from "../arbitrary/jsonValues.ts"
import { law, type Timeless, topic } from "./Law.ts"
import { errorCode, info, initialize, initialized, type LawContext, requestOf, structured } from "./LawContext.ts"

/** Creates the call of a tool by the client with this name, without a handshake. */
const callOf = (client: string, id: number, tool: string, input: JsonRpc.Params = {}): JsonRpc.Request =>
  requestOf("modern", id, "tools/call", { name: tool, arguments: input }, {
    clientInfo: { name: client, version: "1.0.0" }
  })

/** Receives this number of responses. */
const responses = Effect.fnUntraced(function*(peer: RawPeer.RawPeer, count: number) {
  const received = new Map<unknown, JsonRpc.Response>()
  for (let index = 0; index < count; index++) {
    const response = yield* peer.response
    received.set(response.id, response)
  }
  return received
})

/** Returns the laws of requests that have nothing in common but their connection. */
export const bothEras = <Served extends ClientEnd>(
  { openRaw }: LawContext<Served>
): ReadonlyArray<Timeless> =>
  topic("several clients", [
    law("[VER-12] [VER-21] interleaved requests of both eras are each answered in their own", function*() {
      const peer = yield* openRaw
      yield* peer.send(callOf("early", 1, "era"))
      const early = yield* peer.response
      assert.deepStrictEqual(structured(early), { revision: Revision.latest, client: "early", inSession: false })
      yield* peer.send(initialize)
      yield* peer.send(callOf("meanwhile", 2, "era"))
      const first = yield* responses(peer, 2)
      assert.deepStrictEqual(structured(first.get(2) ?? early), {
        revision: Revision.latest,
        client: "meanwhile",
        inSession: false
      })
      assert.strictEqual(memberOf(first.get(0), "result", "protocolVersion"), Revision.latestLegacy)
      yield* peer.send(initialized)
      for (let id = 10; id < 30; id += 2) {
        yield* peer.send(requestOf("legacy", id, "tools/call", { name: "era" }))
        yield* peer.send(callOf(`client ${id}`, id + 1, "era"))
      }
      const interleaved = yield* responses(peer, 20)
      for (let id = 10; id < 30; id += 2) {
        const [legacy, modern] = [interleaved.get(id), interleaved.get(id + 1)]
        assert.deepStrictEqual(memberOf(legacy, "result", "structuredContent"), {
          revision: Revision.latestLegacy,
          client: info.name,
          inSession: true
        })
        assert.deepStrictEqual(memberOf(modern, "result", "structuredContent"), {
          revision: Revision.latest,
          client: `client ${id}`,
          inSession: false
        })
        // Only results of the newer revision state their type.
        assert.deepStrictEqual(
          [memberOf(legacy, "result", "resultType"), memberOf(modern, "result", "resultType")],
          [undefined, "complete"]
        )
      }
      assert.deepStrictEqual(yield* peer.pending, [])
    }),

    law("[VER-15] a request waits for no other one, of this client or of another", function*() {
      const peer = yield* openRaw
      yield* peer.send(callOf("slow", 1, "gate", { value: "at last" }))
      yield* peer.send(callOf("fast", 2, "era"))
      const fast = yield* peer.response
      assert.deepStrictEqual([fast.id, memberOf(structured(fast), "client")], [2, "fast"])
      // Over several streams, the first request may arrive last.
      let id = 3
      const slow = yield* Effect.gen(function*() {
        yield* peer.send(callOf("fast", id++, "open"))
        const response = yield* peer.response
        return response.id === 1 ? response : undefined
      }).pipe(Effect.repeat({ until: (response) => response !== undefined }))
      assert.deepStrictEqual(slow === undefined ? undefined : structured(slow), { value: "at last" })
    }),

    law("[VER-11] [VER-12] the capabilities of one request are not those of the next", function*() {
      const peer = yield* openRaw
      yield* peer.send(callOf("asked", 1, "ask", { message: "Ready?" }))
      assert.strictEqual(memberOf(yield* peer.response, "result", "resultType"), "input_required")
      const params = { name: "ask", arguments: { message: "Ready?" } }
      yield* peer.send(requestOf("modern", 2, "tools/call", params, { clientCapabilities: {} }))
      assert.strictEqual(errorCode(yield* peer.response), ErrorCode.MissingRequiredClientCapability)
      yield* peer.send(callOf("asked", 3, "ask", { message: "Ready?" }))
      assert.strictEqual(memberOf(yield* peer.response, "result", "resultType"), "input_required")
    })
  ])
