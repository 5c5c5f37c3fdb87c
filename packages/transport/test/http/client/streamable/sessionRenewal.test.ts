import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Predicate from "effect/Predicate"
import * as TestClock from "effect/testing/TestClock"
import {
  allClosed,
  connect,
  exitOf,
  forkNow,
  notification,
  quickReconnect,
  reasonOf,
  request,
  until
} from "../../../support/httpClientConnection.ts"
import {
  type Handler,
  idOf,
  initializeResult,
  type Received,
  type Reply,
  response,
  type ScriptedServer,
  serve
} from "../../../support/scriptedHttpServer.ts"

/** The answer for an unknown session. */
interface UnknownSession {
  readonly status: number
  readonly error: { readonly code: number; readonly message: string }
}

const notFound: UnknownSession = { status: 404, error: { code: -32001, message: "Session not found" } }

/** The answer of the servers of the official examples. */
const badRequest: UnknownSession = {
  status: 400,
  error: { code: -32000, message: "Bad Request: No valid session ID provided" }
}

/** Creates a server that can lose its session. */
const losingServer = (options: {
  /** The answer to a request of a lost session. Default: 404. */
  readonly unknown?: UnknownSession
  readonly rest?: Handler
  readonly get?: Handler
  /** Responds to the `initialize` request with this number, counted from 1. */
  readonly initialize?: (received: Received, reply: Reply, count: number) => void
} = {}) => {
  let count = 0
  let current = ""
  const initialize = options.initialize ?? ((received, reply) => {
    current = `s${count}`
    reply.json(response(received, initializeResult()), { "mcp-session-id": current })
  })
  const handler: Handler = (received, reply) => {
    if (received.kind === "initialize") return initialize(received, reply, ++count)
    if (received.kind === "DELETE") return reply.status(204)
    if (received.headers["mcp-session-id"] !== current) {
      const { error, status } = options.unknown ?? notFound
      return reply.status(status, { jsonrpc: "2.0", id: null, error })
    }
    if (received.kind === "GET") return options.get === undefined ? reply.status(405) : options.get(received, reply)
    if (received.kind.startsWith("notifications/") || received.kind === "response") return reply.status(202)
    return options.rest === undefined ? reply.json(response(received)) : options.rest(received, reply)
  }
  return {
    handler,
    lose: () => {
      current = "none"
    },
    setSession: (session: string) => {
      current = session
    }
  }
}

const connected = Effect.fnUntraced(function*(
  server: { readonly handler: Handler },
  options?: Parameters<typeof connect>[1]
) {
  const peer = yield* serve(server.handler)
  const client = yield* connect(peer, { standalone: false, ...options })
  yield* client.handshake
  const count = (kind: string) => peer.kinds().filter((received) => received === kind).length
  return { peer, count, ...client }
})

/** Responds to the first `initialize` at once, and holds the later responses back. */
const holdingRenewals =
  (held: Array<() => void>, setSession: (session: string) => void) =>
  (received: Received, reply: Reply, count: number): void => {
    const respond = () => {
      setSession(`s${count}`)
      reply.json(response(received, initializeResult()), { "mcp-session-id": `s${count}` })
    }
    if (count === 1) respond()
    else held.push(respond)
  }

const deletedSessions = (peer: ScriptedServer) =>
  peer.received.filter(({ kind }) => kind === "DELETE").map(({ headers }) => headers["mcp-session-id"])

const responseTo = (id: number) => ({ jsonrpc: "2.0", id, result: {} }) as const

it.live("[SHS-27] a request that is rejected with 404 is sent again in a new session", () =>
  Effect.gen(function*() {
    const server = losingServer()
    const { events, closeAll, messages, peer, request: sendRequest } = yield* connected(server)
    server.lose()
    yield* sendRequest(request(1))
    assert.deepStrictEqual(messages(), [responseTo(1)])
    assert.deepStrictEqual(events, [{ _tag: "SessionRenewed" }])
    yield* closeAll
    assert.deepStrictEqual(
      peer.received.slice(2).map((received) => [received.kind, idOf(received), received.headers["mcp-session-id"]]),
      [
        ["tools/call", 1, "s1"],
        ["initialize", "renew-1", undefined],
        ["notifications/initialized", undefined, "s2"],
        ["tools/call", 1, "s2"],
        // The client sends no DELETE for the lost session.
        ["DELETE", undefined, "s2"]
      ]
    )
    const [first, second] = peer.received.filter(({ kind }) => kind === "initialize")
    const params = (received: Received | undefined) =>
      Predicate.hasProperty(received?.message, "params") ? received?.message.params : undefined
    assert.deepStrictEqual(params(second), params(first))
    assert.isUndefined(second?.headers["mcp-protocol-version"])
  }))

it.live("[SHS-27] messages that are rejected at the same time share one renewal", () =>
  Effect.gen(function*() {
    const server = losingServer()
    const { count, events, messages, request: sendRequest, send } = yield* connected(server)
    for (const round of [1, 2]) {
      server.lose()
      yield* Effect.all([
        ...[1, 2, 3, 4, 5].map((id) => sendRequest(request(10 * round + id))),
        send(notification(round))
      ], { concurrency: "unbounded" })
      assert.strictEqual(count("initialize"), 1 + round)
      assert.lengthOf(messages(), 5 * round)
      assert.lengthOf(events, round)
    }
  }))

it.live("[SHS-27] a notification is sent again in the new session, and a response is not", () =>
  Effect.gen(function*() {
    const server = losingServer()
    const { count, peer, send } = yield* connected(server)
    server.lose()
    yield* send(notification(1))
    assert.strictEqual(count("notifications/message"), 2)
    assert.strictEqual(peer.received.at(-1)?.headers["mcp-session-id"], "s2")
    server.lose()
    const reason = yield* reasonOf(send(responseTo(1)))
    assert.isTrue(reason._tag === "Rejected" && reason.status === 404)
    assert.strictEqual(count("response"), 1)
    assert.strictEqual(count("initialize"), 3)
  }))

it.live("[SHS-27] the response of the new handshake may be an SSE stream, whose other messages are delivered", () =>
  Effect.gen(function*() {
    const server = losingServer({
      initialize: (received, reply, count) => {
        server.setSession(`s${count}`)
        reply.stream({ "mcp-session-id": `s${count}` }).event(notification(count)).event(
          response(received, initializeResult())
        )
      }
    })
    const { messages, request: sendRequest } = yield* connected(server)
    server.lose()
    yield* sendRequest(request(1))
    assert.deepStrictEqual(messages(), [notification(2), responseTo(1)])
  }))

it.live("400 that names the session counts as 404: a request, a notification and the standalone stream renew it", () =>
  Effect.gen(function*() {
    const streams: Array<{ readonly end: () => void }> = []
    const server = losingServer({
      unknown: badRequest,
      get: (_, reply) => void streams.push(reply.stream().event(notification("open")))
    })
    const { count, messages, request: sendRequest, send } = yield* connected(server, { standalone: true })
    yield* until(() => streams.length === 1)
    server.lose()
    yield* sendRequest(request(1))
    assert.deepInclude(messages(), responseTo(1))
    yield* until(() => streams.length === 2)
    server.lose()
    yield* send(notification(1))
    yield* until(() => streams.length === 3)
    server.lose()
    streams[2]?.end()
    yield* until(() => streams.length === 4)
    assert.strictEqual(count("initialize"), 4)
  }))

it.live("another 400 with a JSON-RPC error is the response of the request, and renews nothing", () =>
  Effect.gen(function*() {
    const error = { code: -32600, message: "Bad Request: the session may not do this" }
    const server = losingServer({ rest: (_, reply) => reply.status(400, { jsonrpc: "2.0", id: null, error }) })
    const { count, messages, request: sendRequest } = yield* connected(server)
    yield* sendRequest(request(1))
    assert.deepStrictEqual<unknown>(messages(), [{ jsonrpc: "2.0", id: 1, error }])
    assert.strictEqual(count("initialize"), 1)
  }))

it.live("a request that is rejected with 404 twice fails", () =>
  Effect.gen(function*() {
    const server = losingServer({ rest: (_, reply) => reply.status(404) })
    const { count, request: sendRequest, running } = yield* connected(server)
    const reason = yield* reasonOf(sendRequest(request(1)))
    assert.isTrue(reason._tag === "Rejected" && reason.status === 404)
    assert.strictEqual(count("tools/call"), 2)
    assert.strictEqual(count("initialize"), 2)
    assert.isUndefined(exitOf(running))
  }))

it.live("a 404 without a session id renews nothing", () =>
  Effect.gen(function*() {
    const peer = yield* serve((received, reply) =>
      received.kind === "initialize"
        ? reply.json(response(received, initializeResult()))
        : received.kind === "tools/call"
        ? reply.status(404)
        : reply.status(202)
    )
    const client = yield* connect(peer, { standalone: false })
    yield* client.handshake
    const reason = yield* reasonOf(client.request(request(1)))
    assert.isTrue(reason._tag === "Rejected" && reason.status === 404)
    assert.deepStrictEqual(peer.kinds(), ["initialize", "notifications/initialized", "tools/call"])
  }))

it.live("a 404 for the first handshake renews nothing", () =>
  Effect.gen(function*() {
    const peer = yield* serve((_, reply) => reply.status(404))
    const client = yield* connect(peer)
    const reason = yield* reasonOf(client.request(request(0, "initialize")))
    assert.isTrue(reason._tag === "Rejected" && reason.status === 404)
    assert.lengthOf(peer.received, 1)
  }))

for (
  const [name, second, problem] of [
    [
      "of another revision",
      (received, reply) => reply.json(response(received, initializeResult("2025-06-18")), { "mcp-session-id": "s2" }),
      "2025-06-18"
    ],
    [
      "answered with an error",
      (received, reply) => reply.json({ jsonrpc: "2.0", id: idOf(received), error: { code: -32603, message: "no" } }),
      "rejected"
    ],
    ["rejected", (_, reply) => reply.status(503), "503"],
    ["broken", (_, reply) => reply.disconnect(), "could not be opened"],
    ["without a response", (_, reply) => reply.stream().end(), "without a response"],
    ["not JSON", (_, reply) => reply.raw(200, { "content-type": "application/json" }, "{"), "not JSON"]
  ] satisfies ReadonlyArray<[string, Handler, string]>
) {
  it.live(`the connection fails with SessionLost if the new handshake is ${name}`, () =>
    Effect.gen(function*() {
      const server = losingServer({
        initialize: (received, reply, count) => {
          if (count > 1) return second(received, reply)
          server.setSession("s1")
          reply.json(response(received, initializeResult()), { "mcp-session-id": "s1" })
        }
      })
      const { count, closeAll, peer, request: sendRequest, running, send } = yield* connected(server)
      server.lose()
      const reasons = yield* Effect.all([
        reasonOf(sendRequest(request(1))),
        reasonOf(send(notification(1))),
        reasonOf(Fiber.join(running))
      ], { concurrency: "unbounded" })
      for (const reason of reasons) {
        assert.isTrue(reason._tag === "SessionLost" && reason.problem.includes(problem), JSON.stringify(reason))
      }
      assert.strictEqual((yield* reasonOf(sendRequest(request(2))))._tag, "SessionLost")
      assert.strictEqual(count("initialize"), 2)
      yield* closeAll
      yield* allClosed(peer)
      // A new session that cannot be used is ended.
      assert.deepStrictEqual(deletedSessions(peer), name === "of another revision" ? ["s2"] : [])
    }))
}

it.live("a request that may have been carried out is repeated in the new session only if its method is safe", () =>
  Effect.gen(function*() {
    const streams: Array<() => void> = []
    const server = losingServer({
      rest: (received, reply) => {
        if (received.headers["mcp-session-id"] === "s2") return reply.json(response(received))
        const stream = reply.stream().event("", `e${String(idOf(received))}`)
        streams.push(stream.end)
      }
    })
    const { count, messages, request: sendRequest } = yield* connected(server)
    const calling = yield* forkNow(reasonOf(sendRequest(request(1, "tools/call"))))
    const reading = yield* forkNow(sendRequest(request(2, "resources/read")))
    const subscribing = yield* forkNow(reasonOf(sendRequest(request(3, "resources/subscribe"))))
    yield* until(() => streams.length === 3)
    server.lose()
    streams.forEach((end) => end())
    assert.strictEqual((yield* Fiber.join(calling))._tag, "ExchangeEnded")
    assert.strictEqual((yield* Fiber.join(subscribing))._tag, "ExchangeEnded")
    yield* Fiber.join(reading)
    assert.deepStrictEqual(messages(), [responseTo(2)])
    assert.strictEqual(count("tools/call"), 1)
    assert.strictEqual(count("resources/subscribe"), 1)
    assert.strictEqual(count("resources/read"), 2)
    assert.strictEqual(count("initialize"), 2)
  }))

it.live("an open stream of the lost session still delivers its response", () =>
  Effect.gen(function*() {
    let finish: (() => void) | undefined
    const server = losingServer({
      rest: (received, reply) => {
        if (idOf(received) !== 1) return reply.json(response(received))
        const stream = reply.stream().event("", "e1")
        finish = () => stream.event(response(received)).end()
      }
    })
    const { messages, request: sendRequest } = yield* connected(server)
    const requesting = yield* forkNow(sendRequest(request(1)))
    yield* until(() => finish !== undefined)
    server.lose()
    yield* sendRequest(request(2))
    finish?.()
    yield* Fiber.join(requesting)
    assert.deepStrictEqual(messages(), [responseTo(2), responseTo(1)])
  }))

it.live("a stream of the lost session that ends after the renewal is not resumed", () =>
  Effect.gen(function*() {
    let end: (() => void) | undefined
    const server = losingServer({
      rest: (received, reply) => {
        if (received.kind !== "resources/read" || end !== undefined) return reply.json(response(received))
        end = reply.stream().event("", "e1").end
      }
    })
    const { count, messages, request: sendRequest } = yield* connected(server)
    const reading = yield* forkNow(sendRequest(request(1, "resources/read")))
    yield* until(() => end !== undefined)
    server.lose()
    yield* sendRequest(request(2))
    end?.()
    yield* Fiber.join(reading)
    assert.deepStrictEqual(messages(), [responseTo(2), responseTo(1)])
    assert.strictEqual(count("GET"), 0)
  }))

it.live("[SHS-27] messages that are sent during a renewal wait for it", () =>
  Effect.gen(function*() {
    const held: Array<() => void> = []
    const server = losingServer({ initialize: holdingRenewals(held, (session) => server.setSession(session)) })
    const { count, messages, peer, request: sendRequest } = yield* connected(server)
    server.lose()
    const first = yield* forkNow(sendRequest(request(1)))
    yield* until(() => held.length === 1)
    const second = yield* forkNow(sendRequest(request(2, "prompts/get")))
    held[0]?.()
    yield* Fiber.join(first)
    yield* Fiber.join(second)
    assert.lengthOf(messages(), 2)
    assert.strictEqual(count("prompts/get"), 1)
    assert.strictEqual(
      peer.received.find(({ kind }) => kind === "prompts/get")?.headers["mcp-session-id"],
      "s2"
    )
  }))

it.effect("the renewal fails if the server does not answer within 30 seconds", () =>
  Effect.gen(function*() {
    const server = losingServer({
      initialize: (received, reply, count) => {
        if (count > 1) return
        server.setSession("s1")
        reply.json(response(received, initializeResult()), { "mcp-session-id": "s1" })
      }
    })
    const { count, peer, request: sendRequest } = yield* connected(server, { closeTimeout: "20 millis" })
    server.lose()
    const requesting = yield* forkNow(reasonOf(sendRequest(request(1))))
    yield* until(() => count("initialize") === 2)
    yield* TestClock.adjust("30 seconds")
    yield* until(() => exitOf(requesting) !== undefined)
    assert.strictEqual((yield* Fiber.join(requesting))._tag, "SessionLost")
    yield* until(() => peer.openResponses() === 0)
  }))

it.live("[SHS-27] the standalone stream renews a lost session, and is opened in the new one", () =>
  Effect.gen(function*() {
    const streams: Array<{ readonly end: () => void }> = []
    const server = losingServer({
      get: (received, reply) => {
        const session = received.headers["mcp-session-id"]
        streams.push(reply.stream().event(notification(session), `of ${String(session)}`))
      }
    })
    const { count, events, messages, peer } = yield* connected(server, { standalone: true })
    yield* until(() => messages().length === 1)
    server.lose()
    streams[0]?.end()
    yield* until(() => messages().length === 2)
    assert.deepStrictEqual(messages(), [notification("s1"), notification("s2")])
    assert.deepStrictEqual(
      peer.received.filter(({ kind }) => kind === "GET").map(({ headers }) => headers["last-event-id"]),
      [undefined, "of s1", undefined]
    )
    assert.strictEqual(count("initialize"), 2)
    assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["StreamLost", "StreamLost", "SessionRenewed"])
  }))

it.live("closing during a renewal fails its messages, and leaves no connection", () =>
  Effect.gen(function*() {
    const server = losingServer({
      initialize: (received, reply, count) => {
        if (count > 1) return
        server.setSession("s1")
        reply.json(response(received, initializeResult()), { "mcp-session-id": "s1" })
      }
    })
    const { count, closeAll, peer, request: sendRequest } = yield* connected(server, { closeTimeout: "20 millis" })
    server.lose()
    const requesting = yield* forkNow(reasonOf(sendRequest(request(1))))
    yield* until(() => count("initialize") === 2)
    yield* closeAll
    assert.strictEqual((yield* Fiber.join(requesting))._tag, "PeerEnded")
    yield* allClosed(peer)
  }))

it.live("[SHS-28] closing during a renewal ends the new session", () =>
  Effect.gen(function*() {
    const held: Array<() => void> = []
    const server = losingServer({ initialize: holdingRenewals(held, (session) => server.setSession(session)) })
    const { count, closeAll, peer, request: sendRequest } = yield* connected(server, { closeTimeout: "1 hour" })
    server.lose()
    const requesting = yield* forkNow(reasonOf(sendRequest(request(1))))
    yield* until(() => held.length === 1)
    const closing = yield* forkNow(closeAll)
    assert.strictEqual((yield* Fiber.join(requesting))._tag, "PeerEnded")
    held[0]?.()
    yield* Fiber.join(closing)
    assert.deepStrictEqual(deletedSessions(peer), ["s2"])
    assert.strictEqual(count("notifications/initialized"), 1)
    yield* allClosed(peer)
  }))

it.effect("[SHS-28] a new session that opens after the renewal has failed is ended", () =>
  Effect.gen(function*() {
    const held: Array<() => void> = []
    const server = losingServer({ initialize: holdingRenewals(held, (session) => server.setSession(session)) })
    const { closeAll, peer, request: sendRequest } = yield* connected(server, { closeTimeout: "1 hour" })
    server.lose()
    const requesting = yield* forkNow(reasonOf(sendRequest(request(1))))
    yield* until(() => held.length === 1)
    yield* TestClock.adjust("30 seconds")
    yield* until(() => exitOf(requesting) !== undefined)
    assert.strictEqual((yield* Fiber.join(requesting))._tag, "SessionLost")
    held[0]?.()
    yield* closeAll
    assert.deepStrictEqual(deletedSessions(peer), ["s2"])
    yield* allClosed(peer)
  }))

/** Returns the handler of a server that loses each session when its standalone stream is opened for the second time. */
const losingAtOnce = (): Handler => {
  let sessions = 0
  const opened = new Set<unknown>()
  return (received, reply) => {
    if (received.kind === "initialize") {
      return reply.json(response(received, initializeResult()), { "mcp-session-id": `s${++sessions}` })
    }
    if (received.kind === "notifications/initialized") return reply.status(202)
    if (received.kind === "DELETE") return reply.status(204)
    const session = received.headers["mcp-session-id"]
    if (opened.has(session)) return reply.status(404)
    opened.add(session)
    reply.stream().raw("retry: 0\n\n").event(notification(session), "e").end()
  }
}

it.effect("an idle client whose sessions are lost at once delays each renewal longer, up to maxRenewals", () =>
  Effect.gen(function*() {
    const peer = yield* serve(losingAtOnce())
    const { closeAll, running, handshake } = yield* connect(peer, {
      reconnect: { initialInterval: "10 seconds", factor: 2, maxInterval: "1 hour", maxRenewals: 4 }
    })
    const count = (kind: string) => peer.kinds().filter((received) => received === kind).length
    yield* handshake
    yield* until(() => count("GET") === 1)
    // The delay for `retry: 0` is 100 ms, and the first renewal starts at once.
    yield* TestClock.adjust("100 millis")
    yield* until(() => count("GET") === 3)
    yield* TestClock.adjust("100 millis")
    for (const [index, seconds] of [10, 20, 40].entries()) {
      yield* until(() => count("DELETE") === index + 1)
      yield* TestClock.adjust(`${seconds * 0.8 - 1} seconds`)
      assert.strictEqual(count("initialize"), 2 + index)
      yield* TestClock.adjust(`${seconds * 0.4 + 1} seconds`)
      yield* until(() => count("GET") === 5 + 2 * index)
      yield* TestClock.adjust("100 millis")
    }
    yield* until(() => exitOf(running) !== undefined)
    const reason = yield* reasonOf(Fiber.join(running))
    assert.isTrue(
      reason._tag === "SessionLost" &&
        reason.problem === "4 new ones in a row were lost before a request was answered in them"
    )
    yield* closeAll
    assert.deepStrictEqual(deletedSessions(peer), ["s2", "s3", "s4", "s5"])
    assert.strictEqual(count("initialize"), 5)
    yield* allClosed(peer)
  }))

it.live("a session in which a request was answered does not count toward maxRenewals", () =>
  Effect.gen(function*() {
    const server = losingServer()
    const { count, messages, request: sendRequest } = yield* connected(server, {
      reconnect: { ...quickReconnect, maxRenewals: 1 }
    })
    for (const id of [1, 2, 3, 4]) {
      server.lose()
      yield* sendRequest(request(id))
    }
    assert.lengthOf(messages(), 4)
    assert.strictEqual(count("initialize"), 5)
    // No session was abandoned.
    assert.strictEqual(count("DELETE"), 0)
  }))

it.live("closing during the delay of a renewal leaves no connection", () =>
  Effect.gen(function*() {
    const server = losingServer({ rest: (_, reply) => reply.status(404) })
    const { count, closeAll, peer, request: sendRequest } = yield* connected(server, {
      reconnect: { initialInterval: "1 hour" }
    })
    // The session is lost, and so is the renewed one.
    yield* reasonOf(sendRequest(request(1)))
    const requesting = yield* forkNow(reasonOf(sendRequest(request(2))))
    yield* until(() => count("DELETE") === 1)
    yield* closeAll
    assert.strictEqual((yield* Fiber.join(requesting))._tag, "PeerEnded")
    assert.strictEqual(count("initialize"), 2)
    yield* allClosed(peer)
  }))
