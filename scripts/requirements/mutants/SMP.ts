import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "SMP-01",
    file: "packages/session/src/Handlers.ts",
    original: "    if (path === undefined) continue\n",
    broken: "    if (path === undefined || path.split(\".\")[0] === \"sampling\") continue\n",
    test: "packages/session/test/allFeatures.test.ts",
    name: "[SMP-01] [ELI-01] [ROOT-01] are sent by a handler"
  },
  {
    id: "SMP-02",
    file: "packages/session/src/internal/engine/SemanticChecks.ts",
    original: "Sampling.usesTools(params) ? validateCapability(peer, \"sampling.tools\", extended) : undefined",
    broken: "undefined",
    test: "packages/session/test/serverRequestsByRevision.test.ts",
    name: "sampling with tools is NotInRevision before 2025-11-25, whatever was declared",
    hangs: true
  },
  {
    id: "SMP-03",
    file: "packages/protocol/src/Sampling.ts",
    original:
      "      if (results.length < blocks.length) return Result.fail(`${at} mixes tool results with other content`)\n",
    broken: "",
    test: "packages/protocol/test/Sampling.test.ts",
    name: "[SMP-03]"
  },
  {
    id: "SMP-04",
    file: "packages/protocol/src/Sampling.ts",
    original:
      "      if (!answered.has(id)) return Result.fail(`${at} does not answer the tool use \"${Excerpt.of(id)}\"`)\n",
    broken:
      "      if (answered.size > 0 && !answered.has(id)) return Result.fail(`${at} does not answer the tool use \"${Excerpt.of(id)}\"`)\n",
    test: "packages/protocol/test/Sampling.test.ts",
    name: "a use without a result"
  },
  {
    id: "SMP-06",
    file: "packages/protocol/src/JsonRpc.ts",
    original: "    ? { code: error.code, message: error.message }\n",
    broken: "    ? { code: Math.min(error.code, -32000), message: error.message }\n",
    test: "packages/session/test/sampling.test.ts",
    name: "a rejection by the user is an error with the code -1"
  },
  {
    id: "SMP-09",
    file: "packages/session/src/internal/engine/SemanticChecks.ts",
    original: "(needsContext(params, peer) ?",
    broken: "(false ?",
    test: "packages/session/test/serverRequestsByRevision.test.ts",
    name: "includeContext thisServer needs a capability in 2025-11-25",
    hangs: true
  },
  {
    id: "SMP-02",
    file: "packages/session/src/internal/engine/ClientQuestion.ts",
    original: "SemanticChecks.checkOf(row.name)?.(params, profile) ??",
    broken: "undefined ??",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks only in modes, and with tools"
  },
  {
    id: "SMP-09",
    file: "packages/session/src/internal/engine/SemanticChecks.ts",
    original: "(needsContext(params, peer) ?",
    broken: "(peer?.revision === \"2025-11-25\" && needsContext(params, peer) ?",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks only in modes, and with tools"
  },
  {
    id: "SMP-06",
    file: "packages/client/src/internal/answers/Answering.ts",
    original: "code: -1, message",
    broken: "code: -32603, message",
    test: "packages/client/test/answers.test.ts",
    name: "a question that is not approved is rejected in the words of its method"
  }
]
