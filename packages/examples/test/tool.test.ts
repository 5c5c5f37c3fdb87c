/** The JSON Schemas of tools that are made of schemas (`tool.ts`). */
import type { Tool as Protocol } from "@effect-mcp/protocol"
import * as AjvValidator from "@effect-mcp/session/AjvValidator"
import { TestSession } from "@effect-mcp/testing"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Tool from "../src/tool.ts"

class Point extends Schema.Class<Point>("acme/Point ~2%")({ x: Schema.Finite, y: Schema.Finite }) {}

class Line extends Schema.Class<Line>("Line")({ from: Point, to: Point }) {}

interface Tree {
  readonly at: Point
  readonly branches: ReadonlyArray<Tree>
}

const Tree = Schema.Struct({
  at: Point,
  branches: Schema.Array(Schema.suspend((): Schema.Codec<Tree, unknown> => Tree))
}).annotate({ identifier: "Tree" })

const here = { x: 0, y: 0 }

const cases: ReadonlyArray<
  readonly [kind: string, input: Schema.Codec<unknown, unknown>, valid: object, invalid: object]
> = [
  ["a class", Point, here, { x: 0 }],
  ["a class of classes", Line, { from: here, to: here }, { from: here, to: { x: 0 } }],
  ["a struct of classes", Schema.Struct({ at: Point }), { at: here }, { at: 0 }],
  ["a recursive schema", Tree, { at: here, branches: [{ at: here, branches: [] }] }, {
    at: here,
    branches: [{ at: here }]
  }],
  ["a union of classes", Schema.Union([Point, Line]), { from: here, to: here }, { from: here }]
]

const validator = AjvValidator.make()

const problemOf = (schema: Protocol.ObjectSchema, value: unknown): string | undefined => {
  const check = validator.compile(schema)
  return Result.isSuccess(check) ? check.success(value) : assert.fail(check.failure.message)
}

const annotations = { readOnlyHint: true }

it.effect.each(cases)(
  "the schemas of a tool whose input and output are %s contain their definitions",
  ([, input, valid, invalid]) =>
    Effect.gen(function*() {
      const tool = Tool.make("echo", {
        title: "Echo",
        description: "Returns its input.",
        annotations,
        input,
        output: input,
        run: () => Effect.succeed(Tool.structured({ ...valid }))
      })
      const { client } = yield* TestSession.make(Tool.handlers([tool]), { client: { validator } })
      const [listed] = (yield* client.listTools()).tools
      assert(listed?.outputSchema !== undefined)
      for (const schema of [listed.inputSchema, listed.outputSchema]) {
        assert.strictEqual(schema.type, "object")
        assert.notProperty(schema, "$ref")
        assert.isUndefined(problemOf(schema, valid))
        assert.isDefined(problemOf(schema, invalid))
      }
      const result = yield* client.callTool("echo", { ...valid })
      assert.deepStrictEqual(result.structuredContent, valid)
      assert.isTrue((yield* client.callTool("echo", { ...invalid })).isError)
    }).pipe(Effect.scoped)
)
