import { ClientSession } from "@effect-mcp/session"
import type { RequestError, SessionEvent } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { beside, nothingLeft, quick, until } from "../../../fixtures/httpConnection.ts"
import {
  type Handler,
  type HttpPeer,
  idOf,
  initializeResult,
  mcp,
  response,
  serve
} from "../../../fixtures/httpPeer.ts"

/** A whole session with this server, in a scope of its own. */
const open = Effect.fnUntraced(function*(peer: HttpPeer, options?: Partial<ClientSession.Options>) {
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const events: Array<SessionEvent.SessionEvent> = []
  const layer = ClientSession.layer({
    info: { name: "client", version: "1.0.0" },
    observe: (event) => events.push(event),
    ...options
  }).pipe(Layer.provide(StreamableHttpClient.layerNode({ url: peer.url, reconnect: quick })))
  const session = Context.get(yield* Layer.buildWithScope(layer, scope), ClientSession.ClientSession)
  return { session, events, leave: Scope.close(scope, Exit.void) }
})

const tagOf = <A>(effect: Effect.Effect<A, RequestError.RequestError>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason._tag)

const called = (received: Parameters<Handler>[0]) => response(received, { content: [] })

it.live("a whole conversation", () =>
  Effect.gen(function*() {
    const peer = yield* serve(mcp((received, reply) => reply.stream().event(called(received)).end()))
    const { leave, session } = yield* open(peer)
    yield* Effect.forEach([1, 2, 3, 4], () => session.callTool("x"), { concurrency: "unbounded" })
    yield* leave
    assert.strictEqual(peer.asked().filter((what) => what === "tools/call").length, 4)
    assert.strictEqual(peer.asked().at(-1), "DELETE")
    yield* nothingLeft(peer)
  }))

it.live("[MSG-08] a call whose answer is no response fails at once, in JSON and on a stream, and its stream is closed", () =>
  Effect.gen(function*() {
    let inJson = true
    const peer = yield* serve(mcp((received, reply) => {
      const answer = { jsonrpc: "2.0", id: idOf(received), error: "no" }
      if (inJson) reply.json(answer)
      else reply.stream().event(answer)
    }))
    const { events, session } = yield* open(peer)
    assert.strictEqual(yield* tagOf(session.callTool("x")), "MalformedResponse")
    inJson = false
    assert.strictEqual(yield* tagOf(session.callTool("x")), "MalformedResponse")
    yield* until(() => peer.open() === 0)
    assert.lengthOf(events.filter(({ _tag }) => _tag === "Malformed"), 2)
    assert.lengthOf(events.filter(({ _tag }) => _tag === "StreamLost"), 0)
  }))

it.live("a call whose stream ends without a response fails at once, and says that its outcome is unknown", () =>
  Effect.gen(function*() {
    const peer = yield* serve(mcp((_, reply) => reply.stream().end()))
    const { session } = yield* open(peer)
    assert.strictEqual(yield* tagOf(session.callTool("x")), "OutcomeUnknown")
  }))

it.live("[SHS-11] a call that is given up is cancelled by a message, and its request does not stay open", () =>
  Effect.gen(function*() {
    const peer = yield* serve(mcp((received, reply) => {
      if (received.what !== "tools/call") reply.status(202)
    }))
    const { leave, session } = yield* open(peer)
    const calling = yield* beside(session.callTool("x"))
    yield* until(() => peer.open() === 1)
    yield* Fiber.interrupt(calling)
    yield* until(() => peer.asked().includes("notifications/cancelled") && peer.open() === 0)
    // Neither does that of a call whose deadline has passed.
    assert.strictEqual(yield* tagOf(session.callTool("x", {}, { timeout: "20 millis" })), "Timeout")
    yield* until(() =>
      peer.asked().filter((what) => what === "notifications/cancelled").length === 2 && peer.open() === 0
    )
    yield* leave
    yield* nothingLeft(peer)
  }))

it.live("what the server asks on the stream of a call is answered by a message", () =>
  Effect.gen(function*() {
    let finish = (_answer: unknown) => {}
    const peer = yield* serve(mcp((received, reply) => {
      if (received.what === "response") {
        finish(idOf(received))
        return reply.status(202)
      }
      const stream = reply.stream().event({ jsonrpc: "2.0", id: "q", method: "ping" })
      finish = (answer) => stream.event(response(received, { content: [{ type: "text", text: String(answer) }] })).end()
    }))
    const { session } = yield* open(peer)
    assert.deepStrictEqual((yield* session.callTool("x")).content, [{ type: "text", text: "q" }])
  }))

it.live("[SHS-27] a session that is lost at the server goes on in a new one, and says so", () =>
  Effect.gen(function*() {
    const peer = yield* serve(
      mcp((received, reply) =>
        received.headers["mcp-session-id"] === "s1" ? reply.status(404) : reply.json(called(received))
      )
    )
    const { events, session } = yield* open(peer)
    yield* session.callTool("x")
    assert.lengthOf(events.filter(({ _tag }) => _tag === "SessionRenewed"), 1)
    // The answer of the second handshake is none of the session's business.
    assert.lengthOf(events.filter(({ _tag }) => _tag === "UnmatchedResponse"), 0)
  }))

it.live("a session that is lost for good closes, with what is in flight and the reason", () =>
  Effect.gen(function*() {
    let shaken = 0
    const others = mcp((received, reply) => {
      if (received.what === "tools/list") reply.status(404)
    })
    const peer = yield* serve((received, reply) =>
      received.what === "initialize" && ++shaken > 1
        ? reply.json(response(received, initializeResult("2025-06-18")), { "mcp-session-id": "s2" })
        : others(received, reply)
    )
    const { leave, session } = yield* open(peer)
    const calling = yield* beside(tagOf(session.callTool("x")))
    yield* until(() => peer.asked().includes("tools/call"))
    yield* Effect.flip(session.listTools())
    assert.strictEqual(yield* Fiber.join(calling), "Closed")
    const reason = yield* session.closed
    assert.isTrue(reason._tag === "TransportFailed" && String(reason.cause).includes("2025-06-18"))
    yield* leave
    yield* nothingLeft(peer)
  }))

it.live("a handshake with nobody fails at once", () =>
  Effect.gen(function*() {
    const peer = yield* Effect.scoped(serve(() => {}))
    const exit = yield* Effect.exit(open(peer))
    assert.isTrue(Exit.isFailure(exit) && String(exit.cause).includes("could not connect"), String(exit))
  }))
