import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "PAG-01",
    at: "Paging.stream",
    original: "nextCursor === undefined",
    broken: "nextCursor === undefined || items.length === 0",
    test: "packages/session/test/pagination.test.ts",
    name: "empty pages"
  },
  {
    id: "PAG-02",
    at: "Paging.stream",
    original: "Option.some(nextCursor)",
    broken: "Option.some(nextCursor.trim())",
    test: "packages/session/test/pagination.test.ts",
    name: "a cursor of any text is sent back unchanged"
  },
  {
    id: "PAG-03",
    at: "Paging.stream",
    original: "Effect.succeed([items, Option.none()] as const)",
    broken: "Effect.as(fetch(\"\"), [items, Option.none()] as const)",
    test: "packages/session/test/pagination.test.ts",
    name: "[PAG-03]"
  },
  {
    id: "PAG-04",
    at: "Paging.stream",
    original: "nextCursor === undefined",
    broken: "nextCursor === undefined || nextCursor === \"\"",
    test: "packages/session/test/pagination.test.ts",
    name: "a cursor of any text is sent back unchanged"
  },
  {
    id: "PAG-07",
    at: "Paging.stream",
    original: "Option.some(nextCursor)",
    broken: "Option.none()",
    test: "packages/session/test/pagination.test.ts",
    name: "[PAG-07]"
  },
  {
    id: "PAG-05",
    at: "Cursor.indexAfter",
    original: "keyOfItem(item) > key",
    broken: "keyOfItem(item) >= key",
    test: "packages/server/test/lists.test.ts",
    name: "has pages, whose cursors continue after the last item although the list changes"
  },
  {
    id: "PAG-06",
    at: "Cursor.keyOf",
    original: "decoded.success.startsWith(prefix)",
    broken: "decoded.success.length > 0",
    test: "packages/server/test/lists.test.ts",
    name: "rejects a cursor that is none of its own with -32602"
  },
  {
    id: "PAG-05",
    at: "Cursor.indexAfter",
    original: "keyOfItem(item) > key",
    broken: "keyOfItem(item) >= key",
    test: "packages/server/test/modernGroups.test.ts",
    name: "has pages of one cache scope"
  },
  {
    id: "PAG-06",
    at: "Cursor.keyOf",
    original: "decoded.success.startsWith(prefix)",
    broken: "decoded.success.length > 0",
    test: "packages/server/test/modernGroups.test.ts",
    name: "rejects a cursor that is none of its own"
  },
  {
    id: "PAG-07",
    at: "Paging.stream",
    original: "[items, Option.none()]",
    broken: "[[], Option.none()]",
    test: "packages/session/test/pagination.test.ts",
    name: "[PAG-07]"
  }
]
