/** Laws of clients that cannot send: a half-closed connection, and failing writes. */

import type { JsonRpc } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as assert from "node:assert/strict"
import type { ClientEnd, SubjectFaults } from "../../laws/law/TransportSubject.ts"
import { law, type Timeless, topic } from "./Law.ts"
import { type LawContext, structured, untilWaiting } from "./LawContext.ts"

/** Returns the laws of a client that has ended its direction, and still reads. */
export const halfClosedClients = <Served extends ClientEnd>(
  { call, connectReady, serve }: LawContext<Served>,
  halfClose: NonNullable<SubjectFaults<Served>["halfClose"]>
): ReadonlyArray<Timeless> =>
  topic("a client that has stopped sending", [
    law("law 5: its requests are still answered, with their progress", function*() {
      const served = yield* serve
      const peer = yield* connectReady(served)
      yield* peer.send(call(1, "steps", { count: 3, gapMillis: 5 }, { progressToken: "steps" }))
      yield* peer.send(call(2, "echo", { value: 2 }))
      yield* halfClose(served)
      const messages: Array<JsonRpc.Message> = []
      const isResponse = (message: JsonRpc.Message): message is JsonRpc.Response => !("method" in message)
      while (messages.filter(isResponse).length < 2) messages.push(yield* peer.receive)
      const answers = new Map(messages.filter(isResponse).map((response) => [response.id, structured(response)]))
      assert.deepStrictEqual(answers.get(1), { steps: 3 })
      assert.deepStrictEqual(answers.get(2), { value: 2 })
      const steps = messages.flatMap((message) => "method" in message ? [message.params?.["progress"]] : [])
      assert.deepStrictEqual(steps, [1, 2, 3])
    })
  ])

/** Returns the laws of a message that cannot be written. */
export const failedWrites = <Served extends ClientEnd>(
  { connect, form, serve }: LawContext<Served>,
  failWrite: NonNullable<SubjectFaults<Served>["failWrite"]>
): ReadonlyArray<Timeless> => {
  /** Makes a call that waits, and one whose message cannot be written. */
  const calls = Effect.gen(function*() {
    const served = yield* serve
    const session = yield* connect(served)
    const waiting = yield* Effect.forkChild(Effect.flip(session.callTool("wait", {}, { timeout: "Infinity" })))
    yield* untilWaiting(session, 1)
    yield* failWrite(served)
    const { reason } = yield* Effect.flip(session.callTool("echo", { value: 1 }, { timeout: "Infinity" }))
    return { reason, session, waiting }
  })

  return topic("a write that fails", [
    form === "StreamPerRequest"
      ? law("law 1: it fails its own call and no other", function*() {
        const { reason, session, waiting } = yield* calls
        assert.strictEqual(reason._tag, "SendFailed")
        assert.strictEqual(waiting.pollUnsafe(), undefined)
        assert.deepStrictEqual(yield* session.inFlight, { sent: 1, served: 0 })
      })
      : law("law 1: it fails its own call, all others in flight, and the session", function*() {
        const { reason: own, session, waiting } = yield* calls
        assert.ok(own._tag === "Closed" || own._tag === "SendFailed", `it ended as ${own._tag}`)
        const reason = yield* session.closed
        assert.ok(reason._tag === "TransportFailed" || reason._tag === "PeerEnded", `closed as ${reason._tag}`)
        assert.deepStrictEqual((yield* Fiber.join(waiting)).reason, { _tag: "Closed", reason, isSent: true })
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      })
  ])
}
