import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import {
  beside,
  connect,
  nothingLeft,
  notification,
  reasonOf,
  request,
  until
} from "../../../fixtures/httpConnection.ts"
import {
  type Handler,
  idOf,
  initializeResult,
  mcp,
  type Received,
  type Reply,
  response,
  serve
} from "../../../fixtures/httpPeer.ts"

it.live("[SHS-28] leaving ends the session at the server, behind everything else", () =>
  Effect.gen(function*() {
    const overWhenEnded: Array<boolean> = []
    const others = mcp((_, reply) => {
      reply.stream().event(notification(1))
    })
    const peer = yield* serve((received, reply) => {
      if (received.what === "DELETE") overWhenEnded.push(peer.received.every((one) => one === received || one.isOver()))
      others(received, reply)
    })
    const client = yield* connect(peer)
    yield* client.shake
    const asking = yield* beside(reasonOf(client.request(request(1))))
    yield* until(() => client.messages().length === 1)
    yield* client.leave
    assert.strictEqual((yield* Fiber.join(asking))._tag, "PeerEnded")
    assert.strictEqual(peer.asked().at(-1), "DELETE")
    assert.strictEqual(peer.received.at(-1)?.headers["mcp-session-id"], "s1")
    assert.deepStrictEqual(overWhenEnded, [true])
    yield* nothingLeft(peer)
  }))

for (const status of [200, 202, 204, 400, 404, 405, 500]) {
  it.live(`[SHS-28] ${status} is a good enough answer to the end`, () =>
    Effect.gen(function*() {
      const others = mcp(() => {})
      const peer = yield* serve((received, reply) =>
        received.what === "DELETE" ? reply.status(status) : others(received, reply)
      )
      const client = yield* connect(peer)
      yield* client.shake
      yield* client.leave
      assert.strictEqual(peer.asked().at(-1), "DELETE")
      yield* nothingLeft(peer)
    }))
}

it.live("[SHS-28] a server that does not answer to the end is not waited for, and nothing is left", () =>
  Effect.gen(function*() {
    const others = mcp(() => {})
    const silent: Handler = (received, reply) => {
      if (received.what !== "DELETE") others(received, reply)
    }
    const peer = yield* serve(silent)
    const client = yield* connect(peer, { closeTimeout: "20 millis" })
    yield* client.shake
    yield* client.leave
    yield* nothingLeft(peer)
  }))

it.live("a server that has gone is no hindrance to leaving", () =>
  Effect.gen(function*() {
    const client = yield* Effect.scoped(Effect.gen(function*() {
      const peer = yield* serve(mcp(() => {}))
      const client = yield* connect(peer)
      yield* client.shake
      return client
    }))
    yield* client.leave
  }))

it.live("[SHS-28] an end that the connection is closed under is said once more, and not for ever", () =>
  Effect.gen(function*() {
    for (const cuts of [1, 2]) {
      let ends = 0
      const others = mcp(() => {})
      const peer = yield* serve((received, reply) =>
        received.what === "DELETE" && ++ends <= cuts ? reply.cut() : others(received, reply)
      )
      const client = yield* connect(peer)
      yield* client.shake
      yield* client.leave
      assert.deepStrictEqual(peer.asked().slice(2).filter((what) => what !== "GET"), ["DELETE", "DELETE"])
      assert.strictEqual(peer.received.at(-1)?.headers["mcp-session-id"], "s1")
      yield* nothingLeft(peer)
    }
  }))

it.live("[SHS-28] an end that is said once more is not waited for any longer", () =>
  Effect.gen(function*() {
    let ends = 0
    const others = mcp(() => {})
    const peer = yield* serve((received, reply) => {
      if (received.what !== "DELETE") return others(received, reply)
      if (++ends === 1) reply.cut()
    })
    const client = yield* connect(peer, { closeTimeout: "50 millis" })
    yield* client.shake
    yield* client.leave
    yield* nothingLeft(peer)
  }))

/** A server that shakes hands when it is told to. */
const hesitant = (answer: Handler) => {
  const held: Array<() => void> = []
  const handler: Handler = (received, reply) => {
    if (received.what === "initialize") held.push(() => answer(received, reply))
    else reply.status(204)
  }
  return { held, handler }
}

const sessionHeader = { "mcp-session-id": "s1" }

for (
  const [how, answer] of [
    [
      "in JSON",
      (received: Received, reply: Reply) => reply.json(response(received, initializeResult()), sessionHeader)
    ],
    ["with a stream on which nothing comes", (_: Received, reply: Reply) => void reply.stream(sessionHeader)]
  ] as const
) {
  it.live(`[SHS-28] whoever leaves in the handshake ends the session that is answered ${how}`, () =>
    Effect.gen(function*() {
      const server = hesitant(answer)
      const peer = yield* serve(server.handler)
      const client = yield* connect(peer, { closeTimeout: "1 hour" })
      const asking = yield* beside(reasonOf(client.request(request(0, "initialize"))))
      yield* until(() => server.held.length === 1)
      const leaving = yield* beside(client.leave)
      // Whoever has asked does not wait for it.
      assert.strictEqual((yield* Fiber.join(asking))._tag, "PeerEnded")
      server.held[0]?.()
      yield* Fiber.join(leaving)
      assert.deepStrictEqual(
        peer.received.map(({ headers, what }) => [what, headers["mcp-session-id"]]),
        [["initialize", undefined], ["DELETE", "s1"]]
      )
      yield* nothingLeft(peer)
    }))
}

it.live("[SHS-28] whoever leaves in the handshake ends the session though the connection is closed under it", () =>
  Effect.gen(function*() {
    const server = hesitant((received, reply) => reply.json(response(received, initializeResult()), sessionHeader))
    let ends = 0
    const peer = yield* serve((received, reply) =>
      received.what === "DELETE" && ++ends === 1 ? reply.cut() : server.handler(received, reply)
    )
    const client = yield* connect(peer, { closeTimeout: "1 hour" })
    yield* beside(reasonOf(client.request(request(0, "initialize"))))
    yield* until(() => server.held.length === 1)
    const leaving = yield* beside(client.leave)
    server.held[0]?.()
    yield* Fiber.join(leaving)
    assert.deepStrictEqual(peer.asked(), ["initialize", "DELETE", "DELETE"])
    yield* nothingLeft(peer)
  }))

it.live("[SHS-28] a handshake that is given up ends its session, and leaving does not do it again", () =>
  Effect.gen(function*() {
    const server = hesitant((received, reply) => reply.json(response(received, initializeResult()), sessionHeader))
    const peer = yield* serve(server.handler)
    const client = yield* connect(peer, { closeTimeout: "1 hour" })
    const asking = yield* beside(client.request(request(0, "initialize")))
    yield* until(() => server.held.length === 1)
    yield* Fiber.interrupt(asking)
    server.held[0]?.()
    yield* until(() => peer.asked().includes("DELETE"))
    yield* client.leave
    assert.deepStrictEqual(peer.asked(), ["initialize", "DELETE"])
    assert.strictEqual(peer.received.at(-1)?.headers["mcp-session-id"], "s1")
    yield* nothingLeft(peer)
  }))

for (
  const [how, answer] of [
    ["brings none", (received, reply) => reply.json(response(received, initializeResult()))],
    ["is a refusal", (_, reply) => reply.status(503, undefined, sessionHeader)],
    ["does not come", (_, reply) => reply.cut()]
  ] satisfies ReadonlyArray<[string, Handler]>
) {
  it.live(`whoever leaves in a handshake whose answer ${how} has no session to end`, () =>
    Effect.gen(function*() {
      const server = hesitant(answer)
      const peer = yield* serve(server.handler)
      const client = yield* connect(peer, { closeTimeout: "1 hour" })
      yield* beside(reasonOf(client.request(request(0, "initialize"))))
      yield* until(() => server.held.length === 1)
      const leaving = yield* beside(client.leave)
      server.held[0]?.()
      yield* Fiber.join(leaving)
      assert.deepStrictEqual(peer.asked(), ["initialize"])
      yield* nothingLeft(peer)
    }))
}

it.live("whoever leaves while asked who they are does not wait, and opens no session", () =>
  Effect.gen(function*() {
    const peer = yield* serve((_, reply) => reply.status(401))
    let isAsked = false
    const authorize = () =>
      Effect.suspend(() => {
        isAsked = true
        return Effect.never
      })
    const client = yield* connect(peer, { authorize, closeTimeout: "1 hour" })
    yield* beside(reasonOf(client.request(request(0, "initialize"))))
    yield* until(() => isAsked)
    yield* client.leave
    assert.deepStrictEqual(peer.asked(), ["initialize"])
    yield* nothingLeft(peer)
  }))

it.live("a handshake that is not answered is not waited for", () =>
  Effect.gen(function*() {
    const peer = yield* serve(() => {})
    const client = yield* connect(peer, { closeTimeout: "20 millis" })
    const asking = yield* beside(reasonOf(client.request(request(0, "initialize"))))
    yield* until(() => peer.received.length === 1)
    yield* client.leave
    assert.strictEqual((yield* Fiber.join(asking))._tag, "PeerEnded")
    assert.deepStrictEqual(peer.asked(), ["initialize"])
    yield* nothingLeft(peer)
  }))

it.live("what is sent after the end fails as such", () =>
  Effect.gen(function*() {
    const peer = yield* serve(mcp(() => {}))
    const client = yield* connect(peer)
    yield* client.shake
    yield* client.leave
    const before = peer.received.length
    assert.strictEqual((yield* reasonOf(client.request(request(1))))._tag, "PeerEnded")
    assert.strictEqual((yield* reasonOf(client.send(notification(1))))._tag, "PeerEnded")
    assert.lengthOf(peer.received, before)
  }))

it.live("many requests in every state leave nothing", () =>
  Effect.gen(function*() {
    const peer = yield* serve(mcp((received, reply) => {
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
    yield* client.shake
    const asking = yield* beside(
      Effect.forEach(Array.from({ length: 40 }, (_, id) => id), (id) => reasonOf(client.request(request(id))), {
        concurrency: "unbounded"
      })
    )
    yield* until(() => client.messages().length === 10 && client.events.length >= 10 && peer.received.length === 43)
    yield* client.leave
    for (const reason of yield* Fiber.join(asking)) assert.strictEqual(reason._tag, "PeerEnded")
    yield* nothingLeft(peer)
  }))
