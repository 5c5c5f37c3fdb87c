import { Revision } from "@effect-mcp/protocol"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import { call, OfficialClient, result, timedOutAfter } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { members, words } from "./results.ts"

const overHttp = Effect.map(OfficialClient, ({ http }) => {
  assert(http !== undefined)
  return http
})

/** The media types of the answers to what a program says. */
const answered = Effect.fnUntraced(function*<A, E, R>(program: Effect.Effect<A, E, R>) {
  const { calls } = yield* overHttp
  const before = calls.length
  yield* program
  return calls.slice(before).filter(({ method }) => method === "POST").map(({ status, type }) => type ?? status)
})

/** What is only there over HTTP. To be registered first, since it looks at how everything begins. */
export const http = ({ it, over, revision }: Conditions) => {
  it.effect("[HTTP-06] [SHS-13] [SHS-21] [SHS-22] is given a session, says which, and listens", () =>
    Effect.gen(function*() {
      const { calls, sessionId } = yield* overHttp
      const id = sessionId()
      assert.match(id ?? "", /^[\x21-\x7e]{22,}$/)
      const [initialize, ...rest] = calls
      assert.deepInclude(initialize, { method: "POST", status: 200, sessionId: undefined, revision: undefined })
      for (const call of rest) assert.deepInclude(call, { sessionId: id, revision })
      assert.deepStrictEqual(
        rest.filter(({ lastEventId }) => lastEventId === undefined).map(({ method, status, type }) => [
          method,
          status,
          type
        ]).slice(0, 2),
        [["POST", 202, undefined], ["GET", 200, "text/event-stream"]]
      )
    }))

  const quick = over === "stream" || over === "resumable" ? "text/event-stream" : "application/json"

  it.effect(`[HTTP-09] answers what is soon done with ${quick}`, () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      assert.deepStrictEqual(yield* answered(request.ping), [quick])
      assert.deepStrictEqual(yield* answered(result("show", { name: "plan" })), [quick])
    }))

  it.effect("[SHS-08] what a call is about comes with its answer, and not where nothing is said of it", () =>
    Effect.gen(function*() {
      const { received } = yield* OfficialClient
      const before = received.length
      const indexed = yield* answered(result("index", { delayMs: 1 }, { onprogress: () => {} }))
      const [said, ...rest] = received.slice(before).map(members).map(({ method }) => method)
      if (over === "json") {
        // JSON has room for the reply only.
        assert.deepStrictEqual(indexed, ["application/json"])
        assert.deepStrictEqual([said, ...rest], [undefined])
      } else {
        assert.deepStrictEqual(indexed, ["text/event-stream"])
        assert.strictEqual(said, "notifications/progress")
        assert.isUndefined(rest.at(-1))
      }
    }))

  if (over === "json") {
    it.effect("a call that has to ask back fails at once, since an answer in JSON has no room for the question", () =>
      Effect.gen(function*() {
        const summary = yield* call("summarize", { name: "plan" })
        assert.deepInclude(summary, { isError: true })
        assert.match("text" in summary ? summary.text : "", /^sampling\/createMessage: /)
        if (!Revision.isAtLeast(revision, "2025-06-18")) return
        assert.deepInclude(yield* call("erase", { name: "plan" }), { isError: true })
      }))
  }

  it.effect("[CAN-04] [CAN-08] a call that the client gives up leaves nothing open", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const isDue = Child.until(() => client.stderr().includes("reminder of the tide: due"))
      const outcome = yield* timedOutAfter("remind", { text: "the tide", afterMs: 60_000 }, isDue)
      assert.notProperty(outcome, "text")
      const { calls, open } = yield* overHttp
      yield* Child.until(() => client.stderr().includes("reminder of the tide: cancelled"))
      yield* client.request.ping
      yield* Child.until(() => open() === 0)
      // A client may come back to a stream that is no more (typescript-sdk#2682), which has an answer of its own.
      assert.isTrue(calls.every(({ lastEventId, status }) => status < 300 || lastEventId !== undefined))
    }))

  // It takes its time.
  if (over !== "adaptive" || revision !== Revision.latest) return

  it.effect("a call that takes long is answered when it is done", () =>
    Effect.gen(function*() {
      const said = yield* answered(
        Effect.map(result("remind", { text: "at last", afterMs: 1200 }), (reminded) => words(reminded))
      )
      // It has become a stream meanwhile, so that somebody who listens has something to hear.
      assert.deepStrictEqual(said, ["text/event-stream"])
    }))
}
