import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "PRM-01",
    at: "Handlers.withImplied",
    original: "if (path === undefined) continue",
    broken: "if (path === undefined || path.split(\".\")[0] === \"prompts\") continue",
    test: "packages/session/test/Handlers.test.ts",
    name: "[PRM-01] each handler implies the capability of its row, for every row of the method table"
  },
  {
    id: "PRM-02",
    at: "ServerSessionMembers.promptListChanged",
    original: "this.#notify(\"notifications/prompts/list_changed\", {})",
    broken: "Effect.void",
    test: "packages/session/test/allFeatures.test.ts",
    name: "requests of a client (one stream) > [TOOL-02] [RES-02] [PRM-02] list_changed notifications reach the client",
    hangs: true
  },
  {
    id: "PRM-03",
    at: "MethodHandlers.unknownPrompt",
    original: "McpError.invalidParams(`Unknown prompt: ${Excerpt.of(name)}`)",
    broken: "McpError.methodNotFound(`Unknown prompt: ${Excerpt.of(name)}`)",
    test: "packages/server/test/prompts.test.ts",
    name: "rejects an unknown name, missing and invalid arguments with -32602"
  },
  {
    id: "PRM-04",
    at: "PromptEntry.make",
    original: "codec.decode(input)",
    broken: "Effect.succeed<unknown>(input)",
    test: "packages/server/test/prompts.test.ts",
    name: "rejects an unknown name, missing and invalid arguments with -32602"
  },
  {
    id: "PRM-05",
    at: "ContentCheck.isBase64",
    original: "text.length % 4 === 0 && base64.test(text)",
    broken: "text.length % 4 === 0 || base64.test(text)",
    test: "packages/server/test/contentChecks.test.ts",
    name: "is not sent, but logged: the data of a block of type image is not base64"
  },
  {
    id: "PRM-03",
    at: "MethodHandlers.unknownPrompt",
    original: "McpError.invalidParams(`Unknown prompt: ${Excerpt.of(name)}`)",
    broken: "McpError.methodNotFound(`Unknown prompt: ${Excerpt.of(name)}`)",
    test: "packages/server/test/modernGroups.test.ts",
    name: "that is a prompt needs its arguments"
  },
  {
    id: "PRM-05",
    at: "ContentCheck.ofBlock",
    original: "mediaType.test(block.mimeType)",
    broken: "block.mimeType !== \"\"",
    test: "packages/server/test/contentChecks.test.ts",
    name: "is not sent, but logged: "
  }
]
