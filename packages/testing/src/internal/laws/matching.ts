/** Laws of matching responses to requests. */

import { Tool } from "@effect-mcp/protocol"
import type { SessionEvent } from "@effect-mcp/session"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as assert from "node:assert/strict"
import type { ClientEnd } from "../../laws/law/TransportSubject.ts"
import { law, type Timeless, topic } from "./Law.ts"
import { errorCode, isOdd, type LawContext, structured } from "./LawContext.ts"

/** Returns the law of an id that is used twice at the same time on one connection. */
const duplicateId = <Served extends ClientEnd>({ call, openReady }: Pick<LawContext<Served>, "call" | "openReady">) =>
  law("law 5: a duplicate id in flight is answered with an error, and the first request with its result", function*() {
    const peer = yield* openReady
    yield* peer.send(call(5, "gate", { value: "first" }))
    yield* peer.send(call(5, "echo", { value: "second" }))
    assert.strictEqual(errorCode(yield* peer.response), -32600)
    yield* peer.send(call(6, "open"))
    const answers = [yield* peer.response, yield* peer.response]
    const byId = new Map(answers.map((response) => [response.id, structured(response)]))
    assert.deepStrictEqual(byId.get(5), { value: "first" })
    assert.deepStrictEqual(byId.get(6), { opened: true })
  })

/** Returns the laws of matching: every response reaches its caller, unchanged. */
export const matching = <Served extends ClientEnd>(
  { call, era, open, openReady, runs, sessionFirst }: LawContext<Served>
): ReadonlyArray<Timeless> =>
  topic("matching", [
    law("[MSG-07] law 3: every response reaches its exchange", function*() {
      const odd: Array<SessionEvent.SessionEvent> = []
      const session = yield* open({ observe: (event) => isOdd(event) && odd.push(event) })
      const outcome = yield* Arbitrary.checkEffect(
        Arbitrary.schema(Schema.Array(Schema.String)),
        (values) =>
          Effect.gen(function*() {
            const results = yield* Effect.forEach(values, (value) => session.callTool("echo", { value }), {
              concurrency: "unbounded"
            })
            const returned = results.map((result) => Tool.structuredMembers(result)["value"])
            return returned.length === values.length && returned.every((value, index) => value === values[index])
          }),
        { runs }
      )
      assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
      assert.deepStrictEqual(odd, [])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }),

    law("[MSG-03] law 3: 1 and \"1\" are two requests", function*() {
      const peer = yield* openReady
      yield* peer.send(call(1, "echo", { value: "number" }))
      yield* peer.send(call("1", "echo", { value: "string" }))
      const answers = [yield* peer.response, yield* peer.response]
      const byId = new Map(answers.map((response) => [response.id, structured(response)]))
      assert.deepStrictEqual(byId.get(1), { value: "number" })
      assert.deepStrictEqual(byId.get("1"), { value: "string" })
    }),

    // Without a handshake there is no session either, if it is the session that connects the requests.
    ...era === "modern" && sessionFirst ? [] : [duplicateId({ call, openReady })],

    law("[TRN-01] [MSG-01] every JSON value is carried unchanged", function*() {
      const session = yield* open()
      const outcome = yield* Arbitrary.checkEffect(
        Arbitrary.schema(Schema.Json),
        (value) =>
          Effect.gen(function*() {
            const { structuredContent } = yield* session.callTool("echo", { value })
            // JSON has no minus zero.
            return JSON.stringify(structuredContent) === JSON.stringify({ value })
          }),
        { runs }
      )
      assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
    }),

    law("[MSG-02] a megabyte of every kind of character is carried unchanged", function*() {
      const session = yield* open()
      // The result has the value twice, and U+2028 is sent as an escape: 64 Ki times are more than 4 MiB, the limit.
      const value = "aé漢🙂\n\r\u2028\u0000\"\\".repeat(60 * 1024)
      const result = yield* session.callTool("echo", { value })
      assert.strictEqual(Tool.structuredMembers(result)["value"] === value, true)
    })
  ])
