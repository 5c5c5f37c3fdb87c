import type { HttpClientOptions } from "@effect-mcp/transport"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { connect, notification, reasonOf, request } from "../../../fixtures/httpConnection.ts"
import { type Handler, mcp, response, serve } from "../../../fixtures/httpPeer.ts"

const challenge = "Bearer resource_metadata=\"https://example.com/.well-known/oauth-protected-resource\""

/** Lets in who has this token, and tells everybody else how to get one. */
const guarded = (token: () => string): Handler => {
  const inside = mcp((received, reply) =>
    received.what === "tools/call" ? reply.json(response(received)) : reply.status(202)
  )
  return (received, reply) =>
    received.headers.authorization === `Bearer ${token()}`
      ? inside(received, reply)
      : reply.raw(401, { "www-authenticate": challenge }, "Who are you?")
}

const bearer = (token: string): HttpClientOptions.HeaderValues => ({
  Authorization: Redacted.make(`Bearer ${token}`)
})

it.live("headers go with every request, and may be found out anew for each", () =>
  Effect.gen(function*() {
    let count = 0
    const peer = yield* serve(mcp((received, reply) => reply.json(response(received))))
    const client = yield* connect(peer, {
      headers: Effect.sync(() => ({ "X-Count": String(++count), "Mcp-Session-Id": "mine", Accept: "mine" })),
      standalone: false
    })
    yield* client.shake
    yield* client.request(request(1))
    yield* client.leave
    assert.deepStrictEqual(
      peer.received.map(({ headers, what }) => [what, headers["x-count"], headers["mcp-session-id"]]),
      [
        ["initialize", "1", "mine"],
        ["notifications/initialized", "2", "s1"],
        ["tools/call", "3", "s1"],
        ["DELETE", "4", "s1"]
      ]
    )
  }))

it.live("a 401 asks for a proof, with which the message is tried once more, and all that follow", () =>
  Effect.gen(function*() {
    const asked: Array<string | undefined> = []
    const peer = yield* serve(guarded(() => "good"))
    const client = yield* connect(peer, {
      standalone: false,
      authorize: (how) =>
        Effect.sync(() => {
          asked.push(how)
          return bearer("good")
        })
    })
    yield* client.shake
    yield* client.request(request(1))
    yield* client.send(notification(1))
    yield* client.leave
    assert.deepStrictEqual(asked, [challenge])
    assert.deepStrictEqual(peer.asked(), [
      "initialize",
      "initialize",
      "notifications/initialized",
      "tools/call",
      "notifications/message",
      "DELETE"
    ])
  }))

it.live("a proof that does not help is not asked for again", () =>
  Effect.gen(function*() {
    let asked = 0
    const peer = yield* serve(guarded(() => "good"))
    const client = yield* connect(peer, {
      authorize: () =>
        Effect.sync(() => {
          asked++
          return bearer("bad")
        })
    })
    assert.deepStrictEqual(yield* reasonOf(client.request(request(0, "initialize"))), {
      _tag: "Unauthenticated",
      challenge
    })
    assert.strictEqual(asked, 1)
    assert.lengthOf(peer.received, 2)
  }))

it.live("without a proof, a message that is refused with 401 fails at once", () =>
  Effect.gen(function*() {
    const peer = yield* serve(guarded(() => "good"))
    for (const options of [{}, { authorize: () => Effect.as(Effect.void, undefined) }]) {
      const client = yield* connect(peer, options)
      assert.deepStrictEqual(yield* reasonOf(client.request(request(0, "initialize"))), {
        _tag: "Unauthenticated",
        challenge
      })
    }
    assert.lengthOf(peer.received, 2)
  }))

it.live("one new proof serves all messages that were refused while it was got", () =>
  Effect.gen(function*() {
    let token = "old"
    let asked = 0
    const peer = yield* serve(guarded(() => token))
    const client = yield* connect(peer, {
      headers: bearer("old"),
      authorize: () =>
        Effect.gen(function*() {
          asked++
          while (peer.received.length < 7) yield* Effect.sleep("2 millis")
          return bearer("new")
        })
    })
    yield* client.shake
    while (!peer.asked().includes("GET")) yield* Effect.sleep("2 millis")
    token = "new"
    yield* Effect.forEach([1, 2, 3, 4], (id) => client.request(request(id)), { concurrency: "unbounded" })
    assert.strictEqual(asked, 1)
    assert.lengthOf(client.messages(), 4)
  }))
