import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "CCH-01",
    at: "ModernReplies.typed",
    original: "resultType === \"complete\"",
    broken: "method !== \"tools/list\"",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is answered with the type of the result"
  },
  {
    id: "CCH-02",
    at: "Caching.read",
    original: "Math.max(0, Math.trunc(result.ttlMs))",
    broken: "Math.trunc(result.ttlMs)",
    test: "packages/session/test/modernRequests.test.ts",
    name: "has a hint for caches that is never"
  },
  {
    id: "CCH-03",
    at: "Caching.read",
    original: "typeof result.ttlMs === \"number\" && Number.isFinite(result.ttlMs)",
    broken: "result.ttlMs === undefined ? 60_000 : typeof result.ttlMs === \"number\"",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "is not kept if the time is missing"
  },
  {
    id: "CCH-04",
    at: "KeptResults.#fresh",
    original: "this.#timer.now() < kept.until",
    broken: "true",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "is kept until then, and asked for again"
  },
  {
    id: "CCH-05",
    at: "KeptResults.keyOf",
    original: "[cursor, uri]",
    broken: "[uri]",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "is never the result of another method"
  },
  {
    id: "CCH-05",
    at: "KeptResults.keyOf",
    original: "Object.keys(others).length > 0 || !isOnlyTrace(_meta)",
    broken: "!isOnlyTrace(_meta)",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "is never the result of another method"
  },
  {
    id: "CCH-06",
    at: "KeptResults.layer",
    original: "responses !== 1 || changes !== this.#changes",
    broken: "changes !== this.#changes",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "is one for which the server has asked questions"
  },
  {
    id: "CCH-07",
    at: "ModernClient.constructor",
    original: "new KeptResults(runtime)",
    broken: "Object.assign(KeptResults, { of: Reflect.get(KeptResults, \"of\") ?? new KeptResults(runtime) }).of",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "belongs to another session"
  },
  {
    id: "CCH-07",
    at: "KeptResults.traceKeys",
    original: "[\"traceparent\", \"tracestate\"]",
    broken: "[\"traceparent\", \"tracestate\", \"baggage\"]",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "names another tenant"
  },
  {
    id: "CCH-09",
    at: "KeptResults.layer",
    original: "isBadCursor(error) && \"cursor\" in params",
    broken: "false",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "with all pages of its list"
  },
  {
    id: "CCH-11",
    at: "KeptResults.observe",
    original: "for (const [list, change] of ListenFilter.changeOf) if (change === method) this.drop(list)",
    broken: "",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "when its list changes, and no other"
  },
  {
    id: "CCH-11",
    at: "KeptResults.layer",
    original: "changes !== this.#changes",
    broken: "false",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "when its list changes while it is on its way"
  },
  {
    id: "CCH-08",
    at: "Caching.read",
    original: "result.cacheScope === \"public\"",
    broken: "\"nextCursor\" in result",
    test: "packages/server/test/modernGroups.test.ts",
    name: "has pages of one cache scope"
  },
  {
    id: "CCH-10",
    at: "GroupRuntime.ifVisible",
    original: "isVisible ? result : otherwise",
    broken: "result",
    test: "packages/server/test/modernGroups.test.ts",
    name: "is listed for, and called by, only those who see it"
  },
  {
    id: "CCH-10",
    at: "Registry.#decided",
    original: "entries.filter((entry) => seen.has(entry))",
    broken: "[...entries]",
    test: "packages/server/test/modernGroups.test.ts",
    name: "is listed for, and called by, only those who see it"
  },
  {
    id: "CCH-10",
    at: "McpResponseCache.layer",
    original: "target.isConditional ? yield* Effect.provideService(handler, KeptResult, known) : known",
    broken: "known",
    test: "packages/server/test/middleware.test.ts",
    name: "[CCH-10] returns a kept result only while the client sees"
  },
  {
    id: "CCH-03",
    at: "Caching.read",
    original: "Math.max(0, Math.trunc(result.ttlMs))",
    broken: "Math.abs(Math.trunc(result.ttlMs))",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "is not kept if the time is missing"
  },
  {
    id: "CCH-01",
    at: "ModernReplies.typed",
    original: "...Caching.read(result)",
    broken: "cacheScope: Caching.read(result).cacheScope",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is answered with the type of the result"
  },
  {
    id: "CCH-01",
    at: "ModernReplies.typed",
    original: "...Caching.read(result)",
    broken: "ttlMs: Caching.read(result).ttlMs",
    test: "packages/session/test/modernRequests.test.ts",
    name: "is answered with the type of the result"
  },
  {
    id: "CCH-09",
    at: "KeptResults.layer",
    original: "this.drop(row.name)",
    broken: "this.#delete(key)",
    test: "packages/session/test/modernKeptResults.test.ts",
    name: "with all pages of its list"
  }
]
