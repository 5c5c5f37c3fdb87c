/** Answers and cancellations that the server has not acknowledged, and that the client sends again. */
import { JsonRpc } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { inspect } from "node:util"
import {
  allClosed,
  connect,
  forkNow,
  notification,
  quickReconnect,
  reasonOf,
  request,
  until
} from "../../../support/httpClientConnection.ts"
import { type Handler, idOf, type ScriptedServer, serve, withHandshake } from "../../../support/scriptedHttpServer.ts"

const answer = JsonRpc.success(5, { action: "accept" })
const cancellation = JsonRpc.notification("notifications/cancelled", { requestId: 1 })
const repeated = [["an answer", answer], ["a cancellation", cancellation]] as const

const connected = Effect.fnUntraced(function*(peer: ScriptedServer, options?: Parameters<typeof connect>[1]) {
  const client = yield* connect(peer, { standalone: false, ...options })
  yield* client.handshake
  return client
})

/** Returns the messages that the server has received since the handshake. */
const received = (peer: ScriptedServer) =>
  peer.received.filter(({ method }) => method === "POST").slice(2).map(({ message }) => message)

/** Returns a handler that rejects the first message after the handshake, and accepts all others. */
const rejectingOnce = (reject: Handler): Handler => {
  let count = 0
  return withHandshake((one, reply) => ++count === 1 ? reject(one, reply) : reply.status(202))
}

for (const [name, message] of repeated) {
  it.live(`${name} is sent again if its connection breaks after it arrived`, () =>
    Effect.gen(function*() {
      const peer = yield* serve(rejectingOnce((_, reply) => reply.disconnect()))
      const client = yield* connected(peer)
      yield* client.send(message)
      yield* until(() => received(peer).length === 2)
      assert.deepStrictEqual(received(peer), [{ ...message }, { ...message }])
      assert.strictEqual(peer.received.at(-1)?.headers["mcp-session-id"], "s1")
      assert.deepStrictEqual(client.events, [])
    }))

  it.live(`${name} is sent again if its connection breaks before it arrived`, () =>
    Effect.gen(function*() {
      let breaks = 0
      const peer = yield* serve(withHandshake((_, reply) => reply.status(202)), () => breaks-- > 0)
      const client = yield* connected(peer)
      breaks = 2
      yield* client.send(message)
      yield* until(() => received(peer).length === 1)
      assert.deepStrictEqual(received(peer), [{ ...message }])
      assert.deepStrictEqual(client.events, [])
    }))

  for (const status of [429, 502, 503, 504]) {
    it.live(`${name} is sent again after ${status}`, () =>
      Effect.gen(function*() {
        const peer = yield* serve(rejectingOnce((_, reply) => reply.status(status)))
        const client = yield* connected(peer)
        yield* client.send(message)
        yield* until(() => received(peer).length === 2)
        assert.deepStrictEqual(client.events, [])
      }))
  }

  for (const status of [400, 401, 403, 405, 413, 500]) {
    it.live(`${name} is not sent again after ${status}`, () =>
      Effect.gen(function*() {
        const peer = yield* serve(withHandshake((_, reply) => reply.status(status)))
        const client = yield* connected(peer)
        yield* reasonOf(client.send(message))
        yield* Effect.sleep(20)
        assert.lengthOf(received(peer), 1)
      }))
  }
}

it.live("another notification is not sent again", () =>
  Effect.gen(function*() {
    const peer = yield* serve(rejectingOnce((_, reply) => reply.status(503)))
    const client = yield* connected(peer)
    assert.strictEqual((yield* reasonOf(client.send(notification(1))))._tag, "Rejected")
    yield* Effect.sleep(20)
    assert.lengthOf(received(peer), 1)
  }))

it.live("after the last attempt an event reports the failure, and later messages do not wait for it", () =>
  Effect.gen(function*() {
    const peer = yield* serve(withHandshake((one, reply) => reply.status(one.kind === "response" ? 503 : 202)))
    const client = yield* connected(peer, { reconnect: { ...quickReconnect, maxAttempts: 3 } })
    yield* client.send(answer)
    yield* client.send(notification(1))
    yield* until(() => client.events.length === 1)
    const [event] = client.events
    assert.isTrue(event?._tag === "SendFailed" && event.method === undefined)
    assert.isTrue(event?._tag === "SendFailed" && event.error.reason._tag === "Rejected")
    assert.lengthOf(peer.received.filter(({ kind }) => kind === "response"), 4)
    yield* Effect.sleep(20)
    assert.lengthOf(received(peer), 5)
  }))

it.live("the event shows no secret of the client", () =>
  Effect.gen(function*() {
    let count = 0
    const peer = yield* serve(withHandshake(({ headers }, reply) =>
      ++count === 1 ? reply.status(503) : reply.raw(403, {}, `not you, ${headers["x-key"]}`)
    ))
    const client = yield* connected(peer, { headers: { "x-key": Redacted.make("the-secret-key-of-ada") } })
    yield* client.send(answer)
    yield* until(() =>
      client.events.length === 1
    )
    const [event] = client.events
    assert.include(event?._tag === "SendFailed" ? event.error.message : "", "not you, ")
    assert.notInclude(inspect(event, { depth: 20 }), "the-secret-key-of-ada")
  }))

it.live("without attempts the message fails at once", () =>
  Effect.gen(function*() {
    const peer = yield* serve(withHandshake((_, reply) => reply.status(503)))
    const client = yield* connected(peer, { reconnect: { ...quickReconnect, maxAttempts: 0 } })
    assert.strictEqual((yield* reasonOf(client.send(answer)))._tag, "Rejected")
  }))

it.live("closing the session ends the attempts", () =>
  Effect.gen(function*() {
    const peer = yield* serve(withHandshake((_, reply) => reply.status(503)))
    const client = yield* connected(peer, { reconnect: { ...quickReconnect, maxAttempts: 1_000_000 } })
    yield* client.send(answer)
    yield* until(() => received(peer).length >= 3)
    yield* client.close
    const before = peer.received.length
    yield* Effect.sleep(20)
    assert.lengthOf(peer.received, before)
    assert.strictEqual(peer.kinds().at(-1), "DELETE")
    yield* client.closeAll
    yield* allClosed(peer)
  }))

it.live("the cancellation of a question ends the attempts of its answer, and of no other", () =>
  Effect.gen(function*() {
    let cancel = () => {}
    const peer = yield* serve(withHandshake((one, reply) => {
      if (one.kind !== "tools/call") return reply.status(503)
      const stream = reply.stream()
      cancel = () => void stream.event(JsonRpc.notification("notifications/cancelled", { requestId: 5 }))
    }))
    const client = yield* connected(peer, { reconnect: { ...quickReconnect, maxAttempts: 1_000_000 } })
    yield* forkNow(Effect.exit(client.request(request(1))))
    const answers = (id: unknown) => peer.received.filter((one) => one.kind === "response" && idOf(one) === id).length
    yield* client.send(answer)
    yield* client.send(JsonRpc.success("5", {}))
    yield* until(() => answers(5) >= 3 && answers("5") >= 3)
    cancel()
    yield* until(() => client.messages().length === 1)
    yield* Effect.sleep(10)
    const [before, others] = [answers(5), answers("5")]
    yield* until(() => answers("5") >= others + 3)
    assert.strictEqual(answers(5), before)
    assert.deepStrictEqual(client.events, [])
  }))
