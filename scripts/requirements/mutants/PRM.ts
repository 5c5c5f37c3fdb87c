import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "PRM-01",
    file: "packages/session/src/Handlers.ts",
    original: "    if (path === undefined) continue\n",
    broken: "    if (path === undefined || path.split(\".\")[0] === \"prompts\") continue\n",
    test: "packages/session/test/Handlers.test.ts",
    name: "[PRM-01] each handler implies the capability of its row, for every row of the method table"
  },
  {
    id: "PRM-02",
    file: "packages/session/src/internal/server/ServerSessionImplementation.ts",
    original: "return this.#notify(\"notifications/prompts/list_changed\", {})",
    broken: "return Effect.void",
    test: "packages/session/test/allFeatures.test.ts",
    name: "requests of a client (one stream) > [TOOL-02] [RES-02] [PRM-02] list_changed notifications reach the client",
    hangs: true
  },
  {
    id: "PRM-03",
    file: "packages/server/src/internal/registry/MethodHandlers.ts",
    original: "const unknownPrompt = (name: string) => McpError.invalidParams(",
    broken: "const unknownPrompt = (name: string) => McpError.methodNotFound(",
    test: "packages/server/test/prompts.test.ts",
    name: "rejects an unknown name, missing and invalid arguments with -32602"
  },
  {
    id: "PRM-04",
    file: "packages/server/src/internal/entries/PromptEntry.ts",
    original: "    codec.decode(input).pipe(\n",
    broken: "    Effect.succeed<unknown>(input).pipe(\n",
    test: "packages/server/test/prompts.test.ts",
    name: "rejects an unknown name, missing and invalid arguments with -32602"
  },
  {
    id: "PRM-05",
    file: "packages/server/src/internal/entries/ContentCheck.ts",
    original: "text.length % 4 === 0 && base64.test(text)",
    broken: "text.length % 4 === 0 || base64.test(text)",
    test: "packages/server/test/contentChecks.test.ts",
    name: "is not sent, but logged: the data of a block of type image is not base64"
  },
  {
    id: "PRM-03",
    file: "packages/server/src/internal/registry/MethodHandlers.ts",
    original: "const unknownPrompt = (name: string) => McpError.invalidParams(",
    broken: "const unknownPrompt = (name: string) => McpError.methodNotFound(",
    test: "packages/server/test/modernGroups.test.ts",
    name: "that is a prompt needs its arguments"
  },
  {
    id: "PRM-05",
    file: "packages/server/src/internal/entries/ContentCheck.ts",
    original: "return mediaType.test(block.mimeType) ? undefined",
    broken: "return block.mimeType !== \"\" ? undefined",
    test: "packages/server/test/contentChecks.test.ts",
    name: "is not sent, but logged: "
  }
]
