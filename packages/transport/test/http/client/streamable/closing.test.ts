import { ClientAuthorization } from "@effect-mcp/transport"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import {
  allClosed,
  connect,
  forkNow,
  notification,
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
  serve,
  withHandshake
} from "../../../support/scriptedHttpServer.ts"

it.live("[SHS-28] closing sends a DELETE for the session, after all other requests have ended", () =>
  Effect.gen(function*() {
    const finishedBefore: Array<boolean> = []
    const others = withHandshake((_, reply) => {
      reply.stream().event(notification(1))
    })
    const peer = yield* serve((received, reply) => {
      if (received.kind === "DELETE") {
        finishedBefore.push(peer.received.every((one) => one === received || one.isFinished()))
      }
      others(received, reply)
    })
    const client = yield* connect(peer)
    yield* client.handshake
    const requesting = yield* forkNow(reasonOf(client.request(request(1))))
    yield* until(() => client.messages().length === 1)
    yield* client.closeAll
    assert.strictEqual((yield* Fiber.join(requesting))._tag, "PeerEnded")
    assert.strictEqual(peer.kinds().at(-1), "DELETE")
    assert.strictEqual(peer.received.at(-1)?.headers["mcp-session-id"], "s1")
    assert.deepStrictEqual(finishedBefore, [true])
    yield* allClosed(peer)
  }))

for (const status of [200, 202, 204, 400, 404, 405, 500]) {
  it.live(`[SHS-28] closing completes after ${status} for the DELETE`, () =>
    Effect.gen(function*() {
      const others = withHandshake(() => {})
      const peer = yield* serve((received, reply) =>
        received.kind === "DELETE" ? reply.status(status) : others(received, reply)
      )
      const client = yield* connect(peer)
      yield* client.handshake
      yield* client.closeAll
      assert.strictEqual(peer.kinds().at(-1), "DELETE")
      yield* allClosed(peer)
    }))
}

it.live("[SHS-28] closing waits for the answer to the DELETE no longer than closeTimeout", () =>
  Effect.gen(function*() {
    const others = withHandshake(() => {})
    const silent: Handler = (received, reply) => {
      if (received.kind !== "DELETE") others(received, reply)
    }
    const peer = yield* serve(silent)
    const client = yield* connect(peer, { closeTimeout: "20 millis" })
    yield* client.handshake
    yield* client.closeAll
    yield* allClosed(peer)
  }))

it.live("closing completes if the server has stopped", () =>
  Effect.gen(function*() {
    const client = yield* Effect.scoped(Effect.gen(function*() {
      const peer = yield* serve(withHandshake(() => {}))
      const client = yield* connect(peer)
      yield* client.handshake
      return client
    }))
    yield* client.closeAll
  }))

it.live("[SHS-28] closing sends the DELETE once more if its connection breaks", () =>
  Effect.gen(function*() {
    for (const breaks of [1, 2]) {
      let deletes = 0
      const others = withHandshake(() => {})
      const peer = yield* serve((received, reply) =>
        received.kind === "DELETE" && ++deletes <= breaks ? reply.disconnect() : others(received, reply)
      )
      const client = yield* connect(peer)
      yield* client.handshake
      yield* client.closeAll
      assert.deepStrictEqual(peer.kinds().slice(2).filter((kind) => kind !== "GET"), ["DELETE", "DELETE"])
      assert.strictEqual(peer.received.at(-1)?.headers["mcp-session-id"], "s1")
      yield* allClosed(peer)
    }
  }))

it.live("[SHS-28] closing waits for the answer to the repeated DELETE no longer than closeTimeout", () =>
  Effect.gen(function*() {
    let deletes = 0
    const others = withHandshake(() => {})
    const peer = yield* serve((received, reply) => {
      if (received.kind !== "DELETE") return others(received, reply)
      if (++deletes === 1) reply.disconnect()
    })
    const client = yield* connect(peer, { closeTimeout: "50 millis" })
    yield* client.handshake
    yield* client.closeAll
    yield* allClosed(peer)
  }))

/** Returns the handler of a server that holds the response to `initialize` back. */
const holding = (respond: Handler) => {
  const held: Array<() => void> = []
  const handler: Handler = (received, reply) => {
    if (received.kind === "initialize") held.push(() => respond(received, reply))
    else reply.status(204)
  }
  return { held, handler }
}

const sessionHeader = { "mcp-session-id": "s1" }

for (
  const [form, respond] of [
    [
      "JSON",
      (received: Received, reply: Reply) => reply.json(response(received, initializeResult()), sessionHeader)
    ],
    ["an SSE stream without a message", (_: Received, reply: Reply) => void reply.stream(sessionHeader)]
  ] as const
) {
  it.live(`[SHS-28] closing during the handshake ends the session that the response opens, as ${form}`, () =>
    Effect.gen(function*() {
      const server = holding(respond)
      const peer = yield* serve(server.handler)
      const client = yield* connect(peer, { closeTimeout: "1 hour" })
      const requesting = yield* forkNow(reasonOf(client.request(request(0, "initialize"))))
      yield* until(() => server.held.length === 1)
      const closing = yield* forkNow(client.closeAll)
      // The caller of the request does not wait for that.
      assert.strictEqual((yield* Fiber.join(requesting))._tag, "PeerEnded")
      server.held[0]?.()
      yield* Fiber.join(closing)
      assert.deepStrictEqual(
        peer.received.map(({ headers, kind }) => [kind, headers["mcp-session-id"]]),
        [["initialize", undefined], ["DELETE", "s1"]]
      )
      yield* allClosed(peer)
    }))
}

it.live("[SHS-28] closing during the handshake ends the session although the connection of the DELETE breaks", () =>
  Effect.gen(function*() {
    const server = holding((received, reply) => reply.json(response(received, initializeResult()), sessionHeader))
    let deletes = 0
    const peer = yield* serve((received, reply) =>
      received.kind === "DELETE" && ++deletes === 1 ? reply.disconnect() : server.handler(received, reply)
    )
    const client = yield* connect(peer, { closeTimeout: "1 hour" })
    yield* forkNow(reasonOf(client.request(request(0, "initialize"))))
    yield* until(() => server.held.length === 1)
    const closing = yield* forkNow(client.closeAll)
    server.held[0]?.()
    yield* Fiber.join(closing)
    assert.deepStrictEqual(peer.kinds(), ["initialize", "DELETE", "DELETE"])
    yield* allClosed(peer)
  }))

it.live("[SHS-28] closing after an interrupted handshake sends no second DELETE", () =>
  Effect.gen(function*() {
    const server = holding((received, reply) => reply.json(response(received, initializeResult()), sessionHeader))
    const peer = yield* serve(server.handler)
    const client = yield* connect(peer, { closeTimeout: "1 hour" })
    const requesting = yield* forkNow(client.request(request(0, "initialize")))
    yield* until(() => server.held.length === 1)
    yield* Fiber.interrupt(requesting)
    server.held[0]?.()
    yield* until(() => peer.kinds().includes("DELETE"))
    yield* client.closeAll
    assert.deepStrictEqual(peer.kinds(), ["initialize", "DELETE"])
    assert.strictEqual(peer.received.at(-1)?.headers["mcp-session-id"], "s1")
    yield* allClosed(peer)
  }))

for (
  const [outcome, respond] of [
    ["has no session id", (received, reply) => reply.json(response(received, initializeResult()))],
    ["is an error", (_, reply) => reply.status(503, undefined, sessionHeader)],
    ["never arrives", (_, reply) => reply.disconnect()]
  ] satisfies ReadonlyArray<[string, Handler]>
) {
  it.live(`closing during a handshake whose response ${outcome} sends no DELETE`, () =>
    Effect.gen(function*() {
      const server = holding(respond)
      const peer = yield* serve(server.handler)
      const client = yield* connect(peer, { closeTimeout: "1 hour" })
      yield* forkNow(reasonOf(client.request(request(0, "initialize"))))
      yield* until(() => server.held.length === 1)
      const closing = yield* forkNow(client.closeAll)
      server.held[0]?.()
      yield* Fiber.join(closing)
      assert.deepStrictEqual(peer.kinds(), ["initialize"])
      yield* allClosed(peer)
    }))
}

it.live("closing while the client is being authorized does not wait, and opens no session", () =>
  Effect.gen(function*() {
    const peer = yield* serve((_, reply) => reply.status(401))
    let isAuthorizing = false
    const authorization = ClientAuthorization.fromChallenge(() =>
      Effect.suspend(() => {
        isAuthorizing = true
        return Effect.never
      })
    )
    const client = yield* connect(peer, { authorization, closeTimeout: "1 hour" })
    yield* forkNow(reasonOf(client.request(request(0, "initialize"))))
    yield* until(() => isAuthorizing)
    yield* client.closeAll
    assert.deepStrictEqual(peer.kinds(), ["initialize"])
    yield* allClosed(peer)
  }))

it.live("closing waits for the response to initialize no longer than closeTimeout", () =>
  Effect.gen(function*() {
    const peer = yield* serve(() => {})
    const client = yield* connect(peer, { closeTimeout: "20 millis" })
    const requesting = yield* forkNow(reasonOf(client.request(request(0, "initialize"))))
    yield* until(() => peer.received.length === 1)
    yield* client.closeAll
    assert.strictEqual((yield* Fiber.join(requesting))._tag, "PeerEnded")
    assert.deepStrictEqual(peer.kinds(), ["initialize"])
    yield* allClosed(peer)
  }))

it.live("closing fails later messages with PeerEnded", () =>
  Effect.gen(function*() {
    const peer = yield* serve(withHandshake(() => {}))
    const client = yield* connect(peer)
    yield* client.handshake
    yield* client.closeAll
    const before = peer.received.length
    assert.strictEqual((yield* reasonOf(client.request(request(1))))._tag, "PeerEnded")
    assert.strictEqual((yield* reasonOf(client.send(notification(1))))._tag, "PeerEnded")
    assert.lengthOf(peer.received, before)
  }))

it.live("closing leaves no connection of requests in any state", () =>
  Effect.gen(function*() {
    const peer = yield* serve(withHandshake((received, reply) => {
      switch (Number(idOf(received)) % 4) {
        case 0:
          return
        case 1:
          return reply.raw(200, { "content-type": "application/json" }, "{", false)
        case 2:
          return void reply.stream().event(notification(1), `${String(idOf(received))}`)
        default:
          return reply.stream().event("", `${String(idOf(received))}`).end()
      }
    }))
    const client = yield* connect(peer, { reconnect: { initialInterval: "1 hour" } })
    yield* client.handshake
    const requesting = yield* forkNow(
      Effect.forEach(Array.from({ length: 40 }, (_, id) => id), (id) => reasonOf(client.request(request(id))), {
        concurrency: "unbounded"
      })
    )
    yield* until(() => client.messages().length === 10 && client.events.length >= 10 && peer.received.length === 43)
    yield* client.closeAll
    for (const reason of yield* Fiber.join(requesting)) assert.strictEqual(reason._tag, "PeerEnded")
    yield* allClosed(peer)
  }))
