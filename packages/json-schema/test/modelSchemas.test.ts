/** Schemas for models accept what the schemas of servers accept. `AjvValidator` judges both. */
import { AjvValidator } from "@effect-mcp/json-schema"
import { ModelSchema, type Tool } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

interface Json {
  readonly [name: string]: unknown
}

type Some<A> = readonly [A, ...ReadonlyArray<A>]

// Providers do not accept the last one as the name of an argument.
const names: Some<string> = ["a", "b", "xc", "x[d]"]
const patterns: Some<string> = ["^x", "b", "x_d"]
const scalars: Some<unknown> = ["", "a", "x[d]", 0, 1, 2.5, true, null]

/** Makes schemas and values of a seed. Numbers are those of the generator mulberry32. */
class Random {
  #state: number
  readonly #isOld: boolean

  constructor(seed: number) {
    this.#state = seed
    this.#isOld = this.below(3) === 0
  }

  below(count: number): number {
    this.#state = (this.#state + 0x6D2B79F5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count
  }

  of<A>(values: Some<A>): A {
    return values[this.below(values.length)] ?? values[0]
  }

  list<A>(most: number, make: () => A): Array<A> {
    return Array.from({ length: this.below(most + 1) }, make)
  }

  record<A>(names: Some<string>, most: number, make: () => A): { [name: string]: A } {
    return Object.fromEntries(this.list(most, () => [this.of(names), make()] as const))
  }

  value(depth: number): unknown {
    const kind = this.below(depth > 2 ? 4 : 6)
    return kind < 4 ? this.of(scalars) : kind === 4 ? this.list(3, () => this.value(depth + 1)) : this.object(depth + 1)
  }

  object(depth = 0): Json {
    return this.record(names, 4, () => this.value(depth))
  }

  rootSchema(): Tool.ObjectSchema {
    return {
      ...this.#isOld ? { $schema: "http://json-schema.org/draft-07/schema#" } : undefined,
      ...this.#objectSchema(0, 1),
      type: "object",
      // A definition refers to later ones only.
      $defs: { 1: this.#schema(2, 2), "2/": this.#schema(2, 3), 3: this.#schema(2, 4) },
      definitions: { 4: this.#schema(2, 5) }
    }
  }

  #schema(depth: number, next: number): unknown {
    const kind = this.below(depth > 4 ? 6 : 12)
    if (kind === 0) return this.of<unknown>([true, false, {}])
    if (kind < 6) return this.#scalarSchema()
    if (kind === 6) return this.#arraySchema(depth, next)
    return { ...this.#objectSchema(depth, next), ...this.below(2) === 0 ? { type: "object" } : undefined }
  }

  #scalarSchema(): Json {
    return this.of<() => Json>([
      () => ({ type: this.of<unknown>(["string", "integer", "boolean", ["string", "null"], "number"]) }),
      () => ({ type: "string", nullable: true }),
      () => ({ const: this.of(scalars) }),
      () => ({ enum: [this.of(scalars), 7] }),
      () => ({ type: "number", maximum: 1, minimum: 0 }),
      () => ({ maxLength: 1, pattern: this.of(patterns) })
    ])()
  }

  #arraySchema(depth: number, next: number): Json {
    const schema = () => this.#schema(depth + 1, next)
    const keyword = this.of<() => Json>([
      () => ({ type: "array", items: schema(), minItems: 1 }),
      () => ({ contains: schema() }),
      () =>
        this.#isOld ? { items: [schema()], additionalItems: schema() } : { prefixItems: [schema()], items: schema() },
      () => this.#isOld ? {} : { unevaluatedItems: false, contains: schema(), maxContains: 1 },
      () => ({ items: { $ref: "#" } })
    ])
    return keyword()
  }

  #objectSchema(depth: number, next: number): Json {
    const schema = () => this.#schema(depth + 1, next)
    const schemas = () => [schema(), ...this.list(2, schema)]
    const some = () => [...new Set(this.list(2, () => this.of(names)))]
    const properties = () => ({ properties: this.record(names, 3, schema) })
    const targets = ["#/$defs/1", "#/$defs/2~1", "#/$defs/3", "#/definitions/4"].slice(next - 1)
    const own: Some<() => Json> = this.#isOld
      ? [() => ({ dependencies: { [this.of(names)]: this.of([some(), schema()]) } })]
      : [
        () => ({ dependentRequired: { a: some() } }),
        () => ({ dependentSchemas: this.record(names, 2, schema) }),
        () => ({ unevaluatedProperties: this.of([false, schema()]) })
      ]
    const keyword = () =>
      this.of<() => Json>([
        ...own,
        properties,
        properties,
        () => ({ ...properties(), additionalProperties: false }),
        () => ({ required: some() }),
        () => ({ additionalProperties: this.of([false, true, schema()]) }),
        () => ({ patternProperties: this.record(patterns, 2, schema) }),
        () => ({ propertyNames: { pattern: this.of(patterns) } }),
        () => ({ minProperties: 1, maxProperties: 3 }),
        () => ({ allOf: schemas() }),
        () => ({ anyOf: schemas() }),
        () => ({ oneOf: schemas() }),
        () => ({ not: schema() }),
        () => ({ if: schema(), then: schema(), ...this.below(2) === 0 ? { else: schema() } : undefined }),
        () => ({ properties: { a: { $ref: "#" } } }),
        () => targets.length === 0 ? {} : { $ref: targets[this.below(targets.length)] }
      ])()
    return Object.assign({}, ...this.list(3, keyword))
  }
}

const validator = AjvValidator.make()

const checkOf = (schema: Json) => Result.getOrThrow(validator.compile(schema))

/** Returns what the schema for a model accepts of the given arguments, with its names. */
const modelCheckOf = (schema: Tool.ObjectSchema) => {
  const { names, schema: converted } = Result.getOrThrow(ModelSchema.of(schema))
  const check = checkOf(converted)
  const given = new Map(Array.from(names, ([given, name]) => [name, given]))
  return (value: Json) =>
    check(Object.fromEntries(Object.entries(value).map(([name, member]) => [given.get(name) ?? name, member])))
}

describe("what the schema of a server accepts", () => {
  it("the schema for a model accepts", () => {
    for (let seed = 0; seed < 100; seed++) {
      const random = new Random(seed)
      const schema = random.rootSchema()
      const [server, folded, model] = [checkOf(schema), checkOf(ModelSchema.fold(schema)), modelCheckOf(schema)]
      for (let run = 0; run < 50; run++) {
        const value = random.object()
        if (server(value) !== undefined) continue
        const problems = [folded(value), model(value)]
        assert.deepStrictEqual(problems, [undefined, undefined], JSON.stringify([seed, schema, value]))
      }
    }
  })

  it("the schema for a model accepts also if a pattern is one of another language", () => {
    for (const name of ["a", "x[d]"]) {
      const check = modelCheckOf({
        type: "object",
        properties: { [name]: { type: "object", patternProperties: { "(?i)^x": {} }, additionalProperties: false } },
        patternProperties: { "(?i)^x": { type: "string" } },
        additionalProperties: false
      })
      assert.isUndefined(check({ [name]: { X: 1 }, X: "a" }))
    }
  })
})
