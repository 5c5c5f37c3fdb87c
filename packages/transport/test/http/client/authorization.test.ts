/** The port `ClientAuthorization`, at servers over HTTP. */
import * as TransportError from "@effect-mcp/session/TransportError"
import {
  AuthenticationChallenge,
  ClientAuthorization,
  type HttpClientOptions,
  HttpFallbackClient,
  StreamableHttpClient
} from "@effect-mcp/transport/node"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"
import * as RequestAuthorization from "../../../src/internal/http/client/RequestAuthorization.ts"
import { connect, notification, reasonOf, request } from "../../support/httpClientConnection.ts"
import * as Person from "../../support/person.ts"
import { type Handler, response, serve, withHandshake } from "../../support/scriptedHttpServer.ts"

const challenge = "Bearer error=\"insufficient_scope\", scope=\"notes:read notes:write\""

const answerAll: Handler = (received, reply) => reply.json(response(received))

/** An authorization whose tokens are `0`, `1` and so on, each after a rejection, and its rejections. */
const counting = (limit = Number.POSITIVE_INFINITY) => {
  const rejections: Array<ClientAuthorization.RejectedRequest> = []
  const requests: Array<ClientAuthorization.OutgoingRequest> = []
  let values = Person.bearer("0")
  const authorization: ClientAuthorization.ClientAuthorization["Service"] = {
    of: () =>
      Effect.succeed({
        headers: (request) =>
          Effect.sync(() => {
            requests.push(request)
            return values
          }),
        rejected: (request) =>
          Effect.sync(() => {
            rejections.push(request)
            if (rejections.length > limit) return "Final"
            values = Person.bearer(String(rejections.length))
            return "Again"
          })
      })
  }
  return { authorization, rejections, requests }
}

describe("an authorization of Streamable HTTP", () => {
  it.live("[AUT-38] receives the challenge of a 403 with the operation, and the request is sent again", () =>
    Effect.gen(function*() {
      const { authorization, rejections } = counting()
      const peer = yield* serve(withHandshake((received, reply) =>
        received.headers.authorization === "Bearer 1"
          ? answerAll(received, reply)
          : reply.raw(403, { "www-authenticate": challenge, "dpop-nonce": "n1" }, "no")
      ))
      const client = yield* connect(peer, { standalone: false, authorization })
      yield* client.handshake
      yield* client.request({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "write" } })
      assert.deepStrictEqual(
        rejections.map(({ challenges: [first], header, method, operation, repetitions, status, url }) => ({
          scope: first?.parameters["scope"],
          nonce: header("dpop-nonce"),
          method,
          operation,
          repetitions,
          status,
          url: url.href
        })),
        [{
          scope: "notes:read notes:write",
          nonce: "n1",
          method: "POST",
          operation: "tools/call \"write\"",
          repetitions: 0,
          status: 403,
          url: peer.url
        }]
      )
      assert.lengthOf(client.messages(), 1)
    }))

  it.live("that is final at a 403 leaves the rejection with its text and its challenge", () =>
    Effect.gen(function*() {
      const { authorization, rejections } = counting(0)
      const peer = yield* serve((_, reply) => reply.raw(403, { "www-authenticate": challenge }, "not for you"))
      const client = yield* connect(peer, { authorization })
      const expected = {
        _tag: "Rejected",
        status: 403,
        problem: "not for you",
        retryAfterMillis: undefined,
        target: peer.url,
        challenge
      } as const
      assert.deepStrictEqual(yield* reasonOf(client.request(request(0, "initialize"))), expected)
      assert.lengthOf(rejections, 1)
      const without = yield* connect(peer)
      assert.deepStrictEqual(yield* reasonOf(without.request(request(0, "initialize"))), expected)
    }))

  it.live("does not handle a 403 without a challenge", () =>
    Effect.gen(function*() {
      const { authorization, rejections } = counting()
      const peer = yield* serve((_, reply) => reply.raw(403, {}, "no"))
      const client = yield* connect(peer, { authorization })
      assert.strictEqual((yield* reasonOf(client.request(request(0, "initialize"))))._tag, "Rejected")
      assert.lengthOf(rejections, 0)
    }))

  it.live("[AUT-40] is asked at most five times for one request", () =>
    Effect.gen(function*() {
      const { authorization, rejections } = counting()
      const peer = yield* serve((_, reply) => reply.raw(401, { "www-authenticate": "Bearer" }, ""))
      const client = yield* connect(peer, { authorization })
      assert.strictEqual((yield* reasonOf(client.request(request(0, "initialize"))))._tag, "Unauthenticated")
      assert.deepStrictEqual(rejections.map(({ repetitions }) => repetitions), [0, 1, 2, 3, 4])
      assert.lengthOf(peer.received, 6)
    }))

  it.live("authorizes the DELETE of a session whose token has expired", () =>
    Effect.gen(function*() {
      const { authorization, rejections } = counting()
      let token = "0"
      const ended: Array<unknown> = []
      const peer = yield* serve(Person.guarded(() => token, (received, reply) => {
        if (received.method === "DELETE") ended.push(received.headers["mcp-session-id"])
        withHandshake(answerAll)(received, reply)
      }))
      const client = yield* connect(peer, { standalone: false, authorization })
      yield* client.handshake
      token = "1"
      yield* client.closeAll
      assert.deepStrictEqual(ended, ["s1"])
      assert.deepStrictEqual(rejections.map(({ method, operation }) => [method, operation]), [["DELETE", undefined]])
    }))

  it.live("gives the headers of each request by its method and its URL, after redirects too", () =>
    Effect.gen(function*() {
      const { authorization, requests } = counting()
      const peer = yield* serve((received, reply) =>
        received.path === "/mcp"
          ? reply.raw(307, { location: "/moved" }, "")
          : withHandshake(answerAll)(received, reply)
      )
      const client = yield* connect(peer, { authorization })
      yield* client.handshake
      yield* client.closeAll
      assert.deepStrictEqual(requests.slice(0, 3).map(({ method, url }) => `${method} ${url.pathname}`), [
        "POST /mcp",
        "POST /moved",
        "POST /moved"
      ])
      assert.include(requests.map(({ method, url }) => `${method} ${url.pathname}`), "DELETE /moved")
    }))

  it.live("learns what the server sends with other responses", () =>
    Effect.gen(function*() {
      const person = Person.make()
      const peer = yield* serve(withHandshake(answerAll))
      const client = yield* connect(peer, { standalone: false, authorization: person.authorization })
      yield* client.handshake
      yield* client.send(notification(1))
      assert.deepStrictEqual(person.responses, ["POST /mcp", "POST /mcp", "POST /mcp"])
    }))

  const broken: Readonly<Record<string, ClientAuthorization.ClientAuthorization["Service"]>> = {
    "headers": {
      of: () => Effect.succeed({ headers: () => Effect.die("broken"), rejected: () => Effect.succeed("Again") })
    },
    "rejected": {
      of: () =>
        Effect.succeed({
          headers: () => Effect.succeed({}),
          rejected: () => {
            throw new Error("broken")
          }
        })
    }
  }
  for (const [name, authorization] of Object.entries(broken)) {
    it.live(`that throws an exception fails the request with AuthorizationFailed: ${name}`, () =>
      Effect.gen(function*() {
        const peer = yield* serve((_, reply) => reply.raw(401, {}, ""))
        const client = yield* connect(peer, { authorization })
        const reason = yield* reasonOf(client.request(request(0, "initialize")))
        assert.strictEqual(reason._tag, "AuthorizationFailed")
        assert.include(
          TransportError.make(reason).message,
          `could not authorize this client at ${peer.url}: the authorization threw an exception`
        )
      }))
  }
})

describe("a challenge that cannot be read", () => {
  const headers: ReadonlyArray<readonly [string, string, number]> = [
    ["of 1 MB", `Bearer scope="read", ${"Scheme x=y, ".repeat(80_000)}`, AuthenticationChallenge.bounds.maxChallenges],
    ["that is broken", "=\"", 0],
    ["of ten schemes", Array.from({ length: 10 }, (_, index) => `Scheme${index} realm="x"`).join(", "), 10]
  ]
  it.effect.each(headers)(
    "is used as far as it can be, and is logged without its text: one %s",
    ([name, text, read]) =>
      Effect.gen(function*() {
        const logged: Array<string> = []
        const { authorization, rejections } = counting()
        const url = new URL("https://notes.example/mcp")
        const authorizing = yield* RequestAuthorization.of(authorization, url)
        const sent = authorizing?.begin("POST", url, () => undefined)
        if (authorizing === undefined || sent === undefined) return
        const logger = Logger.make(({ message }) => void logged.push(JSON.stringify(message)))
        for (let time = 0; time < 3; time++) {
          yield* Effect.provide(authorizing.rejected(sent, { status: 401, header: () => text }), Logger.layer([logger]))
        }
        assert.deepStrictEqual(rejections.map(({ challenges }) => challenges.length), [read, read, read])
        assert.lengthOf(logged, name === "of ten schemes" ? 0 : 1)
        assert.notInclude(logged.join(""), "Scheme")
        assert.include(logged[0] ?? url.origin, url.origin)
      })
  )
})

describe("a function of an authorization that never completes", () => {
  const accepting = { headers: () => Effect.succeed({}), rejected: () => Effect.succeed("Again" as const) }
  const silent: Readonly<Record<string, ClientAuthorization.ClientAuthorization["Service"]>> = {
    "of": { of: () => Effect.never },
    "headers": { of: () => Effect.succeed({ ...accepting, headers: () => Effect.never }) },
    "headers, uninterruptible": {
      of: () => Effect.succeed({ ...accepting, headers: () => Effect.uninterruptible(Effect.never) })
    },
    "rejected": { of: () => Effect.succeed({ ...accepting, rejected: () => Effect.never }) }
  }
  for (const [name, authorization] of Object.entries(silent)) {
    it.effect(`fails the request after a minute: ${name}`, () =>
      Effect.gen(function*() {
        const url = new URL("https://notes.example/mcp")
        const request = Effect.gen(function*() {
          const authorizing = yield* RequestAuthorization.of(authorization, url)
          const sent = authorizing?.begin("POST", url, () => undefined)
          if (authorizing === undefined || sent === undefined) return
          yield* authorizing.headers(sent, url)
          yield* authorizing.rejected(sent, { status: 401, header: () => undefined })
        })
        const failing = yield* Effect.forkChild(Effect.flip(request), { startImmediately: true })
        yield* TestClock.adjust("59 seconds")
        assert.isUndefined(failing.pollUnsafe())
        yield* TestClock.adjust("1 second")
        const { message, reason } = yield* Fiber.join(failing)
        assert.strictEqual(reason._tag, "AuthorizationFailed")
        assert.include(message, `ClientAuthorization.${name.split(",")[0]}: timed out after 60000 ms`)
      }))
  }
})

describe("the authorization of a client", () => {
  it.live("is the service of the context in which its Layer is built, unless it is an option", () =>
    Effect.gen(function*() {
      const peer = yield* serve(withHandshake(answerAll))
      const [service, option] = [Person.make(), Person.make()]
      for (const own of [undefined, option.authorization]) {
        const transport = yield* StreamableHttpClient.make({ url: peer.url, authorization: own }).pipe(
          Effect.provideService(ClientAuthorization.ClientAuthorization, service.authorization),
          Effect.provide(NodeHttpClient.layerUndici)
        )
        yield* Effect.scoped(transport.connect)
      }
      assert.deepStrictEqual([service.servers, option.servers], [[peer.url], [peer.url]])
      yield* Effect.scoped(Layer.build(Layer.provide(
        StreamableHttpClient.layerNode({ url: peer.url }),
        Layer.succeed(ClientAuthorization.ClientAuthorization, service.authorization)
      )))
    }))

  it.live("is one for both transports of a client that falls back, and for all clients of one URL", () =>
    Effect.gen(function*() {
      let runs = 0
      const authorization = ClientAuthorization.fromChallenge(() => Effect.sync(() => Person.bearer(`t${++runs}`)))
      const peer = yield* serve(Person.guarded(() => "t1", withHandshake(answerAll)))
      for (const make of [HttpFallbackClient.make, StreamableHttpClient.make, StreamableHttpClient.make]) {
        yield* Effect.gen(function*() {
          const transport = yield* make({ url: peer.url, authorization, standalone: false })
          const { request: send } = yield* transport.connect
          yield* send?.(request(0, "initialize")) ?? Effect.die("no streams")
        }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici))
      }
      assert.strictEqual(runs, 1)
      const [one, other] = yield* Effect.all([
        authorization.of(new URL(peer.url)),
        authorization.of(new URL("/other", peer.url))
      ])
      assert.strictEqual(one, yield* authorization.of(new URL(peer.url)))
      assert.notStrictEqual(one, other)
    }))
})

describe("a function of the challenges", () => {
  it.live("does not run again for headers that the server has never accepted, at whatever connection", () =>
    Effect.gen(function*() {
      let runs = 0
      const authorization = ClientAuthorization.fromChallenge(() => Effect.sync(() => Person.bearer(`t${++runs}`)))
      const peer = yield* serve((_, reply) => reply.raw(401, { "www-authenticate": "Bearer" }, ""))
      for (let connection = 0; connection < 5; connection++) {
        const client = yield* connect(peer, { authorization })
        assert.strictEqual((yield* reasonOf(client.request(request(0, "initialize"))))._tag, "Unauthenticated")
      }
      assert.strictEqual(runs, 1)
    }))

  it.effect("counts its headers as accepted by a response to them only", () =>
    Effect.gen(function*() {
      let runs = 0
      const url = new URL("https://notes.example/mcp")
      const authorization = ClientAuthorization.fromChallenge(() => Effect.sync(() => Person.bearer(`t${++runs}`)))
      const server = yield* authorization.of(url)
      const sent = (sentWith: HttpClientOptions.HeaderValues) => ({ method: "POST", url, sentWith }) as const
      const rejected = (sentWith: HttpClientOptions.HeaderValues) =>
        server.rejected({
          ...sent(sentWith),
          status: 401,
          challenges: [],
          operation: undefined,
          repetitions: 0,
          header: () => undefined
        })
      const before = yield* server.headers(sent({}))
      assert.strictEqual(yield* rejected(before), "Again")
      const first = yield* server.headers(sent({}))
      // A slow response to a request that was sent before.
      server.responded?.(sent(before), () => undefined)
      assert.strictEqual(yield* rejected(first), "Final")
      server.responded?.(sent(first), () => undefined)
      assert.strictEqual(yield* rejected(first), "Again")
      assert.strictEqual(runs, 2)
    }))

  it.live("that dies fails the request with AuthorizationFailed, and runs again for the next one", () =>
    Effect.gen(function*() {
      let runs = 0
      const authorization = ClientAuthorization.fromChallenge(() =>
        ++runs === 1 ? Effect.die(new Error("broken")) : Effect.succeed(Person.bearer("good"))
      )
      const peer = yield* serve(Person.guarded(() => "good", withHandshake(answerAll)))
      const client = yield* connect(peer, { authorization, standalone: false })
      assert.strictEqual((yield* reasonOf(client.request(request(0, "initialize"))))._tag, "AuthorizationFailed")
      yield* client.request(request(0, "initialize"))
      assert.strictEqual(runs, 2)
    }))
})
