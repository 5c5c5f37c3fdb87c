/** Laws of calls that the server answers with questions, in the revision without a handshake. */

import type { JsonRpc } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as assert from "node:assert/strict"
import type { ClientEnd } from "../../laws/law/TransportSubject.ts"
import { isMembers, memberOf } from "../arbitrary/jsonValues.ts"
import { law, type Timeless, topic } from "./Law.ts"
import { eventually, type LawContext, structured } from "./LawContext.ts"

/** Returns the params with which a client answers all questions of a response. */
const answersTo = (response: JsonRpc.Response, value: string): { readonly [name: string]: unknown } => {
  assert.strictEqual(memberOf(response, "result", "resultType"), "input_required")
  const questions = memberOf(response, "result", "inputRequests")
  const answers = Object.keys(isMembers(questions) ? questions : {}).map((key) =>
    [key, { action: "accept", content: { value } }] as const
  )
  return {
    inputResponses: Object.fromEntries(answers),
    requestState: memberOf(response, "result", "requestState")
  }
}

/** Returns the laws of rounds. */
export const rounds = <Served extends ClientEnd>(
  { call, cancel, openReady, request }: LawContext<Served>
): ReadonlyArray<Timeless> => {
  const asking = (input: { readonly [name: string]: unknown }, rest: object = {}) => ({
    name: "ask",
    arguments: input,
    ...rest
  })

  return topic("rounds", [
    law(
      "[MRTR-01] [MRTR-03] [VER-23] law 5: a question is the one reply to its request, and the retry has its own",
      function*() {
        const peer = yield* openReady
        const input = { message: "Which?", count: 2 }
        yield* peer.send(request(1, "tools/call", asking(input)))
        const first = yield* peer.receive
        assert.strictEqual("id" in first && first.id, 1)
        assert.ok(!("method" in first), "the server sent a request")
        const question = memberOf(first, "result", "inputRequests")
        assert.deepStrictEqual(
          Object.values(isMembers(question) ? question : {}).map((one) => memberOf(one, "params", "message")),
          ["Which? 1"]
        )
        yield* peer.send(request(2, "tools/call", asking(input, answersTo(first, "the first"))))
        const second = yield* peer.response
        yield* peer.send(request(3, "tools/call", asking(input, answersTo(second, "the second"))))
        const third = yield* peer.response
        assert.deepStrictEqual([second.id, third.id], [2, 3])
        assert.deepStrictEqual(structured(third), { answers: ["the first", "the second"] })
        yield* peer.send(call(4, "echo", { value: 4 }))
        assert.strictEqual((yield* peer.response).id, 4)
        assert.deepStrictEqual(yield* peer.pending, [])
      }
    ),

    law("[CAN-12] law 8: a retry can be cancelled, and gets no reply then", function*() {
      const peer = yield* openReady
      const input = { message: "Wait?", thenWait: true }
      yield* peer.send(request(1, "tools/call", asking(input)))
      const first = yield* peer.response
      yield* peer.send(request(2, "tools/call", asking(input, answersTo(first, "yes"))))
      let id = 100
      const reports = (member: string) =>
        eventually(Effect.gen(function*() {
          yield* peer.send(call(id++, "report"))
          return memberOf(structured(yield* peer.response), member) === 1
        }))
      yield* reports("waiting")
      yield* cancel(peer, 2)
      yield* reports("interrupted")
      assert.deepStrictEqual(yield* peer.pending, [])
    }),

    law(
      "[MRTR-11] a question without a retry leaves nothing at the server, and its state is still accepted later",
      function*() {
        const peer = yield* openReady
        const input = { message: "Later?" }
        yield* peer.send(request(1, "tools/call", asking(input)))
        const first = yield* peer.response
        yield* cancel(peer, 1)
        for (let id = 2; id < 12; id++) {
          yield* peer.send(call(id, "echo", { value: id }))
          assert.deepStrictEqual(structured(yield* peer.response), { value: id })
        }
        yield* peer.send(request(12, "tools/call", asking(input, answersTo(first, "at last"))))
        assert.deepStrictEqual(structured(yield* peer.response), { answers: ["at last"] })
      }
    )
  ])
}
