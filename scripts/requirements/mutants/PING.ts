import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "PING-01",
    file: "packages/session/src/internal/engine/RequestServer.ts",
    original: "return this.#runtime.replies.reply(JsonRpc.success(message.id, {}), origin)",
    broken: "return this.#runtime.replies.reply(JsonRpc.success(message.id, { pong: true }), origin)",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "early pings are answered, log messages kept, and requests rejected"
  },
  {
    id: "PING-01",
    file: "packages/protocol/src/internal/handshake/rows.ts",
    original:
      "    ReceiveInitializeFailure: abort,\n    ReceivePing: stay(\"Answer\"),\n    ReceiveRequest: stay(\"Reject\"),\n    ReceiveLog",
    broken:
      "    ReceiveInitializeFailure: abort,\n    ReceivePing: stay(\"Reject\"),\n    ReceiveRequest: stay(\"Reject\"),\n    ReceiveLog",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "early pings are answered, log messages kept, and requests rejected"
  },
  {
    id: "PING-04",
    file: "packages/session/src/internal/server/ModernExchange.ts",
    original: "    if (method === \"ping\") {\n",
    broken: "    if (method === \"pong\") {\n",
    test: "packages/session/test/modernRequests.test.ts",
    name: "of a method that only other revisions have"
  }
]
