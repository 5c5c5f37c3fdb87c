import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "RES-01",
    file: "packages/session/src/Handlers.ts",
    original: "{ [part]: flags.has(path) ? true : {}, ...known }",
    broken: "{ ...known }",
    test: "packages/session/test/Handlers.test.ts",
    name: "a handler of subscriptions adds subscribe to the declared resources"
  },
  {
    id: "RES-02",
    file: "packages/session/src/internal/server/ServerSessionImplementation.ts",
    original: "return this.#notify(\"notifications/resources/list_changed\", {})",
    broken: "return Effect.void",
    test: "packages/session/test/allFeatures.test.ts",
    name: "requests of a client (one stream) > [TOOL-02] [RES-02] [PRM-02] list_changed notifications reach the client",
    hangs: true
  },
  {
    id: "RES-03",
    file: "packages/server/src/internal/registry/ConnectedClients.ts",
    original: "[client.resourceUpdated(uri)]",
    broken: "[]",
    test: "packages/server/test/isolation.test.ts",
    name: "two sessions of one principal and one of another see nothing of each other [RES-03] [RES-04] > in memory",
    hangs: true
  },
  {
    id: "RES-04",
    file: "packages/server/src/internal/registry/Subscriptions.ts",
    original: "      if (subscribed === undefined || scope === undefined) return Effect.void\n",
    broken: "      if (scope !== undefined) return Effect.void\n",
    test: "packages/server/test/isolation.test.ts",
    name: "two sessions of one principal and one of another see nothing of each other [RES-03] [RES-04] > in memory"
  },
  {
    id: "RES-05",
    file: "packages/server/src/internal/entries/ResourceEntry.ts",
    original: "      onFailure: () => Effect.succeed(undefined)\n",
    broken: "      onFailure: () => Effect.succeed({ contents: [] })\n",
    test: "packages/server/test/resources.test.ts",
    name: "that does not exist is an error with its URI, and never empty contents"
  },
  {
    id: "RES-08",
    file: "packages/server/src/internal/entries/ResourceEntry.ts",
    original: "if (!absolute.test(uri) || !URL.canParse(uri)) {",
    broken: "if (uri === \"\") {",
    test: "packages/server/test/resources.test.ts",
    name: "with the URI /tasks, which is none of RFC 3986, is a defect that names it"
  },
  {
    id: "RES-10",
    file: "packages/server/src/internal/entries/ResourceEntry.ts",
    original: "if (!absolute.test(uri) || !URL.canParse(uri)) {",
    broken: "if (!URL.canParse(uri)) {",
    test: "packages/server/test/resources.test.ts",
    name: "which is none of RFC 3986, is a defect that names it [RES-08] [RES-10]"
  },
  {
    id: "RES-06",
    file: "packages/session/src/internal/engine/ModernErrorCode.ts",
    original: "return ErrorCode.InvalidParams",
    broken: "return ErrorCode.InvalidRequest",
    test: "packages/session/test/modernRequests.test.ts",
    name: "has no codes of errors that only other revisions have"
  },
  {
    id: "RES-07",
    file: "packages/server/src/internal/registry/MethodHandlers.ts",
    original: "  return yield* failure\n})\n\n/** Returns the function that lists",
    broken: "  return { contents: [] }\n})\n\n/** Returns the function that lists",
    test: "packages/server/test/modernGroups.test.ts",
    name: "that is a resource and does not exist"
  },
  {
    id: "RES-09",
    file: "packages/server/src/internal/directory/ConfinedFiles.ts",
    original: "      if (!within.every((name) => FileUris.isServed(name, this.rules))) return undefined\n",
    broken: "",
    test: "packages/server/test/directory.test.ts",
    name: "follows links within the root if it may"
  },
  {
    id: "RES-09",
    file: "packages/server/src/internal/directory/FileUris.ts",
    original: "forbidden.test(name)",
    broken: "unpaired.test(name)",
    test: "packages/server/test/directory.test.ts",
    name: "rejects every URI of a file that is not"
  },
  {
    id: "RES-01",
    file: "packages/server/src/internal/registry/ServerRegistry.ts",
    original: "...(declared.has(\"resources\") ? { resources: { listChanged: true } } : undefined)",
    broken: "",
    test: "packages/server/test/lists.test.ts",
    name: "declares the capabilities of its members, and no others"
  },
  {
    id: "RES-01",
    file: "packages/session/src/internal/server/ModernRequest.ts",
    original: "hasStreams ? { subscribe: true, ...changes } : {}",
    broken: "hasStreams ? changes : {}",
    test: "packages/server/test/lists.test.ts",
    name: "declares the capabilities of its members, and no others"
  },
  {
    id: "RES-01",
    file: "packages/session/src/internal/server/ModernRequest.ts",
    original: "hasStreams ? { subscribe: true, ...changes } : {}",
    broken: "hasStreams ? { subscribe: true } : {}",
    test: "packages/server/test/lists.test.ts",
    name: "declares the capabilities of its members, and no others"
  },
  {
    id: "RES-06",
    file: "packages/protocol/src/McpError.ts",
    original: "`Resource not found: ${Excerpt.of(uri)}`, { uri })",
    broken: "`Resource not found: ${Excerpt.of(uri)}`)",
    test: "packages/server/test/modernGroups.test.ts",
    name: "[RES-06] [RES-07] that is a resource"
  }
]
