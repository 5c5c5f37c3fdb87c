import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { OfficialClient, result } from "../fixtures/officialClient.ts"
import { type Conditions, isLateProgress } from "../fixtures/officialClients.ts"
import { members, receivedSince, structure, textOf } from "./results.ts"

/** Returns the progress and the response of the last request, in the order of arrival. */
const messagesOfLastCall = Effect.map(OfficialClient, ({ received, sent }) => {
  const request = sent.map(members).findLast(({ method }) => method === "tools/call")
  const token = members(members(request?.["params"])["_meta"])["progressToken"]
  return received.map(members).flatMap((message): ReadonlyArray<unknown> => {
    if (message["method"] === undefined) return message["id"] === request?.["id"] ? ["the response"] : []
    const { progressToken, ...step } = members(message["params"] ?? {})
    return message["method"] === "notifications/progress" && progressToken === token ? [step] : []
  })
})

export const progress = ({ it }: Conditions) => {
  it.effect("[PRG-01] [PRG-03] [PRG-05] sends progress step by step before its response", () =>
    Effect.gen(function*() {
      const { errors, request } = yield* OfficialClient
      const errorsBefore = errors.length
      const steps: Array<unknown> = []
      const indexed = yield* result("index", { delayMs: 1 }, { onprogress: (step) => steps.push(step) })
      const total = Number(/in (\d+) notes/.exec(textOf(indexed))?.[1])
      const sent = yield* messagesOfLastCall
      assert.strictEqual(sent.length, total + 1)
      assert.deepStrictEqual(
        sent[0],
        { progress: 1, total, message: "colours" }
      )
      assert.strictEqual(sent.at(-1), "the response")
      // These clients dispatch a response at once and a notification one turn later, so they lose progress that they
      // read together with the response.
      yield* request.ping
      assert.deepStrictEqual(steps, sent.slice(0, steps.length))
      assert.strictEqual(errors.slice(errorsBefore).filter(isLateProgress).length, total - steps.length)
    }))

  it.effect("[PRG-04] sends no progress without a progress token", () =>
    Effect.gen(function*() {
      const { received } = yield* OfficialClient
      const before = received.length
      yield* result("index", { delayMs: 0 })
      assert.strictEqual(receivedSince(received, before).length, 1)
    }))

  it.effect("[PRG-01] [PRG-02] [PRG-03] forwards the progress of the client", () =>
    Effect.gen(function*() {
      const { handlers } = yield* OfficialClient
      handlers.sampling = Effect.fnUntraced(function*({ progress }) {
        yield* progress({ progress: 0.25, total: 1, message: "reading" })
        yield* progress({ progress: 0.75, total: 1, message: "thinking" })
        return { role: "assistant", model: "m", content: { type: "text", text: "Sea." } }
      })
      const summary = yield* result("summarize", { name: "plan" }, { onprogress: () => {} })
      assert.deepInclude(structure(summary), { summary: "Sea." })
      assert.deepStrictEqual(yield* messagesOfLastCall, [
        { progress: 0.25, total: 1, message: "reading" },
        { progress: 0.75, total: 1, message: "thinking" },
        "the response"
      ])
    }))
}
