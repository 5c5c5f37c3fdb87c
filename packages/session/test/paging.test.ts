import { JsonRpc } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as RawServer from "./support/RawServer.ts"
import { settled, withRawServer } from "./support/sessions.ts"

const tool = (name: string) => ({ name, inputSchema: { type: "object" } })

interface Page {
  readonly names: ReadonlyArray<string>
  readonly nextCursor?: string
}

/** A server that has these pages, one for each request in turn, and remembers which cursors it was sent. */
const withPages = Effect.fnUntraced(function*(pages: ReadonlyArray<Page>) {
  const cursors: Array<unknown> = []
  const { session } = yield* withRawServer({
    result: RawServer.initializeResult({ capabilities: { tools: {} } }),
    script: (message) => {
      if (!("method" in message) || !("id" in message)) return []
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

describe("lists in pages", () => {
  const shapes: ReadonlyArray<readonly [string, ReadonlyArray<Page>]> = [
    ["one page", [{ names: ["a", "b", "c"] }]],
    ["one page of nothing", [{ names: [] }]],
    ["pages of any length", [
      { names: ["a"], nextCursor: "1" },
      { names: ["b", "c", "d"], nextCursor: "2" },
      { names: ["e", "f"] }
    ]],
    ["pages with nothing on them", [
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

  it.effect("[PAG-02] [PAG-04] a cursor is sent back as it came, whatever it looks like", () =>
    Effect.gen(function*() {
      const strange = ["", " ", "null", "0", "-1", "{\"page\":2}", "a/b?c=d&e#f%20", "漢🙂\u0000\n", "x".repeat(10_000)]
      const { all, cursors } = yield* withPages([...strange.map((nextCursor) => ({ names: ["a"], nextCursor })), {
        names: ["b"]
      }])
      assert.strictEqual((yield* all).length, strange.length + 1)
      assert.deepStrictEqual(cursors, [undefined, ...strange])
    }))

  it.effect("[PAG-02] a list that is read again begins at its beginning", () =>
    Effect.gen(function*() {
      const two: ReadonlyArray<Page> = [{ names: ["a"], nextCursor: "x" }, { names: ["b"] }]
      const { all, cursors } = yield* withPages([...two, ...two])
      assert.deepStrictEqual([yield* all, yield* all], [["a", "b"], ["a", "b"]])
      assert.deepStrictEqual(cursors, [undefined, "x", undefined, "x"])
    }))

  it.effect("[PAG-01] who has enough asks for no more pages", () =>
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
})
