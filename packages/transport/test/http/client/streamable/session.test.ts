import { McpError, Revision } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import type { RequestError, SessionEvent } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { allClosed, forkNow, quickReconnect, until } from "../../../support/httpClientConnection.ts"
import {
  type Handler,
  idOf,
  initializeResult,
  response,
  type ScriptedServer,
  serve,
  withHandshake
} from "../../../support/scriptedHttpServer.ts"

/** Opens a session with a server, in its own scope. */
const open = Effect.fnUntraced(function*(peer: ScriptedServer, options?: Partial<ClientSession.Options>) {
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const events: Array<SessionEvent.SessionEvent> = []
  const layer = ClientSession.layer({
    revisions: Revision.legacy,
    info: { name: "client", version: "1.0.0" },
    observe: (event) => events.push(event),
    ...options
  }).pipe(Layer.provide(StreamableHttpClient.layerNode({ url: peer.url, reconnect: quickReconnect })))
  const session = Context.get(yield* Layer.buildWithScope(layer, scope), ClientSession.ClientSession)
  return { session, events, close: Scope.close(scope, Exit.void) }
})

const tagOf = <A>(effect: Effect.Effect<A, RequestError.RequestError>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason._tag)

const toolResult = (received: Parameters<Handler>[0]) => response(received, { content: [] })

it.live("a session calls tools, ends with a DELETE, and leaves no connection", () =>
  Effect.gen(function*() {
    const peer = yield* serve(withHandshake((received, reply) => reply.stream().event(toolResult(received)).end()))
    const { close, session } = yield* open(peer)
    yield* Effect.forEach([1, 2, 3, 4], () => session.callTool("x"), { concurrency: "unbounded" })
    yield* close
    assert.strictEqual(peer.kinds().filter((kind) => kind === "tools/call").length, 4)
    assert.strictEqual(peer.kinds().at(-1), "DELETE")
    yield* allClosed(peer)
  }))

it.live("[MSG-08] a call with a malformed response fails at once, as JSON and as SSE, and its stream is closed", () =>
  Effect.gen(function*() {
    let inJson = true
    const peer = yield* serve(withHandshake((received, reply) => {
      const malformed = { jsonrpc: "2.0", id: idOf(received), error: "no" }
      if (inJson) reply.json(malformed)
      else reply.stream().event(malformed)
    }))
    const { events, session } = yield* open(peer)
    assert.strictEqual(yield* tagOf(session.callTool("x")), "MalformedResponse")
    inJson = false
    assert.strictEqual(yield* tagOf(session.callTool("x")), "MalformedResponse")
    yield* until(() => peer.openResponses() === 0)
    assert.lengthOf(events.filter(({ _tag }) => _tag === "Malformed"), 2)
    assert.lengthOf(events.filter(({ _tag }) => _tag === "StreamLost"), 0)
  }))

it.live("a response whose id is a text is taken, as JSON, as SSE and with an error status; its stream is closed", () =>
  Effect.gen(function*() {
    let form: "json" | "stream" | "status" = "json"
    const peer = yield* serve(withHandshake((received, reply) => {
      const id = String(idOf(received))
      const result = { jsonrpc: "2.0", id, result: { content: [] } }
      if (form === "json") reply.json(result)
      else if (form === "stream") reply.stream().event(result)
      else reply.status(400, { jsonrpc: "2.0", id, error: { code: -32602, message: "no such tool" } })
    }))
    const { events, session } = yield* open(peer)
    yield* session.callTool("x")
    form = "stream"
    yield* session.callTool("x")
    form = "status"
    assert.strictEqual(yield* tagOf(session.callTool("x")), "ErrorResponse")
    yield* until(() => peer.openResponses() === 0)
    assert.lengthOf(events.filter(({ _tag }) => _tag === "Tolerated"), 3)
    assert.lengthOf(events.filter(({ _tag }) => _tag === "StreamLost" || _tag === "UnmatchedResponse"), 0)
  }))

it.live("a call whose stream ends without a response fails at once with OutcomeUnknown", () =>
  Effect.gen(function*() {
    const peer = yield* serve(withHandshake((_, reply) => reply.stream().end()))
    const { session } = yield* open(peer)
    assert.strictEqual(yield* tagOf(session.callTool("x")), "OutcomeUnknown")
  }))

it.live("[law 1] an error that says outcome unknown fails a call so; a request that only reads is sent once more", () =>
  Effect.gen(function*() {
    let form: "json" | "stream" | "status" = "json"
    const counts = { "tools/call": 0, "tools/list": 0 }
    const peer = yield* serve(withHandshake((received, reply) => {
      const { kind } = received
      if (kind !== "tools/call" && kind !== "tools/list") return reply.status(202)
      if (kind === "tools/list" && counts[kind]++ % 2 === 1) {
        return reply.json({ jsonrpc: "2.0", id: idOf(received), result: { tools: [] } })
      }
      if (kind === "tools/call") counts[kind]++
      const { code, data, message } = McpError.outcomeUnknown("the process has ended")
      const failure = { jsonrpc: "2.0", id: idOf(received), error: { code, data, message } }
      if (form === "json") reply.json(failure)
      else if (form === "stream") reply.stream().event(failure)
      else reply.status(502, failure)
    }))
    const { session } = yield* open(peer)
    for (form of ["json", "stream", "status"] as const) {
      const error = yield* Effect.flip(session.callTool("x"))
      assert.strictEqual(error.reason._tag, "OutcomeUnknown", form)
      assert.include(error.message, "the peer may have carried out the request")
      assert.include(error.message, "the process has ended")
      assert.deepStrictEqual((yield* session.listTools()).tools, [])
    }
    assert.deepStrictEqual(counts, { "tools/call": 3, "tools/list": 6 })
  }))

it.live("an error of a server with the same code and no such data is its own", () =>
  Effect.gen(function*() {
    const peer = yield* serve(withHandshake((received, reply) => {
      if (received.kind !== "tools/call") return reply.status(202)
      reply.json({ jsonrpc: "2.0", id: idOf(received), error: { code: -31013, message: "no seats" } })
    }))
    const { session } = yield* open(peer)
    assert.strictEqual(yield* tagOf(session.callTool("x")), "ErrorResponse")
  }))

it.live("[SHS-11] an interrupted call sends a cancellation, and its request is closed", () =>
  Effect.gen(function*() {
    const peer = yield* serve(withHandshake((received, reply) => {
      if (received.kind !== "tools/call") reply.status(202)
    }))
    const { close, session } = yield* open(peer)
    const calling = yield* forkNow(session.callTool("x"))
    yield* until(() => peer.openResponses() === 1)
    yield* Fiber.interrupt(calling)
    yield* until(() => peer.kinds().includes("notifications/cancelled") && peer.openResponses() === 0)
    // The same holds for a call whose deadline has passed.
    assert.strictEqual(yield* tagOf(session.callTool("x", {}, { timeout: "20 millis" })), "Timeout")
    yield* until(() =>
      peer.kinds().filter((kind) => kind === "notifications/cancelled").length === 2 && peer.openResponses() === 0
    )
    yield* close
    yield* allClosed(peer)
  }))

it.live("a request of the server on the stream of a call is answered by a POST", () =>
  Effect.gen(function*() {
    let finish = (_id: unknown) => {}
    const peer = yield* serve(withHandshake((received, reply) => {
      if (received.kind === "response") {
        finish(idOf(received))
        return reply.status(202)
      }
      const stream = reply.stream().event({ jsonrpc: "2.0", id: "q", method: "ping" })
      finish = (id) => stream.event(response(received, { content: [{ type: "text", text: String(id) }] })).end()
    }))
    const { session } = yield* open(peer)
    assert.deepStrictEqual((yield* session.callTool("x")).content, [{ type: "text", text: "q" }])
  }))

it.live("[SHS-27] a session that the server has lost continues in a new one, and reports SessionRenewed", () =>
  Effect.gen(function*() {
    const peer = yield* serve(
      withHandshake((received, reply) =>
        received.headers["mcp-session-id"] === "s1" ? reply.status(404) : reply.json(toolResult(received))
      )
    )
    const { events, session } = yield* open(peer)
    yield* session.callTool("x")
    assert.lengthOf(events.filter(({ _tag }) => _tag === "SessionRenewed"), 1)
    // The response to the second initialize is not delivered to the session.
    assert.lengthOf(events.filter(({ _tag }) => _tag === "UnmatchedResponse"), 0)
  }))

it.live("a session that cannot be renewed closes with the reason, and fails the requests in flight", () =>
  Effect.gen(function*() {
    let handshakes = 0
    const others = withHandshake((received, reply) => {
      if (received.kind === "tools/list") reply.status(404)
    })
    const peer = yield* serve((received, reply) =>
      received.kind === "initialize" && ++handshakes > 1
        ? reply.json(response(received, initializeResult("2025-06-18")), { "mcp-session-id": "s2" })
        : others(received, reply)
    )
    const { close, session } = yield* open(peer)
    const calling = yield* forkNow(tagOf(session.callTool("x")))
    yield* until(() => peer.kinds().includes("tools/call"))
    yield* Effect.flip(session.listTools())
    assert.strictEqual(yield* Fiber.join(calling), "Closed")
    const reason = yield* session.closed
    assert.isTrue(reason._tag === "TransportFailed" && String(reason.cause).includes("2025-06-18"))
    yield* close
    yield* allClosed(peer)
  }))

it.live("a handshake with a stopped server fails at once", () =>
  Effect.gen(function*() {
    const peer = yield* Effect.scoped(serve(() => {}))
    const exit = yield* Effect.exit(open(peer))
    assert.isTrue(Exit.isFailure(exit) && String(exit.cause).includes("could not connect"), String(exit))
  }))

it.live("the loss of a session interrupts the handlers of its questions, whose ids are then free", () =>
  Effect.gen(function*() {
    const question = {
      jsonrpc: "2.0",
      id: 1,
      method: "elicitation/create",
      params: { message: "?", requestedSchema: { type: "object", properties: {} } }
    }
    const peer = yield* serve(withHandshake((received, reply) => {
      switch (received.kind) {
        case "tools/call":
          return void reply.stream().event(question)
        case "ping":
          return received.headers["mcp-session-id"] === "s1" ? reply.status(404) : reply.json(response(received))
        default:
          return reply.status(202)
      }
    }))
    let asked = 0
    let interrupted = 0
    const { events, session } = yield* open(peer, {
      handlers: ClientSession.handlers({
        "elicitation/create": () =>
          ++asked === 1
            ? Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++))
            : Effect.succeed({ action: "decline" as const })
      })
    })
    yield* forkNow(Effect.exit(session.callTool("x")))
    yield* until(() => asked === 1)
    yield* session.ping()
    yield* until(() => interrupted === 1)
    assert.deepInclude(events.find(({ _tag }) => _tag === "Abandoned"), { method: "elicitation/create", id: 1 })
    yield* forkNow(Effect.exit(session.callTool("x")))
    yield* until(() => peer.kinds().includes("response"))
    assert.deepStrictEqual(
      peer.received.filter(({ kind }) => kind === "response").map(({ headers, message }) => [
        headers["mcp-session-id"],
        message
      ]),
      [["s2", { jsonrpc: "2.0", id: 1, result: { action: "decline" } }]]
    )
  }))
