/** Supervised clients whose servers require that a person authorizes them. */
import { McpClient, McpClients, McpTarget, ServerStatus } from "@effect-mcp/client/node"
import * as TransportError from "@effect-mcp/session/TransportError"
import { ClientAuthorization } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Person from "../../transport/test/support/person.ts"
import { response, serve, withHandshake } from "../../transport/test/support/scriptedHttpServer.ts"
import { until } from "./support/until.ts"

const options = {
  info: { name: "host", version: "1.0.0" },
  revisions: ["2025-11-25"],
  reconnect: Schedule.spaced("20 millis"),
  healthCheck: false
} as const

const served = withHandshake((received, reply) => reply.json(response(received, { content: [] })))

const statusOf = (client: McpClient.McpClientShape, tag: ServerStatus.ServerStatus["_tag"]) =>
  Stream.runHead(Stream.filter(client.statuses, ({ _tag }) => _tag === tag))

describe("a supervised client that a person has to authorize", () => {
  it.live("waits for the person instead of reconnecting, and names the page to calls", () =>
    Effect.gen(function*() {
      const person = Person.make()
      const { authorization } = person
      const peer = yield* serve(Person.guarded(() => "good", served))
      const client = yield* McpClient.make(McpTarget.url(peer.url, { authorization, standalone: false }), {
        ...options,
        limits: { handshakeTimeout: 1_000 }
      })
      yield* statusOf(client, "Authorizing")
      const status = yield* client.status
      assert.deepStrictEqual(status, { _tag: "Authorizing", url: Person.page, code: undefined, since: 1 })
      assert.strictEqual(
        ServerStatus.describe(status),
        `it requires that a person authorizes this client since 1970-01-01T00:00:00.001Z; visit ${Person.page}`
      )
      const error = yield* Effect.flip(client.callTool("write", {}, { waitTimeout: 1_300 }))
      assert.strictEqual(error._tag, "ServerUnavailableError")
      assert.include(error.message, `visit ${Person.page}; the call waited`)
      assert.include(error.message, "call it again after that, or set waitTimeout to wait longer")
      assert.lengthOf(peer.received, 1)

      const calling = yield* Effect.forkChild(client.callTool("write"), { startImmediately: true })
      person.signIn("good")
      yield* statusOf(client, "Ready")
      yield* until(() => calling.pollUnsafe() !== undefined)
      assert.lengthOf(person.rejections, 1)
      assert.strictEqual(peer.kinds().filter((kind) => kind === "tools/call").length, 1)
    }))

  it.live("connects again after a failure that is not permanent", () =>
    Effect.gen(function*() {
      let attempts = 0
      const authorization: ClientAuthorization.ClientAuthorization["Service"] = {
        of: (server) =>
          Effect.succeed({
            headers: () => Effect.succeed(attempts > 2 ? Person.bearer("good") : {}),
            rejected: () =>
              Effect.suspend(() => {
                attempts++
                const [target, problem] = [server.href, "the token endpoint is away"]
                return TransportError.make({ _tag: "AuthorizationFailed", target, problem, cause: undefined })
              })
          })
      }
      const peer = yield* serve(Person.guarded(() => "good", served))
      const client = yield* McpClient.make(McpTarget.url(peer.url, { authorization, standalone: false }), options)
      yield* client.callTool("write")
      assert.strictEqual(attempts, 3)
    }))

  it.live("fails calls at once after a permanent failure, and causes no authorization by reconnecting", () =>
    Effect.gen(function*() {
      const person = Person.make()
      const { authorization } = person
      const peer = yield* serve(Person.guarded(() => "good", served))
      const client = yield* McpClient.make(McpTarget.url(peer.url, { authorization, standalone: false }), {
        ...options,
        reconnect: Schedule.spaced("1 hour")
      })
      yield* statusOf(client, "Authorizing")
      person.refuse()
      yield* statusOf(client, "Down")
      const error = yield* Effect.flip(client.callTool("write"))
      assert.include(error.message, "could not authorize this client at the server: the person has refused")
      assert.include(error.message, "; correct the cause")
    }))

  it.live("at a server that always answers 401 is authorized once, however often it reconnects", () =>
    Effect.gen(function*() {
      let runs = 0
      const authorization = ClientAuthorization.fromChallenge(() => Effect.sync(() => Person.bearer(`t${++runs}`)))
      const peer = yield* serve((_, reply) => reply.raw(401, { "www-authenticate": "Bearer" }, ""))
      const client = yield* McpClient.make(McpTarget.url(peer.url, { authorization, standalone: false }), options)
      yield* Stream.runHead(
        Stream.filter(client.statuses, (status) => status._tag === "Down" && status.attempts >= 5)
      )
      assert.strictEqual(runs, 1)
    }))

  it.live("does not close a session whose health check waits for a person", () =>
    Effect.gen(function*() {
      const person = Person.make()
      person.signIn("one")
      const { authorization } = person
      let token = "one"
      const peer = yield* serve(Person.guarded(() => token, served))
      const client = yield* McpClient.make(McpTarget.url(peer.url, { authorization, standalone: false }), {
        ...options,
        healthCheck: { interval: 50, timeout: 700 }
      })
      yield* statusOf(client, "Ready")
      token = "two"
      yield* until(() => person.rejections.length >= 2)
      assert.strictEqual((yield* client.status)._tag, "Ready")
      person.signIn("two")
      yield* client.callTool("write")
      assert.strictEqual(peer.kinds().filter((kind) => kind === "initialize").length, 1)
    }))

  it.live("fails a call at its own deadline, in a session that stays", () =>
    Effect.gen(function*() {
      const person = Person.make()
      person.signIn("one")
      const { authorization } = person
      let token = "one"
      const peer = yield* serve(Person.guarded(() => token, served))
      const client = yield* McpClient.make(McpTarget.url(peer.url, { authorization, standalone: false }), options)
      yield* client.callTool("write")
      token = "two"
      const error = yield* Effect.flip(client.callTool("write", {}, { timeout: 100, waitTimeout: "1 minute" }))
      assert.include(error.message, `requires that a person authorizes this client; visit ${Person.page}`)
    }))

  it.live("does not keep a group from the tools of its other servers", () =>
    Effect.gen(function*() {
      const person = Person.make()
      const { authorization } = person
      const peer = yield* serve(Person.guarded(() => "good", served))
      const other = yield* serve(withHandshake((received, reply) =>
        reply.json(response(received, { tools: [{ name: "read", inputSchema: { type: "object" } }] }))
      ))
      const clients = yield* McpClients.make({
        locked: McpTarget.url(peer.url, { authorization, standalone: false }),
        open: McpTarget.url(other.url, { standalone: false })
      }, { ...options, listWaitTimeout: "2 seconds" })
      yield* statusOf(clients.client("locked"), "Authorizing")
      assert.lengthOf(yield* clients.tools, 1)
    }))

  for (const [name, of] of [["dies", Effect.die(new Error("broken"))], ["never returns", Effect.never]] as const) {
    it.effect(`has no account, and starts nevertheless, if its authorization ${name}`, () =>
      Effect.gen(function*() {
        const target = McpTarget.url("http://127.0.0.1:9/mcp", { authorization: { of: () => of } })
        const making = yield* Effect.forkChild(McpClient.make(target, options), { startImmediately: true })
        yield* TestClock.adjust("5 seconds")
        assert.isUndefined((yield* Fiber.join(making)).account)
      }))
  }
})
