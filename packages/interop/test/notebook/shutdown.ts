import { type Revision } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Child from "../fixtures/child.ts"
import { call, OfficialClient } from "../fixtures/officialClient.ts"
import { isLateProgress, type Peer } from "../fixtures/officialClients.ts"
import { receivedSince } from "./results.ts"

export const shutdown = (peer: Peer, revision: Revision.LegacyRevision) => {
  const connected = Effect.provide(peer.connect(peer.program("notebook", revision), revision))

  it.live("[STD-07] [STD-10] the client disconnects: a call is interrupted, and the server exits", () =>
    Effect.gen(function*() {
      const { close, pid, stderr } = yield* OfficialClient
      const calling = yield* Effect.forkChild(call("remind", { text: "the end", afterMs: 60_000 }))
      yield* Child.until(() => stderr().includes("reminder of the end: due"))
      // These clients end the input of their server, and send SIGTERM after two seconds.
      yield* close
      assert.notProperty(yield* Fiber.join(calling), "text")
      yield* Child.until(() => !Child.isRunning(pid))
      yield* Child.until(() => stderr().includes("reminder of the end: cancelled"))
    }).pipe(connected))

  it.live("[STD-08] SIGTERM: an in-flight call is answered, and the server exits", () =>
    Effect.gen(function*() {
      const { errors, pid, stderr } = yield* OfficialClient
      const calling = yield* Effect.forkChild(call("remind", { text: "the end", afterMs: 300 }))
      yield* Child.until(() => stderr().includes("reminder of the end: due"))
      process.kill(pid, "SIGTERM")
      assert.deepStrictEqual(yield* Fiber.join(calling), { text: "the end", isError: false })
      yield* Child.until(() => !Child.isRunning(pid))
      assert.deepStrictEqual(errors.filter((error) => !isLateProgress(error)), [])
    }).pipe(connected))

  it.live("[INIT-15] [SMP-01] [ELI-01] [ROOT-01] sends no requests to a client without capabilities", () =>
    Effect.gen(function*() {
      const { received } = yield* OfficialClient
      const before = received.length
      const failure = (method: string, capability: string) => ({
        text: `${method}: the peer has not declared the capability "${capability}", which this message needs`,
        isError: true
      })
      assert.deepStrictEqual(
        yield* call("summarize", { name: "plan" }),
        failure("sampling/createMessage", "sampling")
      )
      assert.deepStrictEqual(
        yield* call("research", { question: "Why?" }),
        failure("sampling/createMessage", "sampling.tools")
      )
      assert.deepStrictEqual(
        yield* call("erase", { name: "plan" }),
        failure("elicitation/create", "elicitation.form")
      )
      assert.deepStrictEqual(yield* call("sign-in", {}), failure("elicitation/create", "elicitation.url"))
      assert.deepStrictEqual(yield* call("roots", {}), failure("roots/list", "roots"))
      const published = yield* call("publish", { name: "plan" })
      assert.match("text" in published ? published.text : "", /^Visit http:.* to sign in, then try again$/)
      assert.strictEqual(receivedSince(received, before).length, 6)
    }).pipe(Effect.provide(peer.connectBare(peer.program("notebook", revision), revision))))
}
