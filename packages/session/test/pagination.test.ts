import { JsonRpc } from "@effect-mcp/protocol"
import type { Limits } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { SeenCursors } from "../src/internal/client/Paging.ts"
import * as RawServer from "./support/RawServer.ts"
import { settled, withRawServer } from "./support/sessions.ts"

const tool = (name: string) => ({ name, inputSchema: { type: "object" } })

interface Page {
  readonly names: ReadonlyArray<string>
  readonly nextCursor?: string
}

/** Makes a client of a server that returns these pages, one for each request, and a record of the cursors it sent. */
const withPages = Effect.fnUntraced(function*(pages: ReadonlyArray<Page>, limits: Limits.Options = {}) {
  const cursors: Array<unknown> = []
  const { session } = yield* withRawServer({
    result: RawServer.initializeResult({ capabilities: { tools: {} } }),
    client: { limits },
    script: (message) => {
      if (!JsonRpc.isRequest(message)) return []
      const page = pages[cursors.length]
      cursors.push(message.params?.["cursor"])
      const { names, ...rest } = page ?? { names: [] }
      return [JsonRpc.success(message.id, { tools: names.map(tool), ...rest })]
    }
  })
  return {
    session,
    cursors,
    all: Effect.map(Stream.runCollect(session.tools), (tools) => tools.map(({ name }) => name))
  }
})

describe("pagination of lists", () => {
  const shapes: ReadonlyArray<readonly [string, ReadonlyArray<Page>]> = [
    ["one page", [{ names: ["a", "b", "c"] }]],
    ["one empty page", [{ names: [] }]],
    ["pages of any length", [
      { names: ["a"], nextCursor: "1" },
      { names: ["b", "c", "d"], nextCursor: "2" },
      { names: ["e", "f"] }
    ]],
    ["empty pages", [
      { names: [], nextCursor: "1" },
      { names: ["a"], nextCursor: "2" },
      { names: [], nextCursor: "3" },
      { names: [] }
    ]]
  ]

  for (const [what, pages] of shapes) {
    it.effect(`[PAG-01] [PAG-03] [PAG-07] ${what}`, () =>
      Effect.gen(function*() {
        const { all, cursors } = yield* withPages(pages)
        assert.deepStrictEqual(yield* all, pages.flatMap(({ names }) => names))
        assert.strictEqual(cursors.length, pages.length)
      }))
  }

  it.effect("[PAG-02] [PAG-04] a cursor of any text is sent back unchanged", () =>
    Effect.gen(function*() {
      const unusual = ["", " ", "null", "0", "-1", "{\"page\":2}", "a/b?c=d&e#f%20", "漢🙂\u0000\n", "x".repeat(10_000)]
      const { all, cursors } = yield* withPages([...unusual.map((nextCursor) => ({ names: ["a"], nextCursor })), {
        names: ["b"]
      }])
      assert.strictEqual((yield* all).length, unusual.length + 1)
      assert.deepStrictEqual(cursors, [undefined, ...unusual])
    }))

  it.effect("[PAG-02] a list that is read again starts without a cursor", () =>
    Effect.gen(function*() {
      const two: ReadonlyArray<Page> = [{ names: ["a"], nextCursor: "x" }, { names: ["b"] }]
      const { all, cursors } = yield* withPages([...two, ...two])
      assert.deepStrictEqual([yield* all, yield* all], [["a", "b"], ["a", "b"]])
      assert.deepStrictEqual(cursors, [undefined, "x", undefined, "x"])
    }))

  it.effect("[PAG-01] a stream that ends early requests no more pages", () =>
    Effect.gen(function*() {
      const { cursors, session } = yield* withPages([
        { names: ["a", "b"], nextCursor: "1" },
        { names: ["c"], nextCursor: "2" },
        { names: ["d"] }
      ])
      const some = yield* Stream.runCollect(Stream.take(session.tools, 3))
      yield* settled
      assert.deepStrictEqual(some.map(({ name }) => name), ["a", "b", "c"])
      assert.deepStrictEqual(cursors, [undefined, "1"])
    }))

  it.effect("a cursor of more than 65,536 characters is not sent back, and is cut in the error", () =>
    Effect.gen(function*() {
      const longest = "x".repeat(65_536)
      const { all, cursors } = yield* withPages([
        { names: ["a"], nextCursor: longest },
        { names: ["b"], nextCursor: `${longest}x` }
      ])
      const { reason } = yield* Effect.flip(all)
      assert.deepStrictEqual(reason, {
        _tag: "InvalidResult",
        problem: `the cursor "${"x".repeat(100)}…" has 65537 characters; at most 65536 are sent back`
      })
      assert.deepStrictEqual(cursors, [undefined, longest])
    }))

  it.effect("a list of more pages than maxPages fails after the last allowed page", () =>
    Effect.gen(function*() {
      const pages = ["1", "2", "3"].map((nextCursor) => ({ names: ["a"], nextCursor }))
      const { all } = yield* withPages([...pages.slice(0, 2), { names: ["b"] }], { maxPages: 3 })
      assert.lengthOf(yield* all, 3)
      const endless = yield* withPages(pages, { maxPages: 3 })
      const { reason } = yield* Effect.flip(endless.all)
      assert.isTrue(reason._tag === "InvalidResult" && reason.problem.includes("more than 3 pages"))
      assert.lengthOf(endless.cursors, 3)
    }))
})

describe("the cursors of a list", () => {
  it("are stored up to 262,144 characters in total", () => {
    for (const [characters, pages] of [[100, 5_000], [65_536, 60]] as const) {
      const seen = new SeenCursors()
      let most = 0
      for (let page = 0; page < pages; page++) {
        if (!seen.add(String(page).padEnd(characters, "x"))) assert.fail(`page ${page} is reported as repeated`)
        most = Math.max(most, seen.characters)
      }
      assert.isAtMost(most, 262_144)
      assert.isAtLeast(most, 262_144 - characters)
    }
  })

  it("detect a loop of any length and start, and a short loop at its first repetition", () => {
    for (const before of [0, 3, 1_000]) {
      for (const length of [1, 2, 7, 1_000, 3_000]) {
        const seen = new SeenCursors()
        const cursorOf = (page: number) =>
          String(page < before ? page : before + (page - before) % length).padStart(200, "x")
        let page = 0
        while (seen.add(cursorOf(page))) page++
        if (length <= 1_000) assert.strictEqual(page, before + length)
        assert.isAtMost(page, 4 * (before + length))
      }
    }
  })
})
