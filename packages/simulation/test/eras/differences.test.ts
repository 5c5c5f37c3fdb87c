/** The differences between the eras that docs/revisions/two-eras.md lists, each with the same handler in both. */
import { Content, type Elicitation, McpError } from "@effect-mcp/protocol"
import { RequestContext } from "@effect-mcp/session"
import { TestSession, VirtualRuntime } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type Era, eras } from "../../src/eras/EraRun.ts"

type Handling = Effect.Effect<unknown, McpError.McpError, RequestContext.RequestContext>

/** The behaviour of a handler, and the notes that it and the user take. */
interface Seen {
  readonly end: string
  readonly notes: ReadonlyArray<string>
}

const form = { type: "object" as const, properties: { value: { type: "string" as const } } }

/** Asks a question. Its failures are defects. */
const ask = (message: string, options?: RequestContext.QuestionOptions) =>
  Effect.map(
    Effect.orDie(RequestContext.elicit({ message, requestedSchema: form }, options)),
    ({ content }) => String(content?.["value"])
  )

/** The user, who accepts each question with its own text. */
const echo = (message: string): Effect.Effect<Elicitation.ElicitResult, McpError.McpError> =>
  Effect.succeed({ action: "accept", content: { value: `<${message}>` } })

/** Runs a handler in virtual time. */
const seenIn = (
  era: Era,
  handler: (note: (text: string) => Effect.Effect<void>) => Handling,
  user: typeof echo
): Seen => {
  const notes: Array<string> = []
  const note = (text: string) => Effect.sync(() => void notes.push(text))
  const handling = handler(note)
  const program = Effect.gen(function*() {
    const { client } = yield* TestSession.make({
      "tools/call": () => Effect.map(handling, (value) => ({ content: [Content.text(JSON.stringify(value))] }))
    }, {
      client: {
        revisions: [era],
        handlers: { "elicitation/create": ({ message }) => Effect.andThen(note(`${message}?`), user(message)) }
      }
    })
    return (yield* client.callTool("x")).content.map((block) => block.type === "text" ? block.text : "").join()
  })
  const runtime = VirtualRuntime.make({ seed: 1 })
  const fiber = runtime.start(Effect.scoped(program))
  runtime.advance(600_000)
  const exit = fiber.pollUnsafe()
  if (exit === undefined) return { end: "none", notes }
  if (Exit.isSuccess(exit)) return { end: exit.value, notes }
  const error = Cause.squash(exit.cause)
  return { end: error instanceof Error ? error.message : String(error), notes }
}

/** Runs a handler in both eras. */
const both = (handler: Parameters<typeof seenIn>[1], user = echo): readonly [legacy: Seen, modern: Seen] => [
  seenIn(eras[0], handler, user),
  seenIn(eras[1], handler, user)
]

describe("in revision 2026-07-28, other than in a session,", () => {
  it("everything before a question runs again with each answer", () => {
    const [legacy, modern] = both((note) =>
      Effect.gen(function*() {
        yield* note("begins")
        const answers = []
        for (const message of ["a", "b", "c"]) answers.push(yield* ask(message))
        yield* note("ends")
        return answers
      })
    )
    assert.deepStrictEqual(legacy.notes, ["begins", "a?", "b?", "c?", "ends"])
    assert.deepStrictEqual(modern.notes, ["begins", "a?", "begins", "b?", "begins", "c?", "begins", "ends"])
    assert.strictEqual(modern.end, legacy.end)
  })

  it("finalizers run at every question", () => {
    const [legacy, modern] = both((note) =>
      Effect.acquireUseRelease(note("acquires"), () => ask("a"), () => note("releases"))
    )
    assert.deepStrictEqual(legacy.notes, ["acquires", "a?", "releases"])
    assert.deepStrictEqual(modern.notes, ["acquires", "releases", "a?", "acquires", "releases"])
    assert.strictEqual(modern.end, legacy.end)
  })

  it("a branch beside the question that waits for a timer is interrupted, and runs again", () => {
    const [legacy, modern] = both((note) =>
      Effect.all([
        ask("a"),
        Effect.onInterrupt(Effect.andThen(Effect.sleep("1 second"), note("slept")), () => note("interrupted"))
      ], { concurrency: "unbounded" })
    )
    assert.deepStrictEqual(legacy.notes, ["a?", "slept"])
    assert.deepStrictEqual(modern.notes, ["interrupted", "a?", "slept"])
    assert.strictEqual(modern.end, legacy.end)
  })

  it("a timeout around a question does not fire while the user thinks", () => {
    const [legacy, modern] = both(
      () => Effect.timeoutOrElse(ask("a"), { duration: "5 seconds", orElse: () => Effect.succeed("timed out") }),
      (message) => Effect.andThen(Effect.sleep("30 seconds"), echo(message))
    )
    assert.deepStrictEqual([legacy.end, modern.end], ["\"timed out\"", "\"<a>\""])
  })

  it("a client's handler that fails ends the call at the client", () => {
    const [legacy, modern] = both(
      (note) => Effect.catchDefect(ask("a"), () => Effect.as(note("goes on"), "without an answer")),
      () => Effect.fail(McpError.invalidRequest("the user has left"))
    )
    assert.deepStrictEqual(legacy, { end: "\"without an answer\"", notes: ["a?", "goes on"] })
    assert.deepStrictEqual(modern.notes, ["a?"])
    assert.include(modern.end, "the user has left")
  })

  it("questions in a race are all answered, and an answer that no question has taken stays known", () => {
    const [legacy, modern] = both(
      () =>
        Effect.gen(function*() {
          const first = yield* Effect.race(ask("a"), ask("b"))
          return [first, yield* ask("c"), yield* ask("b")]
        }),
      (message) => Effect.andThen(Effect.sleep(message === "b" ? "3 seconds" : "1 second"), echo(message))
    )
    // In a session, the loser is cancelled, and is asked again.
    assert.deepStrictEqual(legacy.notes, ["a?", "b?", "c?", "b?"])
    assert.deepStrictEqual(modern.notes, ["a?", "b?", "c?"])
    assert.strictEqual(legacy.end, "[\"<a>\",\"<c>\",\"<b>\"]")
    assert.strictEqual(modern.end, legacy.end)
  })

  it("a question with a key is asked once in a call, and its answer is given each time", () => {
    const [legacy, modern] = both(() => Effect.all([ask("a", { key: "k" }), ask("a", { key: "k" }), ask("a")]))
    assert.deepStrictEqual(legacy.notes, ["a?", "a?", "a?"])
    assert.deepStrictEqual(modern.notes, ["a?", "a?"])
    assert.strictEqual(modern.end, legacy.end)
  })
})
