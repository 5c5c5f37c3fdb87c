import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { OfficialClient, result } from "../fixtures/officialClient.ts"
import { type Conditions, isAboutProgress } from "../fixtures/officialClients.ts"
import { members, structure, words } from "./results.ts"

/** The progress and the response of the request that was sent last, in the order in which they came. */
const story = Effect.map(OfficialClient, ({ received, sent }) => {
  const request = sent.map(members).findLast(({ method }) => method === "tools/call")
  const token = members(members(request?.["params"])["_meta"])["progressToken"]
  return received.map(members).flatMap((message): ReadonlyArray<unknown> => {
    if (message["method"] === undefined) return message["id"] === request?.["id"] ? ["the response"] : []
    const { progressToken, ...step } = members(message["params"] ?? {})
    return message["method"] === "notifications/progress" && progressToken === token ? [step] : []
  })
})

export const progress = ({ it }: Conditions) => {
  it.effect("[PRG-01] [PRG-03] [PRG-05] says how far it is, step by step, before it answers", () =>
    Effect.gen(function*() {
      const { complaints, request } = yield* OfficialClient
      const alreadyComplained = complaints.length
      const steps: Array<unknown> = []
      const indexed = yield* result("index", { delayMs: 1 }, { onprogress: (step) => steps.push(step) })
      const total = Number(/in (\d+) notes/.exec(words(indexed))?.[1])
      const sent = yield* story
      assert.strictEqual(sent.length, total + 1)
      assert.deepStrictEqual(
        sent[0],
        { progress: 1, total, message: "colours" }
      )
      assert.strictEqual(sent.at(-1), "the response")
      // These clients hand a response on at once and a notification a turn later, so they lose the steps that they read
      // together with the answer.
      yield* request.ping
      assert.deepStrictEqual(steps, sent.slice(0, steps.length))
      assert.strictEqual(complaints.slice(alreadyComplained).filter(isAboutProgress).length, total - steps.length)
    }))

  it.effect("[PRG-04] reports nothing where nobody asked for it", () =>
    Effect.gen(function*() {
      const { received } = yield* OfficialClient
      const before = received.length
      yield* result("index", { delayMs: 0 })
      assert.strictEqual(received.length, before + 1)
    }))

  it.effect("[PRG-01] [PRG-02] [PRG-03] hears of the progress that the client makes, and passes it on", () =>
    Effect.gen(function*() {
      const { answers } = yield* OfficialClient
      answers.sampling = Effect.fnUntraced(function*({ progress }) {
        yield* progress({ progress: 0.25, total: 1, message: "reading" })
        yield* progress({ progress: 0.75, total: 1, message: "thinking" })
        return { role: "assistant", model: "m", content: { type: "text", text: "Sea." } }
      })
      const summary = yield* result("summarize", { name: "plan" }, { onprogress: () => {} })
      assert.deepInclude(structure(summary), { summary: "Sea." })
      assert.deepStrictEqual(yield* story, [
        { progress: 0.25, total: 1, message: "reading" },
        { progress: 0.75, total: 1, message: "thinking" },
        "the response"
      ])
    }))
}
