import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Predicate from "effect/Predicate"
import * as TestClock from "effect/testing/TestClock"
import {
  beside,
  connect,
  nothingLeft,
  notification,
  outcomeOf,
  quick,
  reasonOf,
  request,
  until
} from "../../../fixtures/httpConnection.ts"
import {
  type Handler,
  type HttpPeer,
  idOf,
  initializeResult,
  type Received,
  type Reply,
  response,
  serve
} from "../../../fixtures/httpPeer.ts"

/** A server that can forget its sessions, and answers 404 to whoever comes with a forgotten one. */
const forgetful = (options: {
  readonly rest?: Handler
  readonly get?: Handler
  /** How it shakes hands, for the first, second, … time. */
  readonly initialize?: (received: Received, reply: Reply, count: number) => void
} = {}) => {
  let count = 0
  let current = ""
  const initialize = options.initialize ?? ((received, reply) => {
    current = `s${count}`
    reply.json(response(received, initializeResult()), { "mcp-session-id": current })
  })
  const handler: Handler = (received, reply) => {
    if (received.what === "initialize") return initialize(received, reply, ++count)
    if (received.what === "DELETE") return reply.status(204)
    if (received.headers["mcp-session-id"] !== current) {
      return reply.status(404, { jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } })
    }
    if (received.what === "GET") return options.get === undefined ? reply.status(405) : options.get(received, reply)
    if (received.what.startsWith("notifications/") || received.what === "response") return reply.status(202)
    return options.rest === undefined ? reply.json(response(received)) : options.rest(received, reply)
  }
  return {
    handler,
    forget: () => {
      current = "nobody's"
    },
    remember: (session: string) => {
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
  yield* client.shake
  const count = (what: string) => peer.asked().filter((asked) => asked === what).length
  return { peer, count, ...client }
})

/** Shakes hands at once the first time; whenever it is told to, from then on. */
const hesitantly =
  (held: Array<() => void>, remember: (session: string) => void) =>
  (received: Received, reply: Reply, count: number): void => {
    const shake = () => {
      remember(`s${count}`)
      reply.json(response(received, initializeResult()), { "mcp-session-id": `s${count}` })
    }
    if (count === 1) shake()
    else held.push(shake)
  }

const sessionsEnded = (peer: HttpPeer) =>
  peer.received.filter(({ what }) => what === "DELETE").map(({ headers }) => headers["mcp-session-id"])

const answerTo = (id: number) => ({ jsonrpc: "2.0", id, result: {} }) as const

it.live("[SHS-27] a message that is refused with 404 is sent again in a new session", () =>
  Effect.gen(function*() {
    const server = forgetful()
    const { events, leave, messages, peer, request: ask } = yield* connected(server)
    server.forget()
    yield* ask(request(1))
    assert.deepStrictEqual(messages(), [answerTo(1)])
    assert.deepStrictEqual(events, [{ _tag: "SessionRenewed" }])
    yield* leave
    assert.deepStrictEqual(
      peer.received.slice(2).map((received) => [received.what, idOf(received), received.headers["mcp-session-id"]]),
      [
        ["tools/call", 1, "s1"],
        ["initialize", "renew-1", undefined],
        ["notifications/initialized", undefined, "s2"],
        ["tools/call", 1, "s2"],
        // The lost session is nobody's to end.
        ["DELETE", undefined, "s2"]
      ]
    )
    const [first, second] = peer.received.filter(({ what }) => what === "initialize")
    const params = (received: Received | undefined) =>
      Predicate.hasProperty(received?.message, "params") ? received?.message.params : undefined
    assert.deepStrictEqual(params(second), params(first))
    assert.isUndefined(second?.headers["mcp-protocol-version"])
  }))

it.live("[SHS-27] messages that are refused at one time share one new session", () =>
  Effect.gen(function*() {
    const server = forgetful()
    const { count, events, messages, request: ask, send } = yield* connected(server)
    for (const round of [1, 2]) {
      server.forget()
      yield* Effect.all([
        ...[1, 2, 3, 4, 5].map((id) => ask(request(10 * round + id))),
        send(notification(round))
      ], { concurrency: "unbounded" })
      assert.strictEqual(count("initialize"), 1 + round)
      assert.lengthOf(messages(), 5 * round)
      assert.lengthOf(events, round)
    }
  }))

it.live("[SHS-27] a notification is sent again; a response, which answers nothing in the new session, is not", () =>
  Effect.gen(function*() {
    const server = forgetful()
    const { count, peer, send } = yield* connected(server)
    server.forget()
    yield* send(notification(1))
    assert.strictEqual(count("notifications/message"), 2)
    assert.strictEqual(peer.received.at(-1)?.headers["mcp-session-id"], "s2")
    server.forget()
    const reason = yield* reasonOf(send(answerTo(1)))
    assert.isTrue(reason._tag === "Rejected" && reason.status === 404)
    assert.strictEqual(count("response"), 1)
    assert.strictEqual(count("initialize"), 3)
  }))

it.live("[SHS-27] the answer of the new handshake may come as a stream, which may say more", () =>
  Effect.gen(function*() {
    const server = forgetful({
      initialize: (received, reply, count) => {
        server.remember(`s${count}`)
        reply.stream({ "mcp-session-id": `s${count}` }).event(notification(count)).event(
          response(received, initializeResult())
        )
      }
    })
    const { messages, request: ask } = yield* connected(server)
    server.forget()
    yield* ask(request(1))
    assert.deepStrictEqual(messages(), [notification(2), answerTo(1)])
  }))

it.live("a server that refuses with 404 again is not asked for ever", () =>
  Effect.gen(function*() {
    const server = forgetful({ rest: (_, reply) => reply.status(404) })
    const { count, request: ask, running } = yield* connected(server)
    const reason = yield* reasonOf(ask(request(1)))
    assert.isTrue(reason._tag === "Rejected" && reason.status === 404)
    assert.strictEqual(count("tools/call"), 2)
    assert.strictEqual(count("initialize"), 2)
    assert.isUndefined(outcomeOf(running))
  }))

it.live("404 without a session id is a refusal like any other", () =>
  Effect.gen(function*() {
    const peer = yield* serve((received, reply) =>
      received.what === "initialize"
        ? reply.json(response(received, initializeResult()))
        : received.what === "tools/call"
        ? reply.status(404)
        : reply.status(202)
    )
    const client = yield* connect(peer, { standalone: false })
    yield* client.shake
    const reason = yield* reasonOf(client.request(request(1)))
    assert.isTrue(reason._tag === "Rejected" && reason.status === 404)
    assert.deepStrictEqual(peer.asked(), ["initialize", "notifications/initialized", "tools/call"])
  }))

it.live("404 for the handshake itself is a refusal", () =>
  Effect.gen(function*() {
    const peer = yield* serve((_, reply) => reply.status(404))
    const client = yield* connect(peer)
    const reason = yield* reasonOf(client.request(request(0, "initialize")))
    assert.isTrue(reason._tag === "Rejected" && reason.status === 404)
    assert.lengthOf(peer.received, 1)
  }))

for (
  const [name, second, words] of [
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
    ["refused", (_, reply) => reply.status(503), "503"],
    ["cut off", (_, reply) => reply.cut(), "could not be opened"],
    ["never answered", (_, reply) => reply.stream().end(), "without a response"],
    ["no JSON", (_, reply) => reply.raw(200, { "content-type": "application/json" }, "{"), "not JSON"]
  ] satisfies ReadonlyArray<[string, Handler, string]>
) {
  it.live(`a session is lost for good when the new handshake is ${name}`, () =>
    Effect.gen(function*() {
      const server = forgetful({
        initialize: (received, reply, count) => {
          if (count > 1) return second(received, reply)
          server.remember("s1")
          reply.json(response(received, initializeResult()), { "mcp-session-id": "s1" })
        }
      })
      const { count, leave, peer, request: ask, running, send } = yield* connected(server)
      server.forget()
      const reasons = yield* Effect.all([
        reasonOf(ask(request(1))),
        reasonOf(send(notification(1))),
        reasonOf(Fiber.join(running))
      ], { concurrency: "unbounded" })
      for (const reason of reasons) {
        assert.isTrue(reason._tag === "SessionLost" && reason.problem.includes(words), JSON.stringify(reason))
      }
      assert.strictEqual((yield* reasonOf(ask(request(2))))._tag, "SessionLost")
      assert.strictEqual(count("initialize"), 2)
      yield* leave
      yield* nothingLeft(peer)
      // What was opened for nothing is ended.
      assert.deepStrictEqual(sessionsEnded(peer), name === "of another revision" ? ["s2"] : [])
    }))
}

it.live("what may have been carried out in the lost session is not asked for again, and what only reads is, once", () =>
  Effect.gen(function*() {
    const streams: Array<() => void> = []
    const server = forgetful({
      rest: (received, reply) => {
        if (received.headers["mcp-session-id"] === "s2") return reply.json(response(received))
        const stream = reply.stream().event("", `e${String(idOf(received))}`)
        streams.push(stream.end)
      }
    })
    const { count, messages, request: ask } = yield* connected(server)
    const calling = yield* beside(reasonOf(ask(request(1, "tools/call"))))
    const reading = yield* beside(ask(request(2, "resources/read")))
    const subscribing = yield* beside(reasonOf(ask(request(3, "resources/subscribe"))))
    yield* until(() => streams.length === 3)
    server.forget()
    streams.forEach((end) => end())
    assert.strictEqual((yield* Fiber.join(calling))._tag, "ExchangeEnded")
    assert.strictEqual((yield* Fiber.join(subscribing))._tag, "ExchangeEnded")
    yield* Fiber.join(reading)
    assert.deepStrictEqual(messages(), [answerTo(2)])
    assert.strictEqual(count("tools/call"), 1)
    assert.strictEqual(count("resources/subscribe"), 1)
    assert.strictEqual(count("resources/read"), 2)
    assert.strictEqual(count("initialize"), 2)
  }))

it.live("a stream of the lost session may still bring its response", () =>
  Effect.gen(function*() {
    let finish: (() => void) | undefined
    const server = forgetful({
      rest: (received, reply) => {
        if (idOf(received) !== 1) return reply.json(response(received))
        const stream = reply.stream().event("", "e1")
        finish = () => stream.event(response(received)).end()
      }
    })
    const { messages, request: ask } = yield* connected(server)
    const asking = yield* beside(ask(request(1)))
    yield* until(() => finish !== undefined)
    server.forget()
    yield* ask(request(2))
    finish?.()
    yield* Fiber.join(asking)
    assert.deepStrictEqual(messages(), [answerTo(2), answerTo(1)])
  }))

it.live("a stream of the lost session that ends when there is a new one is not looked for in either", () =>
  Effect.gen(function*() {
    let end: (() => void) | undefined
    const server = forgetful({
      rest: (received, reply) => {
        if (received.what !== "resources/read" || end !== undefined) return reply.json(response(received))
        end = reply.stream().event("", "e1").end
      }
    })
    const { count, messages, request: ask } = yield* connected(server)
    const reading = yield* beside(ask(request(1, "resources/read")))
    yield* until(() => end !== undefined)
    server.forget()
    yield* ask(request(2))
    end?.()
    yield* Fiber.join(reading)
    assert.deepStrictEqual(messages(), [answerTo(2), answerTo(1)])
    assert.strictEqual(count("GET"), 0)
  }))

it.live("[SHS-27] what is sent while a session is opened anew waits for it", () =>
  Effect.gen(function*() {
    const held: Array<() => void> = []
    const server = forgetful({ initialize: hesitantly(held, (session) => server.remember(session)) })
    const { count, messages, peer, request: ask } = yield* connected(server)
    server.forget()
    const first = yield* beside(ask(request(1)))
    yield* until(() => held.length === 1)
    const second = yield* beside(ask(request(2, "prompts/get")))
    held[0]?.()
    yield* Fiber.join(first)
    yield* Fiber.join(second)
    assert.lengthOf(messages(), 2)
    assert.strictEqual(count("prompts/get"), 1)
    assert.strictEqual(
      peer.received.find(({ what }) => what === "prompts/get")?.headers["mcp-session-id"],
      "s2"
    )
  }))

it.effect("a server that never answers the new handshake is given up", () =>
  Effect.gen(function*() {
    const server = forgetful({
      initialize: (received, reply, count) => {
        if (count > 1) return
        server.remember("s1")
        reply.json(response(received, initializeResult()), { "mcp-session-id": "s1" })
      }
    })
    const { count, peer, request: ask } = yield* connected(server, { closeTimeout: "20 millis" })
    server.forget()
    const asking = yield* beside(reasonOf(ask(request(1))))
    yield* until(() => count("initialize") === 2)
    yield* TestClock.adjust("30 seconds")
    yield* until(() => outcomeOf(asking) !== undefined)
    assert.strictEqual((yield* Fiber.join(asking))._tag, "SessionLost")
    yield* until(() => peer.open() === 0)
  }))

it.live("[SHS-27] the standalone stream, too, notices that its session is lost, and goes on in the new one", () =>
  Effect.gen(function*() {
    const streams: Array<{ readonly end: () => void }> = []
    const server = forgetful({
      get: (received, reply) => {
        const session = received.headers["mcp-session-id"]
        streams.push(reply.stream().event(notification(session), `of ${String(session)}`))
      }
    })
    const { count, events, messages, peer } = yield* connected(server, { standalone: true })
    yield* until(() => messages().length === 1)
    server.forget()
    streams[0]?.end()
    yield* until(() => messages().length === 2)
    assert.deepStrictEqual(messages(), [notification("s1"), notification("s2")])
    assert.deepStrictEqual(
      peer.received.filter(({ what }) => what === "GET").map(({ headers }) => headers["last-event-id"]),
      [undefined, "of s1", undefined]
    )
    assert.strictEqual(count("initialize"), 2)
    assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["StreamLost", "StreamLost", "SessionRenewed"])
  }))

it.live("leaving while a session is opened anew leaves nothing, and its messages are over", () =>
  Effect.gen(function*() {
    const server = forgetful({
      initialize: (received, reply, count) => {
        if (count > 1) return
        server.remember("s1")
        reply.json(response(received, initializeResult()), { "mcp-session-id": "s1" })
      }
    })
    const { count, leave, peer, request: ask } = yield* connected(server, { closeTimeout: "20 millis" })
    server.forget()
    const asking = yield* beside(reasonOf(ask(request(1))))
    yield* until(() => count("initialize") === 2)
    yield* leave
    assert.strictEqual((yield* Fiber.join(asking))._tag, "PeerEnded")
    yield* nothingLeft(peer)
  }))

it.live("[SHS-28] leaving while a session is opened anew ends the new one", () =>
  Effect.gen(function*() {
    const held: Array<() => void> = []
    const server = forgetful({ initialize: hesitantly(held, (session) => server.remember(session)) })
    const { count, leave, peer, request: ask } = yield* connected(server, { closeTimeout: "1 hour" })
    server.forget()
    const asking = yield* beside(reasonOf(ask(request(1))))
    yield* until(() => held.length === 1)
    const leaving = yield* beside(leave)
    assert.strictEqual((yield* Fiber.join(asking))._tag, "PeerEnded")
    held[0]?.()
    yield* Fiber.join(leaving)
    assert.deepStrictEqual(sessionsEnded(peer), ["s2"])
    assert.strictEqual(count("notifications/initialized"), 1)
    yield* nothingLeft(peer)
  }))

it.effect("[SHS-28] a new session that comes when it has been given up is ended", () =>
  Effect.gen(function*() {
    const held: Array<() => void> = []
    const server = forgetful({ initialize: hesitantly(held, (session) => server.remember(session)) })
    const { leave, peer, request: ask } = yield* connected(server, { closeTimeout: "1 hour" })
    server.forget()
    const asking = yield* beside(reasonOf(ask(request(1))))
    yield* until(() => held.length === 1)
    yield* TestClock.adjust("30 seconds")
    yield* until(() => outcomeOf(asking) !== undefined)
    assert.strictEqual((yield* Fiber.join(asking))._tag, "SessionLost")
    held[0]?.()
    yield* leave
    assert.deepStrictEqual(sessionsEnded(peer), ["s2"])
    yield* nothingLeft(peer)
  }))

/** A server that knows a session only until its standalone stream is opened for the second time. */
const forgettingAtOnce = (): Handler => {
  let sessions = 0
  const opened = new Set<unknown>()
  return (received, reply) => {
    if (received.what === "initialize") {
      return reply.json(response(received, initializeResult()), { "mcp-session-id": `s${++sessions}` })
    }
    if (received.what === "notifications/initialized") return reply.status(202)
    if (received.what === "DELETE") return reply.status(204)
    const session = received.headers["mcp-session-id"]
    if (opened.has(session)) return reply.status(404)
    opened.add(session)
    reply.stream().raw("retry: 0\n\n").event(notification(session), "e").end()
  }
}

it.effect("an idle client whose sessions are forgotten at once waits longer each time, ends them, and gives up", () =>
  Effect.gen(function*() {
    const peer = yield* serve(forgettingAtOnce())
    const { leave, running, shake } = yield* connect(peer, {
      reconnect: { initialInterval: "10 seconds", factor: 2, maxInterval: "1 hour", maxRenewals: 4 }
    })
    const count = (what: string) => peer.asked().filter((asked) => asked === what).length
    yield* shake
    yield* until(() => count("GET") === 1)
    // The delay that `retry: 0` asks for comes to 100 ms, and the first session is renewed at once.
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
    yield* until(() => outcomeOf(running) !== undefined)
    const reason = yield* reasonOf(Fiber.join(running))
    assert.isTrue(
      reason._tag === "SessionLost" &&
        reason.problem === "4 new ones in a row were lost before a request was answered in them"
    )
    yield* leave
    assert.deepStrictEqual(sessionsEnded(peer), ["s2", "s3", "s4", "s5"])
    assert.strictEqual(count("initialize"), 5)
    yield* nothingLeft(peer)
  }))

it.live("a session in which a request was answered does not count as opened in vain", () =>
  Effect.gen(function*() {
    const server = forgetful()
    const { count, messages, request: ask } = yield* connected(server, { reconnect: { ...quick, maxRenewals: 1 } })
    for (const id of [1, 2, 3, 4]) {
      server.forget()
      yield* ask(request(id))
    }
    assert.lengthOf(messages(), 4)
    assert.strictEqual(count("initialize"), 5)
    // Nothing but handshakes were there to be ended.
    assert.strictEqual(count("DELETE"), 0)
  }))

it.live("leaving while the client waits to open a session anew leaves nothing", () =>
  Effect.gen(function*() {
    const server = forgetful({ rest: (_, reply) => reply.status(404) })
    const { count, leave, peer, request: ask } = yield* connected(server, { reconnect: { initialInterval: "1 hour" } })
    // It is lost, and so is the one opened in its place.
    yield* reasonOf(ask(request(1)))
    const asking = yield* beside(reasonOf(ask(request(2))))
    yield* until(() => count("DELETE") === 1)
    yield* leave
    assert.strictEqual((yield* Fiber.join(asking))._tag, "PeerEnded")
    assert.strictEqual(count("initialize"), 2)
    yield* nothingLeft(peer)
  }))
