import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "CCH-01",
    file: "packages/session/src/internal/server/ModernReplies.ts",
    original: "Caching.methods.has(method) && resultType === \"complete\"",
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
    id: "CCH-03",
    file: "packages/protocol/src/Caching.ts",
    original: "typeof result.ttlMs === \"number\" && Number.isFinite(result.ttlMs) ?",
    broken: "result.ttlMs === undefined ? 60_000 : typeof result.ttlMs === \"number\" ?",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "is not kept if the time is missing"
  },
  {
    id: "CCH-04",
    file: "packages/session/src/internal/client/KeptResults.ts",
    original: "this.#timer.now() < kept.until",
    broken: "true",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "is kept until then, and asked for again"
  },
  {
    id: "CCH-05",
    file: "packages/session/src/internal/client/KeptResults.ts",
    original: "JSON.stringify([cursor, uri])",
    broken: "JSON.stringify([uri])",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "is never the result of another method"
  },
  {
    id: "CCH-05",
    file: "packages/session/src/internal/client/KeptResults.ts",
    original: "if (Object.keys(others).length > 0 || !isOnlyTrace(_meta)",
    broken: "if (!isOnlyTrace(_meta)",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "is never the result of another method"
  },
  {
    id: "CCH-06",
    file: "packages/session/src/internal/client/KeptResults.ts",
    original: "responses !== 1 || changes",
    broken: "changes",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "is one for which the server has asked questions"
  },
  {
    id: "CCH-07",
    file: "packages/session/src/internal/client/ClientSessionImplementation.ts",
    original: "this.#keptResults ??= new KeptResults(",
    broken: "this.#keptResults ??= trust<{ of: KeptResults }>(KeptResults).of ??= new KeptResults(",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "belongs to another session"
  },
  {
    id: "CCH-07",
    file: "packages/session/src/internal/client/KeptResults.ts",
    original: "new Set([\"traceparent\", \"tracestate\"])",
    broken: "new Set([\"traceparent\", \"tracestate\", \"baggage\"])",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "names another tenant"
  },
  {
    id: "CCH-09",
    file: "packages/session/src/internal/client/KeptResults.ts",
    original: "isBadCursor(error) && \"cursor\" in params",
    broken: "false",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "with all pages of its list"
  },
  {
    id: "CCH-11",
    file: "packages/session/src/internal/client/KeptResults.ts",
    original: "for (const [list, change] of ListenFilter.changeOf) if (change === method) this.drop(list)",
    broken: "",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "when its list changes, and no other"
  },
  {
    id: "CCH-11",
    file: "packages/session/src/internal/client/KeptResults.ts",
    original: "changes !== this.#changes",
    broken: "false",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "when its list changes while it is on its way"
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
  },
  {
    id: "CCH-10",
    file: "packages/server/src/McpResponseCache.ts",
    original: "return target.isConditional ? yield* Effect.provideService(handler, KeptResult, known) : known",
    broken: "return known",
    test: "packages/server/test/middleware.test.ts",
    name: "[CCH-10] returns a kept result only while the client sees"
  },
  {
    id: "CCH-03",
    file: "packages/protocol/src/Caching.ts",
    original: "Math.max(0, Math.trunc(result.ttlMs))",
    broken: "Math.abs(Math.trunc(result.ttlMs))",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "is not kept if the time is missing"
  },
  {
    id: "CCH-01",
    file: "packages/session/src/internal/server/ModernReplies.ts",
    original: "...Caching.read(result) }",
    broken: "cacheScope: Caching.read(result).cacheScope }",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is answered with the type of the result"
  },
  {
    id: "CCH-01",
    file: "packages/session/src/internal/server/ModernReplies.ts",
    original: "...Caching.read(result) }",
    broken: "ttlMs: Caching.read(result).ttlMs }",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is answered with the type of the result"
  },
  {
    id: "CCH-09",
    file: "packages/session/src/internal/client/KeptResults.ts",
    original: "\"cursor\" in params) this.drop(row.name)",
    broken: "\"cursor\" in params) this.#delete(key)",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "with all pages of its list"
  }
]
