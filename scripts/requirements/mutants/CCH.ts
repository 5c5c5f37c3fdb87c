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
  }
]
