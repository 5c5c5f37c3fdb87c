import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "PING-01",
    at: "HandshakeGate.#answerPing",
    original: "JsonRpc.success(message.id, {})",
    broken: "JsonRpc.success(message.id, { pong: true })",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "early pings are answered, log messages kept, and requests rejected"
  },
  {
    id: "PING-01",
    at: "rows.Initializing",
    original: "ReceivePing: stay(\"Answer\")",
    broken: "ReceivePing: stay(\"Reject\")",
    test: "packages/session/test/clientHandshake.test.ts",
    name: "early pings are answered, log messages kept, and requests rejected"
  },
  {
    id: "PING-04",
    at: "ModernRequestGate.admit",
    original: "case \"server/discover\":",
    broken:
      "case \"ping\":\n        this.replies.reply(JsonRpc.success(message.id, {}), origin)\n        return undefined\n      case \"server/discover\":",
    test: "packages/session/test/modernRequests.test.ts",
    name: "of a method that only other revisions have"
  },
  {
    id: "PING-02",
    at: "Supervisor.watch",
    original: "Effect.sleep(intervalMillis)",
    broken: "Effect.sleep(intervalMillis / 2)",
    test: "packages/client/test/sessions.test.ts",
    name: "[PING-02] is checked once in each interval"
  },
  {
    id: "PING-02",
    at: "SupervisedSessions.healthOf",
    original: "healthCheck?.interval ?? defaults.health.interval",
    broken: "defaults.health.interval",
    test: "packages/client/test/sessions.test.ts",
    name: "[PING-02] is checked once in each interval"
  },
  {
    id: "PING-02",
    at: "Supervisor.watch",
    original: "onSuccess: () => check",
    broken: "onSuccess: () => Effect.never",
    test: "packages/client/test/sessions.test.ts",
    name: "[PING-02] is checked once in each interval"
  },
  {
    id: "PING-03",
    at: "Supervisor.watch",
    original: "isAlive(error)",
    broken: "isAlive(error) || error.reason._tag === \"Timeout\"",
    test: "packages/client/test/sessions.test.ts",
    name: "[PING-03] is down because it did not answer"
  },
  {
    id: "PING-03",
    at: "Supervisor.run",
    original: "isPowerOfTwo(attempts) && !isKnown",
    broken: "isPowerOfTwo(attempts) && problem._tag !== \"Unresponsive\"",
    test: "packages/client/test/sessions.test.ts",
    name: "[PING-03] is down because it did not answer"
  }
]
