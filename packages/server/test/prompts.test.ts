import { Prompt } from "@effect-mcp/protocol"
import { McpGroup, McpPrompt, McpResource } from "@effect-mcp/server"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { describeForBothEras } from "./support/eras.ts"

const cities = Array.from({ length: 150 }, (_, index) => `city ${index}`)

const Prompts = McpGroup.make(
  "prompts",
  McpPrompt.make("travel", {
    title: "Travel",
    description: "Plans a journey",
    arguments: {
      style: Schema.Literals(["by train", "by boat"]).annotate({ title: "Style", description: "How to travel" }),
      to: Schema.String,
      days: Schema.optionalKey(Schema.FiniteFromString),
      from: Schema.optionalKey(Schema.String)
    }
  }),
  McpPrompt.make("hello"),
  McpResource.template("city", { uri: "city://{country}/{name}" })
)

const live = Prompts.toLayer((handlers) =>
  handlers
    .prompt("travel", ({ days, style, to }) => Effect.succeed(`To ${to} ${style} for ${typeof days} ${days}`), {
      complete: {
        to: (_typed, others) => Effect.succeed(others["style"] === "by boat" ? ["Oslo", "Olbia"] : cities),
        from: (typed) => Effect.succeed({ values: [`${typed}?`], total: 7, hasMore: true })
      }
    })
    .prompt("hello", () => Effect.succeed([Prompt.user("Hello"), Prompt.assistant("Good morning")]))
    .template("city", ({ name }) => Effect.succeed(name), {
      complete: { name: (_typed, others) => Effect.succeed([`${others["country"]} city`]) }
    })
)

describeForBothEras("a prompt", ({ connect }) => {
  it.effect("is listed with its arguments and what their schemas say", () =>
    Effect.gen(function*() {
      const session = yield* connect(live)
      assert.deepStrictEqual((yield* session.listPrompts()).prompts, [
        { name: "hello" },
        {
          name: "travel",
          title: "Travel",
          description: "Plans a journey",
          arguments: [
            { name: "style", title: "Style", description: "How to travel", required: true },
            { name: "to", required: true },
            { name: "days", required: false },
            { name: "from", required: false }
          ]
        }
      ])
    }).pipe(Effect.scoped))

  it.effect("returns messages, and its text as a message of the user", () =>
    Effect.gen(function*() {
      const session = yield* connect(live)
      assert.deepStrictEqual(yield* session.getPrompt("travel", { style: "by boat", to: "Oslo", days: "2" }), {
        description: "Plans a journey",
        messages: [Prompt.user("To Oslo by boat for number 2")]
      })
      assert.deepStrictEqual(yield* session.getPrompt("hello"), {
        messages: [Prompt.user("Hello"), Prompt.assistant("Good morning")]
      })
    }).pipe(Effect.scoped))

  it.effect("may return a result with a description and metadata of its own", () =>
    Effect.gen(function*() {
      const result = { messages: [Prompt.user("Go")], description: "To Oslo", _meta: { "example.com/days": 3 } }
      const Travel = McpGroup.make("travel", McpPrompt.make("travel", { description: "Plans a journey" }))
      const session = yield* connect(
        Travel.toLayer((handlers) => handlers.prompt("travel", () => Effect.succeed(result)))
      )
      assert.deepStrictEqual(yield* session.getPrompt("travel"), result)
    }).pipe(Effect.scoped))

  it.effect("rejects an unknown name, missing and invalid arguments with -32602 [PRM-03] [PRM-04]", () =>
    Effect.gen(function*() {
      const session = yield* connect(live)
      for (
        const [name, input] of [
          ["bye", {}],
          ["travel", { style: "by boat" }],
          ["travel", { style: "by car", to: "Oslo" }],
          ["travel", { style: "by boat", to: "Oslo", days: "many" }]
        ] as const
      ) {
        const { reason } = yield* Effect.flip(session.getPrompt(name, input))
        assert.strictEqual(reason._tag === "ErrorResponse" ? reason.error.code : undefined, -32602)
      }
    }).pipe(Effect.scoped))
})

describeForBothEras("an argument", ({ connect }) => {
  const complete = Effect.fnUntraced(
    function*(argument: string, value: string, others: { readonly [name: string]: string } = {}) {
      const session = yield* connect(live)
      const { completion } = yield* session.complete({
        ref: { type: "ref/prompt", name: "travel" },
        argument: { name: argument, value },
        context: { arguments: others }
      })
      return completion
    }
  )

  it.effect("of literals is completed by them, whatever the case", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* complete("style", "BY T"), { values: ["by train"], total: 1, hasMore: false })
    }).pipe(Effect.scoped))

  it.effect("is completed by its completer, which knows the other arguments", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* complete("to", "o", { style: "by boat" }), {
        values: ["Oslo", "Olbia"],
        total: 2,
        hasMore: false
      })
    }).pipe(Effect.scoped))

  it.effect("has at most 100 values, and the number of all of them [CMP-02]", () =>
    Effect.gen(function*() {
      const { hasMore, total, values } = yield* complete("to", "city")
      assert.deepStrictEqual([values.length, total, hasMore], [100, 150, true])
    }).pipe(Effect.scoped))

  it.effect("has the values that its completer chose itself", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* complete("from", "x"), { values: ["x?"], total: 7, hasMore: true })
    }).pipe(Effect.scoped))

  it.effect("of a template is completed too", () =>
    Effect.gen(function*() {
      const session = yield* connect(live)
      const ref = { type: "ref/resource", uri: "city://{country}/{name}" } as const
      const { completion } = yield* session.complete({
        ref,
        argument: { name: "name", value: "" },
        context: { arguments: { country: "it" } }
      })
      assert.deepStrictEqual(completion.values, ["it city"])
    }).pipe(Effect.scoped))

  it.effect("without suggestions has none, and one that does not exist is rejected with -32602 [CMP-03] [CMP-04]", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* complete("days", "1"), { values: [], total: 0, hasMore: false })
      for (const name of ["toString", "nothing"]) {
        const { reason } = yield* Effect.flip(complete(name, ""))
        assert.strictEqual(reason._tag === "ErrorResponse" ? reason.error.code : undefined, -32602)
      }
    }).pipe(Effect.scoped))
})
