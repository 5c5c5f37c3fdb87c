import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { input, output } from "./toolSchemas.ts"

/** Returns the problem with arguments. */
const problem = (schema: Schema.Codec<unknown, unknown>, value: unknown, onExcessProperty?: "error"): string => {
  const exit = Effect.runSyncExit(input(schema, onExcessProperty).decode(value))
  const failure = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason) : undefined
  return failure?.error.problem ?? "none"
}

const bytes = (text: string): number => new TextEncoder().encode(text).length

interface Tree {
  readonly children: ReadonlyArray<Tree>
}
const Tree: Schema.Codec<Tree> = Schema.Struct({
  children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree))
})

class Prefix extends Context.Service<Prefix, string>()("test/Prefix") {}
const prefixed = Schema.String.pipe(Schema.decodeTo(
  Schema.String,
  {
    decode: SchemaGetter.transformEffect((text: string) => Effect.map(Prefix, (prefix) => prefix + text)),
    encode: SchemaGetter.transformEffect((text: string) => Effect.map(Prefix, (prefix) => text.slice(prefix.length)))
  }
))

describe("decoding", () => {
  it("and encoding are exits that need no fiber", () => {
    class Task extends Schema.Class<Task>("Task")({ id: Schema.Int, due: Schema.Date }) {}
    const task = new Task({ id: 1, due: new Date(0) })
    const json = { id: 1, due: "1970-01-01T00:00:00.000Z" }
    assert.deepStrictEqual(input(Task).decode(json), Exit.succeed(task))
    assert.deepStrictEqual(output(Task).encode(task), Exit.succeed(json))
  })

  it("ignores excess properties, or reports them", () => {
    const schema = Schema.Struct({ a: Schema.Int })
    assert.deepStrictEqual(input(schema).decode({ a: 1, b: 2 }), Exit.succeed({ a: 1 }))
    assert.strictEqual(problem(schema, { a: 1, b: 2 }, "error"), "b: Expected no excess property, got 2")
  })

  it("rejects arguments that are no object", () => {
    for (const value of [undefined, null, 1, "a", [1]]) {
      assert.strictEqual(problem(Schema.Struct({}), value), "the arguments: Expected an object")
    }
  })

  it.effect("uses the services of the schema", () =>
    Effect.gen(function*() {
      const schema = Schema.Struct({ a: prefixed, b: Schema.Int })
      assert.deepStrictEqual(yield* input(schema).decode({ a: "x", b: 1 }), { a: ">x", b: 1 })
      assert.deepStrictEqual(yield* output(schema).encode({ a: ">x", b: 1 }), { a: "x", b: 1 })
      assert.containSubset(yield* Effect.flip(input(schema).decode({ a: "x", b: "y" })), {
        problem: "b: Expected number, got \"y\""
      })
    }).pipe(Effect.provideService(Prefix, ">")))

  it("reports an exception of a transformation as a defect", () => {
    const broken = Schema.String.pipe(Schema.decodeTo(
      Schema.String,
      SchemaTransformation.transform({
        decode: () => {
          throw new Error("broken")
        },
        encode: (text: string) => text
      })
    ))
    const exit = Effect.runSyncExit(input(Schema.Struct({ a: broken })).decode({ a: "x" }))
    assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
  })
})

describe("the problem of a misfit", () => {
  it("names each place, what was expected, and what was received", () => {
    const schema = Schema.Struct({
      name: Schema.String,
      count: Schema.Int,
      due: Schema.Date,
      tasks: Schema.Array(Schema.Struct({ "an id": Schema.FiniteFromString })),
      kind: Schema.Literals(["a", "b"]),
      either: Schema.Union([Schema.String, Schema.Struct({ x: Schema.Int })])
    })
    const value = { count: 1.5, due: "soon", tasks: [{ "an id": "x" }, null], kind: ["a"], either: 1 }
    assert.deepStrictEqual(problem(schema, value).split("\n"), [
      "name: Missing key",
      "count: Expected an integer, got 1.5",
      "due: Expected a valid Date, got \"soon\"",
      "tasks[0][\"an id\"]: Expected a finite number, got \"x\"",
      "tasks[1]: Expected object, got null",
      "kind: Expected \"a\" | \"b\", got an array",
      "either: Expected string | object, got 1"
    ])
  })

  it("uses the messages of the schema", () => {
    const schema = Schema.Struct({
      a: Schema.String.check(Schema.makeFilter((text: string) => text !== "x" || "not x, please")),
      b: Schema.String.annotateKey({ messageMissingKey: "b is needed" })
    })
    assert.strictEqual(problem(schema, { a: "x" }), "a: not x, please, got \"x\"\nb: b is needed")
  })

  it("is bounded for a value with many misfits, long names and long texts", () => {
    const schema = Schema.Struct({ a: Schema.Array(Schema.Int), b: Schema.Record(Schema.String, Schema.Int) })
    const long = "é".repeat(100_000)
    const b = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`${index}${long}`, long]))
    const many = problem(schema, { a: [], b })
    assert.isAtMost(bytes(many), 4096)
    assert.match(many, /… and \d+ more$/)
    // More than a thousand values: only the first misfit is searched for.
    const large = problem(schema, { a: Array.from({ length: 300_000 }, () => "x"), b: {} })
    assert.strictEqual(large, "a[0]: Expected number, got \"x\"")
  })

  it("is bounded for a deep path and a long message", () => {
    let deep: unknown = { children: [{ children: 1 }] }
    for (let depth = 0; depth < 100; depth++) deep = { children: [deep] }
    assert.match(problem(Tree, deep), /^children\[0\]\.children.{0,500}…: Expected array, got 1$/)
    const verbose = Schema.String.check(Schema.makeFilter(() => "no ".repeat(10_000)))
    assert.isBelow(bytes(problem(Schema.Struct({ a: verbose }), { a: "" })), 1024)
  })

  it("of a value that is nested too deeply is not a defect", () => {
    let deep: unknown = { children: [] }
    for (let depth = 0; depth < 100_000; depth++) deep = { children: [deep] }
    assert.strictEqual(problem(Tree, deep), "the arguments: nested too deeply")
  })

  it("shows nothing of a member that an object inherits", () => {
    assert.strictEqual(problem(Schema.Struct({ toString: Schema.String }), {}), "toString: Expected string")
  })
})

describe("encoding", () => {
  it("fails for a value that the schema does not accept", () => {
    const { encode } = output(Schema.Struct({ a: Schema.Int, due: Schema.Date }))
    assert.containSubset(Effect.runSync(Effect.flip(encode({ a: 1.5, due: new Date(Number.NaN) }))), {
      problem: "a: Expected an integer, got 1.5\ndue: Expected a valid Date, got an object"
    })
  })

  it("keeps NaN and bigint, which JSON does not have", () => {
    const { encode } = output(Schema.Struct({ a: Schema.Number, b: Schema.BigInt, c: Schema.optional(Schema.Date) }))
    assert.deepStrictEqual(Effect.runSync(encode({ a: Number.NaN, b: 1n, c: undefined })), {
      a: "NaN",
      b: "1",
      c: null
    })
  })

  it("fails for a value of Schema.Any or Schema.Unknown that is no JSON", () => {
    for (const schema of [Schema.Struct({ a: Schema.Any }), Schema.Struct({ a: Schema.Unknown })]) {
      const { encode } = output(schema)
      assert.isTrue(Exit.isSuccess(Effect.runSyncExit(encode({ a: [1, { b: null }] }))))
      for (const a of [1n, () => 1, Number.NaN, new Map(), undefined]) {
        assert.isTrue(Exit.isFailure(Effect.runSyncExit(encode({ a }))))
      }
    }
  })

  it("fails for what is no object if the schema says object", () => {
    const { encode } = output(Schema.Struct({}))
    assert.deepStrictEqual(encode({}), Exit.succeed({}))
    for (const value of ["a", [1]]) {
      assert.containSubset(Effect.runSync(Effect.flip(encode(value))), { problem: "the result: Expected an object" })
    }
  })
})
