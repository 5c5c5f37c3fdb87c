/** Laws of sessions without a handshake: their start, and the metadata of their requests. */

import { ErrorCode, Revision } from "@effect-mcp/protocol"
import * as assert from "node:assert/strict"
import type { ClientEnd } from "../../laws/law/TransportSubject.ts"
import { memberOf } from "../arbitrary/jsonValues.ts"
import { law, type Timeless, topic } from "./Law.ts"
import { errorCode, type LawContext, requestOf, structured } from "./LawContext.ts"

/** Returns the laws of sessions without a handshake. */
export const discovery = <Served extends ClientEnd>(
  { call, open, openReady }: LawContext<Served>
): ReadonlyArray<Timeless> =>
  topic("discovery", [
    law("[TRN-01] [VER-09] a new session knows its server without a handshake", function*() {
      const session = yield* open()
      assert.strictEqual((yield* session.state)._tag, "Modern")
      assert.strictEqual(session.profile.revision, Revision.latest)
      assert.strictEqual(session.profile.info.name, "law-server")
      assert.strictEqual(session.profile.instructions, "Every tool shows one side of a session.")
    }),

    law(
      "[VER-03] [VER-07] a request with other metadata is rejected with its own error, and affects only itself",
      function*() {
        const peer = yield* openReady
        const params = { name: "echo", arguments: { value: 1 } }
        yield* peer.send(requestOf("modern", 1, "tools/call", params, { protocolVersion: "1999-01-01" }))
        const unsupported = yield* peer.response
        assert.strictEqual(errorCode(unsupported), ErrorCode.UnsupportedProtocolVersion)
        assert.strictEqual(memberOf(unsupported, "error", "data", "requested"), "1999-01-01")
        const { _meta } = call(2, "echo").params ?? {}
        const incomplete = Object.entries(_meta ?? {}).filter(([key]) => !key.endsWith("/clientCapabilities"))
        yield* peer.send({
          ...call(2, "echo"),
          params: { ...params, _meta: Object.fromEntries(incomplete) }
        })
        assert.strictEqual(errorCode(yield* peer.response), ErrorCode.InvalidParams)
        yield* peer.send(call(3, "echo", { value: 3 }))
        assert.deepStrictEqual(structured(yield* peer.response), { value: 3 })
      }
    )
  ])
