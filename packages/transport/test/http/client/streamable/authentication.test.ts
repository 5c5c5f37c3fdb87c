import { AuthenticationChallenge, ClientAuthorization, type HttpClientOptions } from "@effect-mcp/transport"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { connect, notification, reasonOf, request } from "../../../support/httpClientConnection.ts"
import { type Handler, response, serve, withHandshake } from "../../../support/scriptedHttpServer.ts"

const challenge = "Bearer resource_metadata=\"https://example.com/.well-known/oauth-protected-resource\""

/** Serves requests with this token, and rejects all others with 401 and a challenge. */
const guarded = (token: () => string): Handler => {
  const serveRequest = withHandshake((received, reply) =>
    received.kind === "tools/call" ? reply.json(response(received)) : reply.status(202)
  )
  return (received, reply) =>
    received.headers.authorization === `Bearer ${token()}`
      ? serveRequest(received, reply)
      : reply.raw(401, { "www-authenticate": challenge }, "Unauthorized")
}

const bearer = (token: string): HttpClientOptions.HeaderValues => ({
  Authorization: Redacted.make(`Bearer ${token}`)
})

it.live("headers are sent with every request, and an effect of headers is evaluated for each", () =>
  Effect.gen(function*() {
    let count = 0
    const peer = yield* serve(withHandshake((received, reply) => reply.json(response(received))))
    const client = yield* connect(peer, {
      headers: Effect.sync(() => ({ "X-Count": String(++count), "Mcp-Session-Id": "mine", Accept: "mine" })),
      standalone: false
    })
    yield* client.handshake
    yield* client.request(request(1))
    yield* client.closeAll
    assert.deepStrictEqual(
      peer.received.map(({ headers, kind }) => [kind, headers["x-count"], headers["mcp-session-id"]]),
      [
        ["initialize", "1", "mine"],
        ["notifications/initialized", "2", "s1"],
        ["tools/call", "3", "s1"],
        ["DELETE", "4", "s1"]
      ]
    )
  }))

it.live("[AUT-05] the authorization handles a 401; its headers are sent with the retry and all later messages", () =>
  Effect.gen(function*() {
    const received: Array<unknown> = []
    const peer = yield* serve(guarded(() => "good"))
    const client = yield* connect(peer, {
      standalone: false,
      authorization: ClientAuthorization.fromChallenge((challenges) =>
        Effect.sync(() => {
          received.push(challenges)
          return bearer("good")
        })
      )
    })
    yield* client.handshake
    yield* client.request(request(1))
    yield* client.send(notification(1))
    yield* client.closeAll
    assert.deepStrictEqual(received, [AuthenticationChallenge.parse(challenge)])
    assert.deepStrictEqual(peer.kinds(), [
      "initialize",
      "initialize",
      "notifications/initialized",
      "tools/call",
      "notifications/message",
      "DELETE"
    ])
  }))

it.live("the function of the challenges runs once for a request whose retry is rejected, too", () =>
  Effect.gen(function*() {
    let authorizations = 0
    const peer = yield* serve(guarded(() => "good"))
    const client = yield* connect(peer, {
      authorization: ClientAuthorization.fromChallenge(() =>
        Effect.sync(() => {
          authorizations++
          return bearer("bad")
        })
      )
    })
    assert.deepStrictEqual(yield* reasonOf(client.request(request(0, "initialize"))), {
      _tag: "Unauthenticated",
      challenge,
      target: peer.url
    })
    assert.strictEqual(authorizations, 1)
    assert.lengthOf(peer.received, 2)
  }))

it.live("a request that is rejected with 401 fails at once without an authorization, or if that gives no headers", () =>
  Effect.gen(function*() {
    const peer = yield* serve(guarded(() => "good"))
    for (const options of [{}, { authorization: ClientAuthorization.fromChallenge(() => Effect.undefined) }]) {
      const client = yield* connect(peer, options)
      assert.deepStrictEqual(yield* reasonOf(client.request(request(0, "initialize"))), {
        _tag: "Unauthenticated",
        challenge,
        target: peer.url
      })
    }
    assert.lengthOf(peer.received, 2)
  }))

it.live("the function of the challenges runs once for all messages that are rejected meanwhile", () =>
  Effect.gen(function*() {
    let token = "old"
    let authorizations = 0
    const peer = yield* serve(guarded(() => token))
    const client = yield* connect(peer, {
      headers: bearer("old"),
      authorization: ClientAuthorization.fromChallenge(() =>
        Effect.gen(function*() {
          authorizations++
          while (peer.received.length < 7) yield* Effect.sleep("2 millis")
          return bearer("new")
        })
      )
    })
    yield* client.handshake
    while (!peer.kinds().includes("GET")) yield* Effect.sleep("2 millis")
    token = "new"
    yield* Effect.forEach([1, 2, 3, 4], (id) => client.request(request(id)), { concurrency: "unbounded" })
    assert.strictEqual(authorizations, 1)
    assert.lengthOf(client.messages(), 4)
  }))
