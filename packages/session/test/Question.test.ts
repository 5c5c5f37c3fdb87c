/** Handlers that return their questions, with clients of both eras. */
import { Content, McpError, type Revision } from "@effect-mcp/protocol"
import { MemoryTransport, Question, type RequestContext, type RequestError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { Scope } from "effect/Scope"
import { ask, converse, serverOf } from "./support/rounds.ts"
import { client, server } from "./support/sessions.ts"

type Answering = Effect.Effect<unknown, RequestError.RequestError, RequestContext.RequestContext>

const asking = (key: string, message: string = key) => Question.make(key, (options) => ask(message, options))

/** Calls a handler, and returns its result and the questions that the client got. */
const clients: ReadonlyArray<{
  readonly name: Revision.Revision
  readonly call: (
    handler: Answering
  ) => Effect.Effect<{ readonly asked: ReadonlyArray<string>; readonly result: unknown }, unknown, Scope>
}> = [
  {
    name: "2025-11-25",
    call: Effect.fnUntraced(function*(handler) {
      const pair = yield* MemoryTransport.make()
      const asked: Array<string> = []
      yield* server(pair.server, {
        "tools/call": () =>
          Effect.map(
            Effect.mapError(Effect.sandbox(handler), (cause) => McpError.invalidRequest(String(cause))),
            (value) => ({ content: [Content.text(JSON.stringify(value))] })
          )
      })
      const session = yield* client(pair.client, {
        handlers: {
          "elicitation/create": ({ message }) => {
            asked.push(message)
            return Effect.succeed({ action: "accept", content: { value: `<${message}>` } })
          }
        }
      })
      const called = yield* Effect.result(session.callTool("x"))
      return {
        asked,
        result: called._tag === "Success"
          ? called.success.content.map((part) => part.type === "text" ? JSON.parse(part.text) : part)[0]
          : called.failure.message
      }
    })
  },
  {
    name: "2026-07-28",
    call: (handler) =>
      Effect.gen(function*() {
        const { handle } = yield* serverOf(
          Effect.catchCause(handler, (cause) => Effect.succeed(String(cause)))
        )
        const { rounds, text } = yield* converse(handle)
        return { asked: rounds.flat(), result: JSON.parse(text ?? "null") }
      })
  }
]

class Refused extends Data.TaggedError("Refused")<{ readonly key: string }> {}

for (const { call, name } of clients) {
  describe(`a handler that returns its questions to a client of ${name}`, () => {
    it.effect("runs again with the answers, whose questions may depend on earlier answers", () =>
      Effect.gen(function*() {
        const place = asking("place", "Where?")
        const handler = Question.answering((answers) => {
          const where = answers.to(place)
          if (where === undefined) return Effect.succeed(Question.required(place))
          const day = asking("day", `When in ${where}?`)
          const when = answers.to(day)
          return Effect.succeed(when === undefined ? Question.required(day) : `${where} ${when}`)
        })
        assert.deepStrictEqual(yield* call(handler), {
          asked: ["Where?", "When in <Where?>?"],
          result: "<Where?> <When in <Where?>?>"
        })
      }))

    // In revision 2026-07-28, each round begins with the runs of the rounds before.
    const runsOf = name === "2025-11-25" ? { together: 2, inTurn: 3 } : { together: 3, inTurn: 6 }
    for (const [manner, expected] of [["together", runsOf.together], ["in turn", runsOf.inTurn]] as const) {
      it.effect(`runs ${expected} times for two questions that it returns ${manner}`, () =>
        Effect.gen(function*() {
          const [one, two] = [asking("one"), asking("two")]
          let runs = 0
          const handler = Question.answering((answers) => {
            runs++
            const [first, second] = [answers.to(one), answers.to(two)]
            if (first !== undefined && second !== undefined) return Effect.succeed("done")
            return Effect.succeed(
              manner === "together" ? Question.required(one, two) : Question.required(first === undefined ? one : two)
            )
          })
          assert.strictEqual((yield* call(handler)).result, "done")
          assert.strictEqual(runs, expected)
        }))
    }

    it.effect("is asked all of them at once, and none twice", () =>
      Effect.gen(function*() {
        const [one, two, three] = [asking("one"), asking("two"), asking("three")]
        const handler = Question.answering((answers) => {
          const all = [one, two, three].map((question) => answers.to(question))
          if (all[0] === undefined || all[1] === undefined) return Effect.succeed(Question.required(one, two))
          return Effect.succeed(all[2] === undefined ? Question.required(one, two, three) : all)
        })
        const { asked, result } = yield* call(handler)
        assert.deepStrictEqual(asked.toSorted(), ["one", "three", "two"])
        assert.deepStrictEqual(result, ["<one>", "<two>", "<three>"])
      }))

    it.effect("fails with the failure of a question", () =>
      Effect.gen(function*() {
        const refused = Question.make("refused", (options) =>
          Effect.flatMap(ask("Sure?", options), () => Effect.fail(new Refused({ key: options.key ?? "" }))))
        const handler = Effect.catchTag(
          Question.answering((answers) =>
            Effect.succeed(answers.to(refused) ?? Question.required(refused))
          ),
          "Refused",
          ({ key }) => Effect.succeed(`refused ${key}`)
        )
        assert.deepStrictEqual(yield* call(handler), { asked: ["Sure?"], result: "refused refused" })
      }))

    it.effect("dies if it needs answers that it has, or two questions have one key", () =>
      Effect.gen(function*() {
        const one = asking("one")
        const again = yield* call(Question.answering(() => Effect.succeed(Question.required(one))))
        assert.deepStrictEqual(again.asked, ["one"])
        assert.include(again.result, "the handler has the answers to \"one\", and needs them again")
        const twice = yield* call(
          Question.answering(() => Effect.succeed(Question.required(one, asking("one", "another"))))
        )
        assert.deepStrictEqual(twice.asked, [])
        assert.include(twice.result, "have the same key")
        const none = yield* call(Question.answering(() => Effect.succeed(Question.required())))
        assert.include(none.result, "it has no questions")
      }))
  })
}
