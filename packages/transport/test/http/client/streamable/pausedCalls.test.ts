/** The deadlines of calls whose stream is lost for a while. */
import { Revision } from "@effect-mcp/protocol"
import { ClientSession, type RequestOptions, type SessionEvent } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { exitOf, forkNow, until } from "../../../support/httpClientConnection.ts"
import { type Handler, response, serve, withHandshake } from "../../../support/scriptedHttpServer.ts"

/** Calls a tool whose stream ends after one event. `resume` handles the requests for the rest of the stream. */
const call = Effect.fnUntraced(function*(resume: Handler, options: RequestOptions.RequestOptions<never>) {
  const peer = yield* serve(withHandshake((received, reply) => {
    switch (received.kind) {
      case "tools/call":
        return reply.stream().event("", "a").end()
      case "GET":
        return resume(received, reply)
      default:
        return reply.status(202)
    }
  }))
  const events: Array<SessionEvent.SessionEvent> = []
  const transport = yield* Layer.build(StreamableHttpClient.layerNode({
    url: peer.url,
    standalone: false,
    reconnect: { initialInterval: "1 second", factor: 1, maxAttempts: 1_000_000 }
  }))
  const session = yield* ClientSession.make({
    revisions: Revision.legacy,
    info: { name: "client", version: "1.0.0" },
    observe: (event) => events.push(event)
  }).pipe(Effect.provideContext(transport))
  const calling = yield* forkNow(Effect.result(session.callTool("book", {}, options)))
  const tags = () => events.flatMap(({ _tag }) => _tag === "StreamLost" || _tag === "StreamResumed" ? [_tag] : [])
  yield* until(() => tags().length === 1)
  return {
    peer,
    tags,
    /** Returns the tag of the reason with which the call has failed; `undefined` while it waits. */
    failure: Effect.map(TestClock.adjust(0), () => {
      const exit = exitOf(calling)
      if (exit === undefined) return undefined
      return exit._tag === "Success" && exit.value._tag === "Failure" ? exit.value.failure.reason : exit
    })
  }
})

it.effect("a call whose stream does not come back times out at its deadline, and is cancelled", () =>
  Effect.gen(function*() {
    const { failure, peer, tags } = yield* call((_, reply) => reply.status(503), { timeout: "10 seconds" })
    for (let second = 1; second < 10; second++) {
      const before = tags().length
      yield* TestClock.adjust("1 second")
      yield* until(() => tags().length > before)
    }
    yield* TestClock.adjust("999 millis")
    assert.isUndefined(yield* failure)
    yield* TestClock.adjust("1 millis")
    yield* until(() => peer.kinds().includes("notifications/cancelled"))
    assert.deepInclude(yield* failure, { _tag: "Timeout", afterMillis: 10_000 })
    const attempts = peer.kinds().length
    yield* TestClock.adjust("10 seconds")
    assert.lengthOf(peer.kinds(), attempts)
  }))

const progress = (token: unknown, step: number) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: token, progress: step }
})

for (
  const [name, totalTimeout, end] of [
    ["progress after the pause extends the deadline of a call", "1 minute", 18_000],
    ["progress after the pause extends the deadline of a call up to its total timeout", "12 seconds", 12_000]
  ] as const
) {
  it.effect(name, () =>
    Effect.gen(function*() {
      let send = () => {}
      const steps: Array<number> = []
      const { failure, peer, tags } = yield* call((_, reply) => {
        const stream = reply.stream()
        send = () => void stream.event(progress(token, 1), "b")
      }, {
        timeout: "10 seconds",
        totalTimeout,
        extendOnProgress: true,
        onProgress: (step) => Effect.sync(() => void steps.push(step.progress))
      })
      const called = peer.received.find(({ kind }) => kind === "tools/call")
      const token = Object(Object(called?.message).params)._meta.progressToken
      yield* TestClock.adjust("1 second")
      yield* until(() => tags().length === 2)
      assert.deepStrictEqual(tags(), ["StreamLost", "StreamResumed"])
      yield* TestClock.adjust("7 seconds")
      send()
      yield* until(() => steps.length === 1)
      yield* TestClock.adjust(end - 8_000 - 1)
      assert.isUndefined(yield* failure)
      yield* TestClock.adjust(1)
      yield* until(() => peer.kinds().includes("notifications/cancelled"))
      assert.deepInclude(yield* failure, { _tag: "Timeout" })
    }))
}

it.effect("a call that is answered after the pause has its result", () =>
  Effect.gen(function*() {
    const { failure, peer, tags } = yield* call((_, reply) => {
      const called = peer.received.find(({ kind }) => kind === "tools/call")
      if (called !== undefined) reply.stream().event(response(called, { content: [] })).end()
    }, { timeout: "10 seconds" })
    yield* TestClock.adjust("1 second")
    yield* until(() => tags().length === 2)
    yield* until(() => peer.openResponses() === 0)
    assert.deepInclude(yield* failure, { _tag: "Success" })
  }))
