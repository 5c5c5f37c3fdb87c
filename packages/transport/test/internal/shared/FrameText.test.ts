import { HostileText } from "@effect-mcp/testing/arbitrary"
import { assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as FrameText from "../../../src/internal/shared/FrameText.ts"

/** Counts the arrays, objects and members of a parsed value. */
const nodesOf = (value: unknown): number => {
  let nodes = 0
  const left: Array<unknown> = [value]
  while (left.length > 0) {
    const next = left.pop()
    if (typeof next !== "object" || next === null) continue
    const inside: ReadonlyArray<unknown> = Object.values(next)
    nodes += Array.isArray(next) ? 1 : 1 + inside.length
    for (const value of inside) left.push(value)
  }
  return nodes
}

const nodesIn = (text: string): number => {
  const parsed = FrameText.parse(text, 0)
  return Result.isFailure(parsed) && parsed.failure._tag === "TooComplex" ? parsed.failure.nodes : 0
}

describe("the text of a frame", () => {
  it("law 12: counts its arrays, objects and members, and ignores the contents of strings", () => {
    assert.deepStrictEqual(
      ["1", "\"[{:\"", "[]", "[[],[]]", "{\"a\":[1,2,3]}", "[\"\\\"[\",{}]", "{\"\\\\\":\"\\\\\\\"{\"}", "\"\\\\\""]
        .map(nodesIn),
      [0, 0, 1, 3, 3, 2, 2, 0]
    )
  })

  // A duplicate name is one member of the value, and two of the text.
  it.effect.prop(
    "law 12: counts at least the nodes of its value",
    { text: HostileText.json },
    ({ text }) => Effect.sync(() => assert.isAtLeast(nodesIn(text), nodesOf(JSON.parse(text))))
  )

  it("is parsed up to the limit, and rejected above it", () => {
    const text = "[[],[],{\"a\":1}]"
    assert.deepStrictEqual(FrameText.parse(text, 5), Result.succeed([[], [], { a: 1 }]))
    assert.deepStrictEqual(FrameText.parse(text, 4), Result.fail({ _tag: "TooComplex", nodes: 5, limitNodes: 4 }))
    const bytes = new TextEncoder().encode(text)
    assert.deepStrictEqual(FrameText.parseBytes(bytes, 4), FrameText.parse(text, 4))
  })

  it("may have 100,000 nodes by default, also if they are nested", () => {
    const deep = (depth: number) => "[".repeat(depth) + "]".repeat(depth)
    assert.isTrue(Result.isSuccess(FrameText.parse(deep(100_000), FrameText.defaultMaxNodes)))
    assert.deepStrictEqual(
      FrameText.parse(deep(100_001), FrameText.defaultMaxNodes),
      Result.fail({ _tag: "TooComplex", nodes: 100_001, limitNodes: 100_000 })
    )
  })

  it("law 12: is not parsed if it begins like no JSON value, because an error takes time", () => {
    const parse = vi.spyOn(JSON, "parse")
    const others = ["", " \n", "x", " \t\r\nlog: {}", "\u00a0{}", "\ufeff{}", "}", "<p>", "'{}'"]
    const parsed = others.map((text) => FrameText.parse(text, 100))
    const calls = parse.mock.calls.length
    parse.mockRestore()
    assert.deepStrictEqual(parsed, others.map((text) => Result.fail({ _tag: "NotJson", text })))
    assert.strictEqual(calls, 0)
  })

  it("may begin with white space, and may be any JSON value", () => {
    for (const text of [" \t\r\n{}", "[]", "\"x\"", "-1", "0", "true", "false", " null "]) {
      assert.deepStrictEqual(FrameText.parse(text, 100), Result.succeed(JSON.parse(text)))
    }
  })

  it("is not JSON if it ends inside a string", () => {
    for (const text of ["\"", "\"\\", "[\"\\\""]) {
      assert.deepStrictEqual(
        FrameText.parse(text, 0),
        nodesIn(text) > 0
          ? Result.fail({ _tag: "TooComplex", nodes: 1, limitNodes: 0 })
          : Result.fail({ _tag: "NotJson", text })
      )
    }
  })
})
