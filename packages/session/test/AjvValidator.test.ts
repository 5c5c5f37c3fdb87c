import type { JsonSchemaValidator } from "@effect-mcp/session"
import * as AjvValidator from "@effect-mcp/session/AjvValidator"
import { JsonSchemaValidatorLaws } from "@effect-mcp/testing/vitest"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { spawnSync } from "node:child_process"
import * as http from "node:http"
import * as v8 from "node:v8"
import * as vm from "node:vm"

JsonSchemaValidatorLaws.suite("Ajv", AjvValidator.make)

const compile = (schema: JsonSchemaValidator.JsonSchema, options?: AjvValidator.Options) =>
  Result.getOrThrow(AjvValidator.make(options).compile(schema))

const refused = (schema: JsonSchemaValidator.JsonSchema, options?: AjvValidator.Options) =>
  Result.getOrThrow(Result.flip(AjvValidator.make(options).compile(schema))).reason

/** What is left of the heap, in bytes, when all that nobody holds is gone. */
const heapInUse = (): number => {
  v8.setFlagsFromString("--expose-gc")
  vm.runInNewContext("gc")()
  return process.memoryUsage().heapUsed
}

/** A web server that keeps the paths it was asked for. */
const webServer = Effect.acquireRelease(
  Effect.callback<{ readonly origin: string; readonly asked: Array<string | undefined>; readonly server: http.Server }>(
    (resume) => {
      const asked: Array<string | undefined> = []
      const server = http.createServer(({ url }, response) => {
        asked.push(url)
        response.end("{}")
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" ? address?.port : undefined
        resume(Effect.succeed({ origin: `http://127.0.0.1:${port}`, asked, server }))
      })
    }
  ),
  ({ server }) => Effect.sync(() => server.close())
)

describe("AjvValidator", () => {
  it.live("[MSG-34] a server that a schema refers to is not asked, neither when it is compiled nor later", () =>
    Effect.scoped(Effect.gen(function*() {
      const { asked, origin } = yield* webServer
      const $ref = `${origin}/schema.json`
      for (const schema of [{ $ref }, { $schema: $ref }, { $id: $ref, properties: { a: { $ref: "other.json" } } }]) {
        assert.isTrue(Result.isFailure(AjvValidator.make().compile(schema)))
      }
      assert.isUndefined(compile({ $id: $ref, type: "object" })({}))
      // Whatever was sent before this request arrives before it.
      yield* Effect.promise(() => fetch(`${origin}/last`))
      assert.deepStrictEqual(asked, ["/last"])
    })))

  for (
    const dialect of [
      "http://json-schema.org/draft-07/schema#",
      "https://json-schema.org/draft-07/schema",
      "https://json-schema.org/draft/2019-09/schema"
    ]
  ) {
    it("[MSG-35] that items are distinct is found out in one go, however many there are", () => {
      const compiled = AjvValidator.make().compile({ type: "array", uniqueItems: true })
      assert.isTrue(Result.isSuccess(compiled))
      if (Result.isFailure(compiled)) return
      const check = compiled.success
      // Were each compared with each other, the test would not end in time.
      const many = Array.from({ length: 200_000 }, (_, index) => ({ index }))
      assert.isUndefined(check(many))
      assert.isString(check([...many, { index: 0 }]))
      for (
        const [distinct, items] of [
          [true, []],
          [true, [1, "1", [1], { 1: 1 }, null, "null", true]],
          [true, [{ a: 1 }, { a: 1, b: 2 }, { b: 1 }]],
          [true, [[1, 2], [2, 1]]],
          [true, [JSON.parse("{\"__proto__\":1}"), {}]],
          [false, [1, 1]],
          [false, [0, -0]],
          [false, [{ a: 1, b: { c: 2, d: [3] } }, { b: { d: [3], c: 2 }, a: 1 }]],
          [false, [[{ a: 1, b: 2 }], [{ b: 2, a: 1 }]]]
        ] as const
      ) {
        assert.strictEqual(check(items) === undefined, distinct, JSON.stringify(items))
      }
      assert.strictEqual(check([1, 1]), "must NOT have duplicate items")
      const either = AjvValidator.make().compile({ uniqueItems: false })
      assert.isTrue(Result.isSuccess(either) && either.success([1, 1]) === undefined)
    })

    it(`[MSG-33] knows the tuples of ${dialect}`, () => {
      const check = compile({ $schema: dialect, items: [{ type: "number" }], additionalItems: false })
      assert.isUndefined(check([1]))
      assert.strictEqual(check(["a"]), "must be number at [0]")
      assert.isString(check([1, 2]))
    })
  }

  it("[MSG-33] says which dialects it has", () => {
    assert.deepStrictEqual(refused({ $schema: "http://json-schema.org/draft-04/schema#" }), {
      _tag: "UnknownDialect",
      dialect: "http://json-schema.org/draft-04/schema#",
      supported: [
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema"
      ]
    })
  })

  it("a schema may refer to what a schema has to look like", () => {
    const check = compile({ properties: { schema: { $ref: "https://json-schema.org/draft/2020-12/schema" } } })
    assert.isUndefined(check({ schema: { type: "string" } }))
    assert.isString(check({ schema: { type: "text" } }))
  })

  it("[MSG-35] a schema has a largest size", () => {
    const schema = { description: "x".repeat(100) }
    const characters = JSON.stringify(schema).length
    assert.isUndefined(compile(schema, { maximumSize: characters })({}))
    assert.deepStrictEqual(refused(schema, { maximumSize: characters - 1 }), {
      _tag: "TooLarge",
      characters,
      limit: characters - 1
    })
  })

  for (
    const [reference, root] of [
      [{ $ref: "#" }, {}],
      [{ $dynamicRef: "#here" }, { $dynamicAnchor: "here" }],
      [{ $recursiveRef: "#" }, { $schema: "https://json-schema.org/draft/2019-09/schema", $recursiveAnchor: true }]
    ] as const
  ) {
    it(`[MSG-35] a check that would follow references two to the hundredth times is given up: ${JSON.stringify(reference)}`, () => {
      const check = compile({ ...root, type: "object", properties: { a: { allOf: [reference, reference] } } })
      const nested = (depth: number): object => depth === 0 ? {} : { a: nested(depth - 1) }
      assert.isUndefined(check(nested(10)))
      assert.strictEqual(check(nested(100)), "the check was given up after 1000000 references")
    })
  }

  it("a check that was given up leaves the next one its own budget", () => {
    const check = compile({ items: { $ref: "#/$defs/a" }, $defs: { a: { type: "number" } } }, { maximumReferences: 3 })
    assert.isUndefined(check([1, 2, 3]))
    assert.strictEqual(check([1, 2, 3, 4]), "the check was given up after 3 references")
    assert.isUndefined(check([1, 2, 3]))
  })

  it("$async, which would make every value fit, is refused", () => {
    assert.deepStrictEqual(refused({ $async: true, type: "number" }), {
      _tag: "Rejected",
      problem: "$async is not supported"
    })
  })

  it("patterns that JavaScript allows without the flag `u` only are understood", () => {
    const check = compile({ pattern: "^[\\w-.]+$" })
    assert.isUndefined(check("a-b.c"))
    assert.isString(check("a b"))
  })

  it("regular expressions may be another engine's", () => {
    const regExp = (pattern: string) => ({ test: (text: string) => text.includes(pattern) })
    const check = compile({
      properties: { a: { pattern: "(a" }, b: { pattern: "(b" } },
      patternProperties: { "(c": false }
    }, {
      regExp
    })
    assert.isUndefined(check({ a: "(a", b: "(b" }))
    assert.strictEqual(check({ a: "(b" }), `must match pattern "(a" at ["a"]`)
    assert.strictEqual(check({ b: "(a" }), `must match pattern "(b" at ["b"]`)
    assert.isString(check({ "(c": 1 }))
  })

  it("says what is unwanted, and how a branch failed", () => {
    const strict = compile({ properties: { "a/b~c": { additionalProperties: false } } })
    assert.strictEqual(strict({ "a/b~c": { d: 1 } }), `must NOT have additional properties at ["a/b~c"]["d"]`)
    const branch = compile({ if: true, then: { required: ["a"] } })
    assert.strictEqual(branch({}), "must have required property 'a'")
    assert.strictEqual(compile({ anyOf: [{ type: "string" }, { type: "null" }] })(1), "must match a schema in anyOf")
  })

  it("keeps the checks that were used last", () => {
    const validator = AjvValidator.make({ capacity: 2 })
    const check = (title: string) => Result.getOrThrow(validator.compile({ title }))
    const [first, second] = [check("a"), check("b")]
    assert.strictEqual(check("a"), first)
    check("c")
    assert.strictEqual(check("a"), first)
    assert.notStrictEqual(check("b"), second)
  })

  it("keeps reasons, too", () => {
    const validator = AjvValidator.make()
    const reason = () => Result.getOrThrow(Result.flip(validator.compile({ type: "text" })))
    assert.strictEqual(reason(), reason())
  })

  it("[MSG-35] a server that never lists the same schema twice takes no more and more memory", () => {
    // It keeps the code of functions for some time, in case the same text is compiled again.
    v8.setFlagsFromString("--no-compilation-cache")
    const validator = AjvValidator.make({ capacity: 4 })
    let made = 0
    const compileMore = (count: number): number => {
      for (let index = 0; index < count; index++) {
        const $id = `https://example.com/${made++}`
        const names = Array.from({ length: 20 }, (_, name) => `property ${made} ${name}`)
        const properties = Object.fromEntries(names.map((name) => [name, { type: "string", minLength: 1 }]))
        const schema = { $id, properties, $defs: { a: { $id: `${$id}/a` } }, required: names }
        assert.isString(Result.getOrThrow(validator.compile(schema))({}))
      }
      return heapInUse()
    }
    const before = compileMore(50)
    const grown = compileMore(250) - before
    // Compiled, each takes about 50,000 bytes.
    assert.isBelow(grown / 250, 5_000)
  })

  it("[MSG-35] what a schema refers to again and again is compiled once", () => {
    const many = <A>(each: (index: number) => A) =>
      Array.from({ length: 150 }, (_, index) => [`p${index}`, each(index)])
    const referred = { properties: Object.fromEntries(many(() => ({ type: "string" }))) }
    const properties = Object.fromEntries(many(() => ({ $ref: "#/$defs/referred" })))
    const before = heapInUse()
    const check = compile({ properties, $defs: { referred } })
    // Copied in, it would be ten million characters of code.
    assert.isBelow(heapInUse() - before, 3_000_000)
    assert.strictEqual(check({ p149: { p149: 1 } }), `must be string at ["p149"]["p149"]`)
  })

  it("where code must not be generated, no schema can be used, and it says so", () => {
    const script = `
      import * as AjvValidator from "@effect-mcp/session/AjvValidator"
      const { failure } = AjvValidator.make().compile({ type: "object" })
      console.log(failure.message)
    `
    const { stderr, stdout } = spawnSync(
      process.execPath,
      ["--disallow-code-generation-from-strings", "--input-type=module", "--eval", script],
      { cwd: import.meta.dirname, encoding: "utf8" }
    )
    assert.match(stdout, /^unsupported schema: Code generation from strings disallowed/, stderr)
  })
})
