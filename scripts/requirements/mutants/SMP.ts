import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "SMP-01",
    at: "Handlers.withImplied",
    original: "if (path === undefined) continue",
    broken: "if (path === undefined || path.split(\".\")[0] === \"sampling\") continue",
    test: "packages/session/test/allFeatures.test.ts",
    name: "[SMP-01] [ELI-01] [ROOT-01] are sent by a handler"
  },
  {
    id: "SMP-02",
    at: "SemanticChecks.createMessage",
    original: "Sampling.usesTools(params) ? validateCapability(peer, \"sampling.tools\", extended) : undefined",
    broken: "undefined",
    test: "packages/session/test/serverRequestsByRevision.test.ts",
    name: "sampling with tools is NotInRevision before 2025-11-25, whatever was declared",
    hangs: true
  },
  {
    id: "SMP-03",
    at: "Sampling.checkToolUse",
    original: "if (results.length < blocks.length) return Result.fail(`${at} mixes tool results with other content`)",
    broken: "",
    test: "packages/protocol/test/Sampling.test.ts",
    name: "[SMP-03]"
  },
  {
    id: "SMP-04",
    at: "Sampling.checkToolUse",
    original: "!answered.has(id)",
    broken: "answered.size > 0 && !answered.has(id)",
    test: "packages/protocol/test/Sampling.test.ts",
    name: "a use without a result"
  },
  {
    id: "SMP-06",
    at: "JsonRpc.failure",
    original: "{ code: error.code, message: error.message }",
    broken: "{ code: Math.min(error.code, -32000), message: error.message }",
    test: "packages/session/test/sampling.test.ts",
    name: "a rejection by the user is an error with the code -1"
  },
  {
    id: "SMP-09",
    at: "SemanticChecks.createMessage",
    original: "needsContext(params, peer)",
    broken: "false",
    test: "packages/session/test/serverRequestsByRevision.test.ts",
    name: "includeContext thisServer needs a capability in 2025-11-25",
    hangs: true
  },
  {
    id: "SMP-02",
    at: "ClientQuestion.blocked",
    original: "SemanticChecks.checkOf(row.name)?.(params, profile)",
    broken: "undefined",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks only in modes, and with tools"
  },
  {
    id: "SMP-09",
    at: "SemanticChecks.createMessage",
    original: "needsContext(params, peer)",
    broken: "peer?.revision === \"2025-11-25\" && needsContext(params, peer)",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks only in modes, and with tools"
  },
  {
    id: "SMP-06",
    at: "Answering.userRejected",
    original: "code: -1",
    broken: "code: -32603",
    test: "packages/client/test/answers.test.ts",
    name: "a question that is not approved is rejected in the words of its method"
  }
]
