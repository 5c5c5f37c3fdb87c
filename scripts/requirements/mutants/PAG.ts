import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "PAG-01",
    file: "packages/session/src/internal/client/Paging.ts",
    original: "        if (nextCursor === undefined) {\n",
    broken: "        if (nextCursor === undefined || items.length === 0) {\n",
    test: "packages/session/test/pagination.test.ts",
    name: "empty pages"
  },
  {
    id: "PAG-02",
    file: "packages/session/src/internal/client/Paging.ts",
    original: "[items, Option.some(nextCursor)]",
    broken: "[items, Option.some(nextCursor.trim())]",
    test: "packages/session/test/pagination.test.ts",
    name: "a cursor of any text is sent back unchanged"
  },
  {
    id: "PAG-03",
    file: "packages/session/src/internal/client/Paging.ts",
    original: "          return Effect.succeed([items, Option.none()] as const)\n",
    broken: "          return Effect.as(fetch(\"\"), [items, Option.none()] as const)\n",
    test: "packages/session/test/pagination.test.ts",
    name: "[PAG-03]"
  },
  {
    id: "PAG-04",
    file: "packages/session/src/internal/client/Paging.ts",
    original: "        if (nextCursor === undefined) {\n",
    broken: "        if (nextCursor === undefined || nextCursor === \"\") {\n",
    test: "packages/session/test/pagination.test.ts",
    name: "a cursor of any text is sent back unchanged"
  },
  {
    id: "PAG-07",
    file: "packages/session/src/internal/client/Paging.ts",
    original: "[items, Option.some(nextCursor)]",
    broken: "[items, Option.none()]",
    test: "packages/session/test/pagination.test.ts",
    name: "[PAG-07]"
  },
  {
    id: "PAG-05",
    file: "packages/server/src/internal/registry/Cursor.ts",
    original: "keyOfItem(item) > key",
    broken: "keyOfItem(item) >= key",
    test: "packages/server/test/lists.test.ts",
    name: "has pages, whose cursors continue after the last item although the list changes"
  },
  {
    id: "PAG-06",
    file: "packages/server/src/internal/registry/Cursor.ts",
    original: "decoded.success.startsWith(prefix)",
    broken: "decoded.success.length > 0",
    test: "packages/server/test/lists.test.ts",
    name: "rejects a cursor that is none of its own with -32602"
  },
  {
    id: "PAG-05",
    file: "packages/server/src/internal/registry/Cursor.ts",
    original: "keyOfItem(item) > key",
    broken: "keyOfItem(item) >= key",
    test: "packages/server/test/modernGroups.test.ts",
    name: "has pages of one cache scope"
  },
  {
    id: "PAG-06",
    file: "packages/server/src/internal/registry/Cursor.ts",
    original: "decoded.success.startsWith(prefix)",
    broken: "decoded.success.length > 0",
    test: "packages/server/test/modernGroups.test.ts",
    name: "rejects a cursor that is none of its own"
  },
  {
    id: "PAG-07",
    file: "packages/session/src/internal/client/Paging.ts",
    original: "          return Effect.succeed([items, Option.none()] as const)\n",
    broken: "          return Effect.succeed([[], Option.none()] as const)\n",
    test: "packages/session/test/pagination.test.ts",
    name: "[PAG-07]"
  }
]
