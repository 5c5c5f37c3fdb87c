/** One connection that serves both eras: sessions with a handshake, and requests that carry their client. */
import { Content, JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import { Listener, MemoryTransport, RequestContext, ServerSession, Transport } from "@effect-mcp/session"
import { RawPeer } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { accept, request } from "./support/rounds.ts"
import { info } from "./support/sessions.ts"

const settle = Effect.forEach(Array.from({ length: 30 }), () => Effect.yieldNow, { discard: true })

const initialize = JsonRpc.request("init", "initialize", {
  protocolVersion: "2025-11-25",
  capabilities: { roots: {} },
  clientInfo: { name: "older", version: "1" }
})

const initialized = JsonRpc.notification("notifications/initialized")

interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly params?: { readonly [name: string]: unknown }
  readonly result?: { readonly [name: string]: unknown }
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** Serves one connection, and returns its other end. */
const serve = Effect.fnUntraced(function*(
  options: Partial<ServerSession.Options<never>> = {},
  tool: Effect.Effect<string, never, RequestContext.RequestContext> = Effect.map(
    RequestContext.RequestContext,
    ({ profile, session }) => `${profile.revision} ${profile.info?.name} ${session === undefined ? "alone" : "session"}`
  )
) {
  const pair = yield* MemoryTransport.make()
  const listeners = new Set<Listener.ListenerShape>()
  const session = yield* Effect.provideService(
    ServerSession.make({
      "tools/list": () => Effect.succeed({ tools: [] }),
      "tools/call": () => Effect.map(tool, (text) => ({ content: [Content.text(text)] })),
      "subscriptions/listen": Effect.fnUntraced(function*() {
        const listener = yield* Listener.Listener
        yield* Effect.acquireRelease(
          Effect.sync(() => void listeners.add(listener)),
          () => Effect.sync(() => void listeners.delete(listener))
        )
        return { notifications: { toolsListChanged: true } }
      })
    }, { info, ...options }),
    Transport.Transport,
    pair.server
  )
  const received: Array<Message> = []
  const peer = yield* Effect.provideService(RawPeer.make, Transport.Transport, pair.client)
  const send = (frame: unknown) =>
    peer.sendFrame(frame).pipe(
      Effect.andThen(settle),
      Effect.andThen(peer.pending),
      Effect.map((messages) => void received.push(...JSON.parse(JSON.stringify(messages))))
    )
  const collect = Effect.map(peer.pending, (messages) => void received.push(...JSON.parse(JSON.stringify(messages))))
  const replyTo = (id: unknown) => received.find((message) => message.id === id)
  const textOf = (id: unknown): unknown => {
    const content: unknown = replyTo(id)?.result?.["content"]
    return Array.isArray(content) ? content[0].text : replyTo(id)?.error
  }
  /** Waits for a reply, for which Web Crypto may have to work. */
  const awaitReply = (id: unknown) =>
    Effect.repeat(Effect.andThen(Effect.yieldNow, collect), { until: () => replyTo(id) !== undefined, times: 10_000 })
  return { received, send, awaitReply, collect, replyTo, textOf, session, listeners }
})

describe("a connection", () => {
  it.effect("[VER-21] serves requests that carry their client before, during and after a handshake", () =>
    Effect.gen(function*() {
      const { replyTo, send, textOf } = yield* serve()
      yield* send(request(1, "server/discover"))
      yield* send(request(2, "tools/call", { name: "x" }))
      yield* send(initialize)
      yield* send(request(3, "tools/call", { name: "x" }))
      yield* send(initialized)
      yield* send(JsonRpc.request(4, "tools/call", { name: "x" }))
      yield* send(request(5, "tools/call", { name: "x" }, { clientInfo: undefined }))
      assert.deepInclude(replyTo(1)?.result, { resultType: "complete" })
      assert.strictEqual(replyTo("init")?.result?.["protocolVersion"], "2025-11-25")
      assert.deepStrictEqual([2, 3, 4, 5].map(textOf), [
        "2026-07-28 client alone",
        "2026-07-28 client alone",
        "2025-11-25 older session",
        "2026-07-28 undefined alone"
      ])
      assert.notProperty(replyTo(4)?.result ?? {}, "resultType")
    }).pipe(Effect.scoped))

  it.effect("[VER-03] of the new era alone rejects requests without metadata, and says what is missing", () =>
    Effect.gen(function*() {
      const { received, replyTo, send } = yield* serve({ revisions: ["2026-07-28"] })
      yield* send(JsonRpc.request(1, "tools/list", undefined))
      yield* send(JsonRpc.request(2, "ping", undefined))
      yield* send(JsonRpc.request(3, "tools/call", { name: "x", _meta: {} }))
      yield* send(initialized)
      assert.deepStrictEqual([1, 2, 3].map((id) => replyTo(id)?.error?.code), [-32602, -32602, -32602])
      assert.include(replyTo(1)?.error?.message, "io.modelcontextprotocol/protocolVersion")
      assert.strictEqual(received.length, 3)
    }).pipe(Effect.scoped))

  it.effect("rejects a server/discover with the id of a request in flight", () =>
    Effect.gen(function*() {
      const blocked = yield* Deferred.make<string>()
      const { replyTo, received, send } = yield* serve({}, Deferred.await(blocked))
      yield* send(request(1, "tools/call", { name: "x" }))
      yield* send(request(1, "server/discover"))
      assert.strictEqual(replyTo(1)?.error?.message, "A request with this id is in flight")
      assert.strictEqual(received.length, 1)
    }).pipe(Effect.scoped))

  it.effect("rejects a request that carries its client in a batch, and serves the rest of the batch", () =>
    Effect.gen(function*() {
      const { received, send } = yield* serve()
      yield* send(JsonRpc.request("init", "initialize", { ...initialize.params, protocolVersion: "2025-03-26" }))
      yield* send(initialized)
      yield* send([request(1, "tools/call", { name: "x" }), JsonRpc.request(2, "ping", undefined)])
      const answers = received.flat().slice(1)
      assert.deepStrictEqual(
        answers.map(({ error, id }) => [id, error?.message]),
        [[1, "A request of this revision cannot be in a batch; send it as a message of its own"], [2, undefined]]
      )
    }).pipe(Effect.scoped))

  it.effect("waits for a handshake until a request has valid metadata", () =>
    Effect.gen(function*() {
      const { session, send } = yield* serve({ limits: { initializeTimeout: "10 seconds" } })
      yield* send(JsonRpc.request(1, "tools/list", { _meta: { [RequestMetadata.keys.protocolVersion]: "2026-07-28" } }))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* session.closed)._tag, "HandshakeTimeout")
      const other = yield* serve({ limits: { initializeTimeout: "10 seconds" } })
      yield* other.send(request(1, "tools/list"))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* other.session.state)._tag, "Modern")
    }).pipe(Effect.scoped))

  it.effect("has a state and a profile that name the client of its first request, and then those of a handshake", () =>
    Effect.gen(function*() {
      const { send, session } = yield* serve()
      const waiting = yield* Effect.forkChild(session.profile, { startImmediately: true })
      assert.strictEqual((yield* session.state)._tag, "AwaitingInitialize")
      yield* send(request(1, "tools/list"))
      const state = yield* session.state
      const profile = yield* Fiber.join(waiting)
      assert.strictEqual(profile.revision, "2026-07-28")
      assert.deepStrictEqual<unknown>(state, { _tag: "Modern", profile })
      assert.deepStrictEqual(yield* session.profile, profile)
      assert.isUndefined(yield* session.requestedRevision)
      yield* send(initialize)
      yield* send(initialized)
      assert.strictEqual((yield* session.state)._tag, "Operating")
      assert.strictEqual((yield* session.profile).info?.name, "older")
      assert.strictEqual(yield* session.requestedRevision, "2025-11-25")
    }).pipe(Effect.scoped))

  it.effect("law 12: keeps of a client that is larger than `maxProfileBytes` its revision alone", () =>
    Effect.gen(function*() {
      const { send, session } = yield* serve({ limits: { maxProfileBytes: 2_000 } })
      const large = request(1, "tools/list")
      const meta = large.params?.["_meta"]
      yield* send({
        ...large,
        params: {
          _meta: { ...Object(meta), [RequestMetadata.keys.clientInfo]: { name: "a".repeat(4_000), version: "1" } }
        }
      })
      assert.deepStrictEqual(yield* session.profile, { revision: "2026-07-28", capabilities: {}, info: undefined })
    }).pipe(Effect.scoped))

  it.effect("rejects an initialize that carries its revision, and a request before the handshake that does not", () =>
    Effect.gen(function*() {
      const { replyTo, send } = yield* serve()
      yield* send(request(1, "initialize", { ...initialize.params }))
      yield* send(JsonRpc.request(2, "tools/list", undefined))
      assert.strictEqual(replyTo(1)?.error?.code, -32601)
      assert.strictEqual(replyTo(2)?.error?.message, "Server not initialized")
    }).pipe(Effect.scoped))

  it.effect("[VER-23] [STD-12] [CAN-11] asks in the way of the era of each request", () =>
    Effect.gen(function*() {
      const elicited = RequestContext.elicit({ message: "Go on?", requestedSchema: { type: "object", properties: {} } })
      const { awaitReply, received, replyTo, send, textOf } = yield* serve(
        {},
        Effect.map(Effect.orDie(elicited), ({ action }) => action)
      )
      yield* send(request(1, "tools/call", { name: "x" }))
      yield* awaitReply(1)
      const { inputRequests, requestState, resultType } = replyTo(1)?.result ?? {}
      assert.strictEqual(resultType, "input_required")
      const [key = ""] = Object.keys(inputRequests ?? {})
      yield* send(request(2, "tools/call", { name: "x", inputResponses: { [key]: accept("y") }, requestState }))
      yield* awaitReply(2)
      assert.deepStrictEqual(received.map(({ id, method }) => [id, method]), [[1, undefined], [2, undefined]])
      assert.strictEqual(textOf(2), "accept")
      yield* send(JsonRpc.request("init", "initialize", { ...initialize.params, capabilities: { elicitation: {} } }))
      yield* send(initialized)
      yield* send(JsonRpc.request(3, "tools/call", { name: "x" }))
      const question = received.find(({ method }) => method === "elicitation/create")
      yield* send(JsonRpc.success(Number(question?.id), { action: "decline" }))
      assert.strictEqual(textOf(3), "decline")
    }).pipe(Effect.scoped))

  it.effect("[CAN-12] [STD-15] [STD-16] [CAN-11] cancels a request of either era by its id, which both share", () =>
    Effect.gen(function*() {
      const interrupted: Array<string> = []
      const waiting = Effect.flatMap(
        RequestContext.RequestContext,
        ({ id, profile: { revision } }) =>
          Effect.onInterrupt(Effect.never, () =>
            Effect.gen(function*() {
              interrupted.push(`${revision} ${id}`)
              yield* RequestContext.progress({ progress: 1 })
              yield* RequestContext.log({ level: "info", data: "cancelled" })
            }))
      )
      const { received, replyTo, send, session } = yield* serve({}, waiting)
      yield* send(initialize)
      yield* send(initialized)
      yield* send(request(1, "tools/call", { name: "x" }, {}, { progressToken: "p" }))
      yield* send(JsonRpc.request(2, "tools/call", { name: "x" }))
      yield* send(JsonRpc.request(1, "tools/call", { name: "x" }))
      assert.strictEqual(replyTo(1)?.error?.message, "A request with this id is in flight")
      yield* send(request(2, "tools/list"))
      assert.strictEqual(replyTo(2)?.error?.message, "A request with this id is in flight")
      assert.strictEqual((yield* session.inFlight).served, 2)
      yield* send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      assert.deepStrictEqual(interrupted, ["2026-07-28 1"])
      yield* send(JsonRpc.notification("notifications/cancelled", { requestId: 2 }))
      assert.deepStrictEqual(interrupted, ["2026-07-28 1", "2025-11-25 2"])
      assert.strictEqual((yield* session.inFlight).served, 0)
      // The handshake and the two requests whose ids were taken have replies, and no cancelled one has.
      assert.deepStrictEqual(received.map(({ id, result }) => [id, result !== undefined]), [
        ["init", true],
        [1, false],
        [2, false]
      ])
    }).pipe(Effect.scoped))

  it.effect("[VER-15] serves requests of several clients at the same time, and replies in any order", () =>
    Effect.gen(function*() {
      const proceed = yield* Deferred.make<void>()
      const served = Effect.gen(function*() {
        const { profile: { info } } = yield* RequestContext.RequestContext
        if (info?.name === "slow") yield* Deferred.await(proceed)
        return `for ${info?.name}`
      })
      const { received, send, textOf } = yield* serve({}, served)
      yield* send(request(1, "tools/call", { name: "x" }, { clientInfo: { name: "slow", version: "1" } }))
      yield* send(request(2, "tools/call", { name: "x" }, { clientInfo: { name: "fast", version: "1" } }))
      yield* Deferred.succeed(proceed, undefined)
      yield* send(request(3, "tools/call", { name: "x" }))
      assert.deepStrictEqual(received.map(({ id }) => id), [2, 1, 3])
      assert.deepStrictEqual([1, 2, 3].map(textOf), ["for slow", "for fast", "for client"])
    }).pipe(Effect.scoped))

  it.effect("carries progress and log messages of a request in order, before its reply", () =>
    Effect.gen(function*() {
      const reporting = Effect.gen(function*() {
        yield* RequestContext.progress({ progress: 1 })
        yield* RequestContext.log({ level: "info", data: "half" })
        yield* RequestContext.progress({ progress: 2 })
        return "done"
      })
      const { received, send } = yield* serve({}, reporting)
      yield* send(request(1, "tools/call", { name: "x" }, {}, { progressToken: "p" }))
      assert.deepStrictEqual(received.map(({ id, method }) => method ?? id), [
        "notifications/progress",
        "notifications/message",
        "notifications/progress",
        1
      ])
    }).pipe(Effect.scoped))

  it.effect("of a client without a handshake does not time out, and one that sends nothing does", () =>
    Effect.gen(function*() {
      const limits = { initializeTimeout: "10 seconds" } as const
      const used = yield* serve({ limits })
      const unused = yield* serve({ limits })
      yield* used.send(request(1, "server/discover"))
      yield* TestClock.adjust("1 minute")
      yield* used.send(request(2, "tools/list"))
      assert.isDefined(used.replyTo(2)?.result)
      assert.deepStrictEqual((yield* unused.session.closed)._tag, "HandshakeTimeout")
    }).pipe(Effect.scoped))

  it.effect("counts the requests of both eras in one limit", () =>
    Effect.gen(function*() {
      const { received, send, session } = yield* serve({ limits: { maxIncomingRequests: 2 } }, Effect.never)
      yield* send(initialize)
      yield* send(initialized)
      yield* send(request(1, "tools/call", { name: "x" }))
      yield* send(JsonRpc.request(2, "tools/call", { name: "x" }))
      yield* send(request(3, "tools/call", { name: "x" }))
      yield* send(JsonRpc.request(4, "tools/call", { name: "x" }))
      assert.deepStrictEqual(received.map(({ error, id }) => [id, error?.message]), [
        ["init", undefined],
        [3, "Overloaded: 2 requests are in flight, the limit"],
        [4, "Overloaded: 2 requests are in flight, the limit"]
      ])
      assert.strictEqual((yield* session.inFlight).served, 2)
    }).pipe(Effect.scoped))

  it.effect("that ends interrupts the requests of both eras, and sends no reply to them", () =>
    Effect.gen(function*() {
      const interrupted: Array<string> = []
      const waiting = Effect.flatMap(
        RequestContext.RequestContext,
        ({ profile: { revision } }) =>
          Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted.push(revision)))
      )
      const { collect, received, send, session } = yield* serve({ limits: { gracefulTimeout: 0 } }, waiting)
      yield* send(initialize)
      yield* send(initialized)
      yield* send(request(1, "tools/call", { name: "x" }))
      yield* send(JsonRpc.request(2, "tools/call", { name: "x" }))
      const closing = yield* Effect.forkChild(session.close, { startImmediately: true })
      yield* settle
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(closing)
      yield* collect
      assert.sameMembers(interrupted, ["2026-07-28", "2025-11-25"])
      assert.deepStrictEqual(received.map(({ id }) => id), ["init"])
      assert.strictEqual((yield* session.inFlight).served, 0)
    }).pipe(Effect.scoped))

  it.effect("that closes ends its streams of notifications with results, and waits for requests", () =>
    Effect.gen(function*() {
      const proceed = yield* Deferred.make<void>()
      const { collect, listeners, received, replyTo, send, session, textOf } = yield* serve(
        {},
        Effect.as(Deferred.await(proceed), "finished")
      )
      yield* send(request("s", "subscriptions/listen", { notifications: { toolsListChanged: true } }))
      yield* send(request(2, "tools/call", { name: "x" }))
      yield* Effect.forEach(listeners, ({ toolListChanged }) => toolListChanged)
      yield* settle
      const closing = yield* Effect.forkChild(session.close, { startImmediately: true })
      yield* settle
      yield* collect
      assert.deepStrictEqual(received.map(({ id, method }) => method ?? id), [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
        "s"
      ])
      assert.deepInclude(replyTo("s")?.result?.["_meta"], { "io.modelcontextprotocol/subscriptionId": "s" })
      yield* Deferred.succeed(proceed, undefined)
      yield* Fiber.join(closing)
      yield* collect
      assert.strictEqual(textOf(2), "finished")
      assert.strictEqual(listeners.size, 0)
    }).pipe(Effect.scoped))
})

describe("the option revisions", () => {
  const bothOf = Effect.fnUntraced(function*(revisions: ServerSession.Options["revisions"]) {
    const { replyTo, send } = yield* serve(revisions === undefined ? {} : { revisions })
    yield* send(request(1, "server/discover"))
    yield* send(initialize)
    const [modern, legacy] = [replyTo(1), replyTo("init")]
    return [
      modern?.result?.["supportedVersions"] ?? modern?.error,
      legacy?.result?.["protocolVersion"] ?? legacy?.error
    ] as const
  })

  it.effect("serves both eras by default, and in the order of their age", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* bothOf(undefined), [
        ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
        "2025-11-25"
      ])
    }).pipe(Effect.scoped))

  it.effect("[VER-20] of the new era rejects a handshake with the revisions that are served", () =>
    Effect.gen(function*() {
      const [modern, legacy] = yield* bothOf(["2026-07-28"])
      assert.deepStrictEqual(modern, ["2026-07-28"])
      assert.deepInclude(legacy, {
        code: -32022,
        message: "Unsupported protocol version: 2025-11-25; " +
          "initialize is not served here: send server/discover in 2026-07-28",
        data: { supported: ["2026-07-28"], requested: "2025-11-25" }
      })
    }).pipe(Effect.scoped))

  it.effect("of the old era answers a request of the new one as a server that does not know it", () =>
    Effect.gen(function*() {
      const [modern, legacy] = yield* bothOf(["2025-06-18", "2025-11-25"])
      assert.deepInclude(modern, { code: -32600, message: "Server not initialized" })
      assert.strictEqual(legacy, "2025-11-25")
    }).pipe(Effect.scoped))
})
