import { Revision } from "@effect-mcp/protocol"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import { call, OfficialClient, result, timedOutAfter } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { receivedSince, textOf } from "./results.ts"

const overHttp = Effect.map(OfficialClient, ({ http }) => {
  assert(http !== undefined)
  return http
})

/** Returns the content types, or the statuses, of the responses to the POSTs of a program. */
const responseTypes = Effect.fnUntraced(function*<A, E, R>(program: Effect.Effect<A, E, R>) {
  const { calls } = yield* overHttp
  const before = calls.length
  yield* program
  return calls.slice(before).filter(({ method }) => method === "POST").map(({ status, type }) => type ?? status)
})

/** Tests of HTTP. Registered first, because they check the first requests of the session. */
export const http = ({ it, over, revision }: Conditions) => {
  it.effect("[HTTP-06] [SHS-13] [SHS-21] [SHS-22] sends its session id, and opens the standalone stream", () =>
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

  const typeOfFastResponse = over === "stream" || over === "resumable" ? "text/event-stream" : "application/json"

  it.effect(`[HTTP-09] answers a fast request with ${typeOfFastResponse}`, () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      assert.deepStrictEqual(yield* responseTypes(request.ping), [typeOfFastResponse])
      assert.deepStrictEqual(yield* responseTypes(result("show", { name: "plan" })), [typeOfFastResponse])
    }))

  it.effect("[SHS-08] progress of a call arrives on its response stream", () =>
    Effect.gen(function*() {
      const { received } = yield* OfficialClient
      const before = received.length
      const types = yield* responseTypes(result("index", { delayMs: 1 }, { onprogress: () => {} }))
      const [first, ...rest] = receivedSince(received, before).map(({ method }) => method)
      if (over === "json") {
        // A JSON response has no room for other messages than the reply.
        assert.deepStrictEqual(types, ["application/json"])
        assert.deepStrictEqual([first, ...rest], [undefined])
      } else {
        assert.deepStrictEqual(types, ["text/event-stream"])
        assert.strictEqual(first, "notifications/progress")
        assert.isUndefined(rest.at(-1))
      }
    }))

  if (over === "json") {
    it.effect("a call that sends a request fails at once, because a JSON response has no room for it", () =>
      Effect.gen(function*() {
        const summary = yield* call("summarize", { name: "plan" })
        assert.deepInclude(summary, { isError: true })
        assert.match("text" in summary ? summary.text : "", /^sampling\/createMessage: /)
        if (!Revision.isAtLeast(revision, "2025-06-18")) return
        assert.deepInclude(yield* call("erase", { name: "plan" }), { isError: true })
      }))
  }

  it.effect("[CAN-04] [CAN-08] a cancelled call leaves no response open", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const isDue = Child.until(() => client.stderr().includes("reminder of the tide: due"))
      const outcome = yield* timedOutAfter("remind", { text: "the tide", afterMs: 60_000 }, isDue)
      assert.notProperty(outcome, "text")
      const { calls, open } = yield* overHttp
      yield* Child.until(() => client.stderr().includes("reminder of the tide: cancelled"))
      yield* client.request.ping
      yield* Child.until(() => open() === 0)
      // A client may try to resume a stream that has ended (typescript-sdk#2682). Another test checks its status.
      assert.isTrue(calls.every(({ lastEventId, status }) => status < 300 || lastEventId !== undefined))
    }))

  // This test is slow.
  if (over !== "adaptive" || revision !== Revision.latestLegacy) return

  it.effect("a slow call is answered on a stream when it completes", () =>
    Effect.gen(function*() {
      const types = yield* responseTypes(
        Effect.map(result("remind", { text: "at last", afterMs: 1200 }), (reminded) => textOf(reminded))
      )
      // The response has become a stream meanwhile, so that the server can send keep-alives.
      assert.deepStrictEqual(types, ["text/event-stream"])
    }))
}
