import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "RES-01",
    at: "Handlers.withImplied",
    original: "{ [part]: flags.has(path) ? true : {}, ...known }",
    broken: "{ ...known }",
    test: "packages/session/test/Handlers.test.ts",
    name: "a handler of subscriptions adds subscribe to the declared resources"
  },
  {
    id: "RES-02",
    at: "ServerSessionMembers.resourceListChanged",
    original: "this.#notify(\"notifications/resources/list_changed\", {})",
    broken: "Effect.void",
    test: "packages/session/test/allFeatures.test.ts",
    name: "requests of a client (one stream) > [TOOL-02] [RES-02] [PRM-02] list_changed notifications reach the client",
    hangs: true
  },
  {
    id: "RES-03",
    at: "ConnectedClients.resourceUpdated",
    original: "client.resourceUpdated(uri)",
    broken: "",
    test: "packages/server/test/isolation.test.ts",
    name: "two sessions of one principal and one of another see nothing of each other [RES-03] [RES-04] > in memory",
    hangs: true
  },
  {
    id: "RES-04",
    at: "Subscriptions.remove",
    original: "subscribed === undefined || scope === undefined",
    broken: "scope !== undefined",
    test: "packages/server/test/isolation.test.ts",
    name: "two sessions of one principal and one of another see nothing of each other [RES-03] [RES-04] > in memory"
  },
  {
    id: "RES-05",
    at: "ResourceEntry.makeTemplate",
    original: "() => Effect.succeed(undefined)",
    broken: "() => Effect.succeed({ contents: [] })",
    test: "packages/server/test/resources.test.ts",
    name: "that does not exist is an error with its URI, and never empty contents"
  },
  {
    id: "RES-08",
    at: "ResourceEntry.make",
    original: "!absolute.test(uri) || !URL.canParse(uri)",
    broken: "uri === \"\"",
    test: "packages/server/test/resources.test.ts",
    name: "with the URI /tasks, which is none of RFC 3986, is a defect that names it"
  },
  {
    id: "RES-10",
    at: "ResourceEntry.make",
    original: "!absolute.test(uri) || !URL.canParse(uri)",
    broken: "!URL.canParse(uri)",
    test: "packages/server/test/resources.test.ts",
    name: "which is none of RFC 3986, is a defect that names it [RES-08] [RES-10]"
  },
  {
    id: "RES-06",
    at: "ModernErrorCode.of",
    original: "return ErrorCode.InvalidParams",
    broken: "return ErrorCode.InvalidRequest",
    test: "packages/session/test/modernRequests.test.ts",
    name: "has no codes of errors that only other revisions have"
  },
  {
    id: "RES-07",
    at: "MethodHandlers.read",
    original: "yield* failure",
    broken: "{ contents: [] }",
    test: "packages/server/test/modernGroups.test.ts",
    name: "that is a resource and does not exist"
  },
  {
    id: "RES-09",
    at: "ConfinedFiles.#locate",
    original: "if (!within.every((name) => FileUris.isServed(name, this.rules))) return undefined",
    broken: "",
    test: "packages/server/test/directory.test.ts",
    name: "follows links within the root if it may"
  },
  {
    id: "RES-09",
    at: "FileUris.isServed",
    original: "forbidden.test(name)",
    broken: "false",
    test: "packages/server/test/directory.test.ts",
    name: "rejects every URI of a file that is not"
  },
  {
    id: "RES-01",
    at: "ServerRegistry.listChanged",
    original: "...(declared.has(\"resources\") ? { resources: { listChanged: true } } : undefined)",
    broken: "",
    test: "packages/server/test/lists.test.ts",
    name: "declares the capabilities of its members, and no others"
  },
  {
    id: "RES-01",
    at: "ModernRequest.discovered",
    original: "{ subscribe: true, ...changes }",
    broken: "changes",
    test: "packages/server/test/lists.test.ts",
    name: "declares the capabilities of its members, and no others"
  },
  {
    id: "RES-01",
    at: "ModernRequest.discovered",
    original: "{ subscribe: true, ...changes }",
    broken: "{ subscribe: true }",
    test: "packages/server/test/lists.test.ts",
    name: "declares the capabilities of its members, and no others"
  },
  {
    id: "RES-06",
    at: "McpError.resourceNotFound",
    original: "make(ErrorCode.ResourceNotFound)(`Resource not found: ${Excerpt.of(uri)}`, { uri })",
    broken: "make(ErrorCode.ResourceNotFound)(`Resource not found: ${Excerpt.of(uri)}`)",
    test: "packages/server/test/modernGroups.test.ts",
    name: "[RES-06] [RES-07] that is a resource"
  }
]
