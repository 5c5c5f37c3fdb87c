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
  },
  {
    id: "PING-02",
    file: "packages/client/src/internal/supervision/Supervisor.ts",
    original: "    Effect.sleep(intervalMillis),\n",
    broken: "    Effect.sleep(intervalMillis / 2),\n",
    test: "packages/client/test/sessions.test.ts",
    name: "[PING-02] is checked once in each interval"
  },
  {
    id: "PING-02",
    file: "packages/client/src/internal/supervision/SupervisedClient.ts",
    original: "healthCheck?.interval ?? defaults.health.interval",
    broken: "defaults.health.interval",
    test: "packages/client/test/sessions.test.ts",
    name: "[PING-02] is checked once in each interval"
  },
  {
    id: "PING-02",
    file: "packages/client/src/internal/supervision/Supervisor.ts",
    original: "    onSuccess: () => check,\n",
    broken: "    onSuccess: () => Effect.never,\n",
    test: "packages/client/test/sessions.test.ts",
    name: "[PING-02] is checked once in each interval"
  },
  {
    id: "PING-03",
    file: "packages/client/src/internal/supervision/Supervisor.ts",
    original: "    onFailure: (error) =>\n      isAlive(error)\n",
    broken: "    onFailure: (error) =>\n      isAlive(error) || error.reason._tag === \"Timeout\"\n",
    test: "packages/client/test/sessions.test.ts",
    name: "[PING-03] is down because it did not answer"
  },
  {
    id: "PING-03",
    file: "packages/client/src/internal/supervision/Supervisor.ts",
    original: "if (isPowerOfTwo(attempts) && !isKnown) {",
    broken: "if (isPowerOfTwo(attempts) && problem._tag !== \"Unresponsive\") {",
    test: "packages/client/test/sessions.test.ts",
    name: "[PING-03] is down because it did not answer"
  }
]
