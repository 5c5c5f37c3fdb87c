import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "CCH-01",
    file: "packages/session/src/internal/server/ModernReplies.ts",
    original: "Caching.methods.has(method) && !isSuspended",
    broken: "Caching.methods.has(method) && method !== \"tools/list\"",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is answered with the type of the result"
  },
  {
    id: "CCH-02",
    file: "packages/protocol/src/Caching.ts",
    original: "Math.max(0, Math.trunc(result.ttlMs))",
    broken: "Math.trunc(result.ttlMs)",
    test: "packages/session/test/modernRequests.test.ts",
    name: "has a hint for caches that is never"
  },
  {
    id: "CCH-08",
    file: "packages/protocol/src/Caching.ts",
    original: "result.cacheScope === \"public\" ? \"public\" : \"private\"",
    broken: "\"nextCursor\" in result ? \"public\" : \"private\"",
    test: "packages/server/test/modernGroups.test.ts",
    name: "has pages of one cache scope"
  },
  {
    id: "CCH-10",
    file: "packages/server/src/internal/entries/GroupRuntime.ts",
    original: "isVisible ? result : otherwise",
    broken: "result",
    test: "packages/server/test/modernGroups.test.ts",
    name: "is listed for, and called by, only those who see it"
  },
  {
    id: "CCH-10",
    file: "packages/server/src/internal/registry/Registry.ts",
    original: "entries.filter((entry) => seen.has(entry))",
    broken: "[...entries]",
    test: "packages/server/test/modernGroups.test.ts",
    name: "is listed for, and called by, only those who see it"
  }
]
