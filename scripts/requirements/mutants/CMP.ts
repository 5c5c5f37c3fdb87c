import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "CMP-01",
    at: "Handlers.withImplied",
    original: "if (path === undefined) continue",
    broken: "if (path === undefined || path.split(\".\")[0] === \"completions\") continue",
    test: "packages/session/test/allFeatures.test.ts",
    name: "[TOOL-01] [RES-01] [PRM-01] [CMP-01] [LOG-01] a handler declares its capability"
  },
  {
    id: "CMP-02",
    at: "Completion.CompleteResult",
    original: ".check(Schema.isMaxLength(maximumValues))",
    broken: "",
    test: "packages/session/test/completion.test.ts",
    name: "a completion with 101 values is rejected by the server and by the client"
  },
  {
    id: "CMP-03",
    at: "RequestRejections.methodNotFound",
    original: "code: ErrorCode.MethodNotFound",
    broken: "code: ErrorCode.InvalidRequest",
    test: "packages/session/test/sessionsWithoutHandlers.test.ts",
    name: "a server rejects methods without a handler with -32601, completion included"
  },
  {
    id: "CMP-03",
    at: "Completion.Reference",
    original: "Schema.Literal(\"ref/prompt\")",
    broken: "Schema.String",
    test: "packages/protocol/test/messages.test.ts",
    name: "[CMP-03] CompleteParams rejects"
  },
  {
    id: "CMP-02",
    at: "MethodHandlers.completions",
    original: "values.slice(0, Completion.maximumValues)",
    broken: "values.slice(0, Completion.maximumValues - 1)",
    test: "packages/server/test/prompts.test.ts",
    name: "has at most 100 values, and the number of all of them"
  },
  {
    id: "CMP-04",
    at: "McpRateLimit.layer",
    original: "name === undefined ? 0 : 1",
    broken: "name === undefined || name === \"prompt\" ? 0 : 1",
    test: "packages/server/test/middleware.test.ts",
    name: "[CMP-04] counts sessions without a principal apart, and completions apart from calls"
  },
  {
    id: "CMP-04",
    at: "Completers.make",
    original: "runtime.ifVisible(handled.visible, complete(completing, fields, handled.complete ?? {}))",
    broken: "complete(completing, fields, handled.complete ?? {})",
    test: "packages/server/test/hiddenResources.test.ts",
    name: "is not listed by a template with the same URI, and its arguments are not completed"
  },
  {
    id: "CMP-04",
    at: "Completers.complete",
    original: "field === undefined",
    broken: "field === undefined && argument === \"\"",
    test: "packages/server/test/prompts.test.ts",
    name: "without suggestions has none, and one that does not exist is rejected"
  },
  {
    id: "CMP-02",
    at: "MethodHandlers.completions",
    original: "values.slice(0, Completion.maximumValues)",
    broken: "values",
    test: "packages/server/test/modernGroups.test.ts",
    name: "that is a prompt needs its arguments"
  }
]
