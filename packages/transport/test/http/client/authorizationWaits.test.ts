/** Sessions that wait for a person who has to authorize the client. */
import { ClientSession, type RequestError, type SessionEvent, type Transport } from "@effect-mcp/session"
import type * as TransportError from "@effect-mcp/session/TransportError"
import {
  ClientAuthorization,
  HttpFallbackClient,
  HttpSseClient,
  StreamableHttpClient
} from "@effect-mcp/transport/node"
import * as WebSocketClient from "@effect-mcp/transport/node/WebSocketClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { forkNow, until } from "../../support/httpClientConnection.ts"
import * as Person from "../../support/person.ts"
import {
  type EventReply,
  type Handler,
  initializeResult,
  type Received,
  response,
  serve,
  withHandshake
} from "../../support/scriptedHttpServer.ts"
import { endpointEvent, messageEvent } from "../../support/scriptedSseServer.ts"
import { listen } from "../../support/webSocketPeer.ts"

const info = { name: "host", version: "1.0.0" }
const revisions = ["2025-11-25"] as const

/** The time that a server has for the handshake. The persons of these tests need longer. */
const handshakeTimeout = 1_000

const answerAll: Handler = (received, reply) => reply.json(response(received, { content: [] }))

const streamable = withHandshake(answerAll)

/** Serves HTTP+SSE. */
const httpSse = (): Handler => {
  let stream: EventReply | undefined
  return (received, reply) => {
    if (received.path === "/mcp" && received.method === "POST") return reply.status(405)
    if (received.method === "GET") stream = reply.stream().raw(endpointEvent(1))
    else {
      reply.status(202)
      if (received.kind === "initialize") stream?.raw(messageEvent(response(received, initializeResult("2024-11-05"))))
      else if (received.kind === "ping") stream?.raw(messageEvent(response(received)))
    }
  }
}

const open = (
  transport: Layer.Layer<Transport.Transport>,
  events: Array<SessionEvent.SessionEvent> = [],
  options: Partial<ClientSession.Options> = {}
) =>
  Effect.flatMap(Layer.build(transport), (context) =>
    Effect.provideContext(
      ClientSession.make({
        info,
        revisions: ["2024-11-05", ...revisions],
        limits: { handshakeTimeout },
        observe: (event) => void events.push(event),
        ...options
      }),
      context
    ))

const tagsOf = (events: ReadonlyArray<SessionEvent.SessionEvent>) => events.map(({ _tag }) => _tag)

const sentReason = (error: RequestError.RequestError): TransportError.TransportErrorReason | undefined =>
  error.reason._tag === "SendFailed" ? error.reason.error.reason : undefined

describe("a person who needs longer than a handshake may take", () => {
  const transports: Readonly<
    Record<string, readonly [Handler, (options: HttpFallbackClient.Options) => Layer.Layer<Transport.Transport>]>
  > = {
    "Streamable HTTP": [streamable, StreamableHttpClient.layerNode],
    "HTTP+SSE": [httpSse(), (options) => HttpSseClient.layerNode({ ...options, connectTimeout: handshakeTimeout })],
    "a client that falls back": [httpSse(), HttpFallbackClient.layerNode]
  }

  for (const [name, [handler, layerOf]] of Object.entries(transports)) {
    it.live(`is asked once, and the session is established then: ${name}`, () =>
      Effect.gen(function*() {
        const person = Person.make()
        const events: Array<SessionEvent.SessionEvent> = []
        const peer = yield* serve(Person.guarded(() => "good", handler))
        const opening = yield* Effect.forkChild(
          open(layerOf({ url: peer.url, authorization: person.authorization, standalone: false }), events)
        )
        yield* until(() => tagsOf(events).includes("AuthorizationAwaited"))
        const before = peer.received.length
        yield* Effect.sleep(handshakeTimeout + 200)
        // Nothing is sent while the person acts, and no connection is open.
        assert.strictEqual(peer.received.length, before)
        assert.strictEqual(peer.openResponses(), 0)
        person.signIn("good")
        const session = yield* Fiber.join(opening)
        yield* session.ping()
        assert.deepStrictEqual(events.filter(({ _tag }) => _tag === "AuthorizationAwaited"), [
          { _tag: "AuthorizationAwaited", url: Person.page, code: undefined, since: 1 }
        ])
        // The end of the first connection is not that of the session.
        assert.notInclude(tagsOf(events), "Closed")
        assert.lengthOf(person.rejections, 1)
      }))
  }

  it.live("is asked once, and the session is established then: WebSocket", () =>
    Effect.gen(function*() {
      const person = Person.make()
      const events: Array<SessionEvent.SessionEvent> = []
      const server = yield* listen(({ accept, reject }, peer) =>
        peer.header("authorization") === "Bearer good" ? accept() : reject(401, { "www-authenticate": "Bearer" })
      )
      const { authorization } = person
      const opening = yield* Effect.forkChild(
        open(WebSocketClient.layerNode({ url: server.url, authorization }), events)
      )
      yield* until(() => tagsOf(events).includes("AuthorizationAwaited"))
      yield* Effect.sleep(handshakeTimeout + 200)
      assert.lengthOf(server.peers, 1)
      person.signIn("good")
      yield* until(() => server.peers.length === 2)
      assert.deepStrictEqual(person.servers.map((url) => new URL(url).protocol), ["http:", "http:"])
      assert.deepStrictEqual(person.rejections.map(({ method, operation, status }) => [method, operation, status]), [
        ["GET", undefined, 401]
      ])
      yield* Fiber.interrupt(opening)
    }))

  it.live("may be slower than the function of the challenges is waited for", () =>
    Effect.gen(function*() {
      let runs = 0
      const events: Array<SessionEvent.SessionEvent> = []
      const peer = yield* serve(Person.guarded(() => "good", streamable))
      const authorization = ClientAuthorization.fromChallenge(() => {
        runs++
        return Effect.as(Effect.sleep("1500 millis"), Person.bearer("good"))
      })
      const limits = { handshakeTimeout: 1_200 }
      const transport = StreamableHttpClient.layerNode({ url: peer.url, authorization, standalone: false })
      const session = yield* open(transport, events, { limits })
      yield* session.ping()
      assert.strictEqual(runs, 1)
      assert.strictEqual(tagsOf(events).filter((tag) => tag === "AuthorizationAwaited").length, 1)
    }))

  it.live("may refuse, and the handshake fails with that", () =>
    Effect.gen(function*() {
      const person = Person.make()
      const events: Array<SessionEvent.SessionEvent> = []
      const peer = yield* serve(Person.guarded(() => "good", streamable))
      const { authorization } = person
      const opening = yield* Effect.forkChild(
        Effect.flip(open(StreamableHttpClient.layerNode({ url: peer.url, authorization }), events))
      )
      yield* until(() => tagsOf(events).includes("AuthorizationAwaited"))
      person.refuse()
      const { message, reason } = yield* Fiber.join(opening)
      assert.strictEqual(reason._tag === "ConnectFailed" ? reason.error.reason._tag : "", "AuthorizationFailed")
      assert.include(message, "could not authorize this client at the server: the person has refused")
      // No session follows that could report its own end.
      assert.strictEqual(tagsOf(events).at(-1), "Closed")
    }))

  for (
    const [name, as] of [["", undefined], [
      ", although the wait cannot be interrupted",
      Effect.uninterruptible
    ]] as const
  ) {
    it.live(`is not waited for by a program that stops${name}`, () =>
      Effect.gen(function*() {
        const person = Person.make(as)
        const events: Array<SessionEvent.SessionEvent> = []
        const peer = yield* serve(Person.guarded(() => "good", streamable))
        const { authorization } = person
        const opening = yield* forkNow(
          Effect.scoped(open(StreamableHttpClient.layerNode({ url: peer.url, authorization }), events))
        )
        yield* until(() => tagsOf(events).includes("AuthorizationAwaited"))
        yield* Fiber.interrupt(opening)
        yield* until(() => peer.sockets() === 0)
        assert.strictEqual(tagsOf(events).at(-1), "Closed")
      }))
  }
})

describe("a call of a session whose token is no longer valid", () => {
  const session = Effect.fnUntraced(function*(person: ReturnType<typeof Person.make>) {
    let token = "one"
    person.signIn(token)
    const events: Array<SessionEvent.SessionEvent> = []
    const calls: Array<string | undefined> = []
    const note = (received: Received) => void calls.push(received.headers.authorization)
    const peer = yield* serve(Person.guarded(
      () => token,
      withHandshake((received, reply) => {
        note(received)
        answerAll(received, reply)
      })
    ))
    const { authorization } = person
    const client = yield* open(
      StreamableHttpClient.layerNode({ url: peer.url, authorization, standalone: false }),
      events
    )
    yield* until(() => peer.kinds().includes("notifications/initialized"))
    token = "two"
    return { calls, client, isWaiting: () => tagsOf(events).includes("AuthorizationAwaited"), events, peer }
  })

  it.live("waits for a person within its deadline, and is carried out once", () =>
    Effect.gen(function*() {
      const person = Person.make()
      const { calls: received, client, events } = yield* session(person)
      const calls = [client.callTool("write"), client.callTool("read")]
      const calling = yield* Effect.forkChild(Effect.all(calls, { concurrency: "unbounded" }))
      yield* until(() => person.rejections.length === 2)
      person.signIn("two")
      yield* Fiber.join(calling)
      assert.deepStrictEqual(received, ["Bearer two", "Bearer two"])
      assert.deepStrictEqual(person.rejections.map(({ operation }) => operation).toSorted(), [
        "tools/call \"read\"",
        "tools/call \"write\""
      ])
      // One authorization, although two calls wait for it.
      assert.strictEqual(tagsOf(events).filter((tag) => tag === "AuthorizationAwaited").length, 1)
    }))

  for (const [name, as] of [["", undefined], [" that cannot be interrupted", Effect.uninterruptible]] as const) {
    it.live(`fails at its deadline with AuthorizationRequired, and the authorization${name} goes on`, () =>
      Effect.gen(function*() {
        const person = Person.make(as)
        const { calls, client } = yield* session(person)
        const error = yield* Effect.flip(client.callTool("write", {}, { timeout: 200 }))
        assert.strictEqual(sentReason(error)?._tag, "AuthorizationRequired")
        assert.include(error.message, `requires that a person authorizes this client; visit ${Person.page}`)
        assert.deepStrictEqual(calls, [])
        const next = yield* forkNow(client.callTool("write"))
        yield* until(() => person.rejections.length === 2)
        person.signIn("two")
        yield* Fiber.join(next)
        assert.deepStrictEqual(calls, ["Bearer two"])
      }))
  }

  it.live("fails at its deadline with the page that the authorization has then", () =>
    Effect.gen(function*() {
      const person = Person.make()
      const { client, isWaiting } = yield* session(person)
      const calling = yield* forkNow(Effect.flip(client.callTool("write", {}, { timeout: 400 })))
      yield* until(isWaiting)
      person.move("https://login.example/next")
      assert.include((yield* Fiber.join(calling)).message, "visit https://login.example/next")
    }))

  it.live("[law 2] is not waited for by a session that ends, although its stream waits without an interruption", () =>
    Effect.gen(function*() {
      const person = Person.make(Effect.uninterruptible)
      person.signIn("one")
      const { authorization } = person
      const guarded = Person.guarded(() => "one", streamable)
      const peer = yield* serve((received, reply) =>
        received.method === "GET"
          ? reply.raw(401, { "www-authenticate": "Bearer" }, "")
          : guarded(received, reply)
      )
      const client = yield* open(StreamableHttpClient.layerNode({ url: peer.url, authorization }))
      yield* until(() => person.rejections.length > 0)
      yield* client.close
      assert.include(peer.kinds(), "DELETE")
    }))

  it.live("[law 1] ends with its session", () =>
    Effect.gen(function*() {
      const person = Person.make()
      const { client, isWaiting } = yield* session(person)
      const calling = yield* forkNow(Effect.flip(client.callTool("write")))
      yield* until(isWaiting)
      yield* client.close
      const { reason } = yield* Fiber.join(calling)
      assert.deepStrictEqual(reason._tag === "Closed" ? reason.isSent : undefined, false)
    }))

  it.live("ends if the person refuses", () =>
    Effect.gen(function*() {
      const person = Person.make()
      const { client, isWaiting } = yield* session(person)
      const calling = yield* forkNow(Effect.flip(client.callTool("write")))
      yield* until(isWaiting)
      person.refuse()
      assert.strictEqual(sentReason(yield* Fiber.join(calling))?._tag, "AuthorizationFailed")
    }))
})
