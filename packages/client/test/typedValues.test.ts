/** The values of schemas survive the way to a server and back, as arguments, results and failures. */
import { McpClient, McpTarget } from "@effect-mcp/client"
import { type Revision } from "@effect-mcp/protocol"
import { McpGroup, McpServer } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type AnySchema, composed, leaves } from "./support/schemas.ts"

const info = { name: "test", version: "0.0.0" }

/** The two eras by their newest revisions. */
const eras: ReadonlyArray<Revision.Revision> = ["2025-11-25", "2026-07-28"]

/** Defines tools that return the value, show it to models in another form, and fail with it. */
const echoes = (schema: AnySchema) => {
  const parameters = Schema.Struct({ value: schema })
  return McpGroup.make(
    "echoes",
    Tool.make("echo", { parameters, success: schema }),
    Tool.make("describe", { parameters, success: schema, toModelOutput: () => [] }),
    Tool.make("reject", { parameters, failure: schema })
  )
}

/** Returns what the tools do with values that are unlike those which were sent. */
const changed = Effect.fnUntraced(function*(
  schema: AnySchema,
  values: ReadonlyArray<unknown>,
  revision: Revision.Revision
) {
  const group = echoes(schema)
  const live = group.toLayer((handlers) =>
    handlers
      .tool("echo", ({ value }) => Effect.succeed(value))
      .tool("describe", ({ value }) => Effect.succeed(value))
      .tool("reject", ({ value }) => Effect.fail(value))
  )
  const target = McpTarget.transport(McpServer.layerMemory(live, { info }))
  const client = yield* McpClient.make(target, { info, revisions: [revision] })
  assert.strictEqual((yield* client.session).profile.revision, revision)
  const { tools } = client.of(group)
  const equals = Schema.toEquivalence(schema)
  const outcomes = yield* Effect.forEach(values, (value) =>
    Effect.map(
      Effect.all({
        echo: Effect.result(tools.echo({ value })),
        describe: Effect.result(tools.describe({ value })),
        reject: Effect.map(Effect.result(tools.reject({ value })), Result.flip)
      }),
      Object.entries<Result.Result<unknown, unknown>>
    ).pipe(Effect.map((results) =>
      results.flatMap(([tool, result]) =>
        Result.isSuccess(result) && isOf(schema, result.success) && equals(result.success, value)
          ? []
          : [{ tool, value, result }]
      )
    )))
  return outcomes.flat()
}, Effect.scoped)

const isOf = (schema: AnySchema, value: unknown): boolean => Schema.is(schema)(value)

/** Returns whether the JSON codec of a schema itself preserves a value: that of a union may not. */
const isPreserved = (schema: AnySchema) => {
  const codec = Schema.toCodecJson(schema)
  const encode = Schema.encodeUnknownEffect(codec)
  const decode = Schema.decodeUnknownEffect(codec)
  const equals = Schema.toEquivalence(schema)
  return (value: unknown): Effect.Effect<boolean> =>
    Effect.match(Effect.flatMap(encode(value), (json) => decode(JSON.parse(JSON.stringify(json)))), {
      onSuccess: (decoded) => isOf(schema, decoded) && equals(decoded, value),
      onFailure: () => false
    })
}

const samples = (schema: AnySchema, count: number): Effect.Effect<ReadonlyArray<unknown>> =>
  Effect.orDie(Arbitrary.sampleEffect(Arbitrary.schema(schema), { count, seed: 1 }))

describe("a value of a definition survives the way both ways", () => {
  for (const revision of eras) {
    for (const [name, schema] of leaves) {
      it.effect(`in ${revision}: ${name}`, () =>
        Effect.gen(function*() {
          const values = yield* Effect.filter(yield* samples(schema, 50), isPreserved(schema))
          assert.isAbove(values.length, 40)
          assert.deepStrictEqual(yield* changed(schema, values, revision), [])
        }))
    }

    it.effect(`in ${revision}: compositions of schemas`, () =>
      Effect.gen(function*() {
        let checked = 0
        for (let seed = 0; seed < 150; seed++) {
          const [name, schema] = composed(seed)
          const values = yield* Effect.filter(yield* samples(schema, 8), isPreserved(schema))
          checked += values.length
          assert.deepStrictEqual(yield* changed(schema, values, revision), [], `seed ${seed}: ${name}`)
        }
        assert.isAbove(checked, 1000)
      }), 60_000)
  }
})
