/** Defects that let a call wait forever, or until its timeout. */
import { Content, type JsonRpc, Revision } from "@effect-mcp/protocol"
import { ClientSession, RequestContext, ServerSession, SessionHost } from "@effect-mcp/session"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Child from "../fixtures/child.ts"
import type { Mode } from "../fixtures/featureServerHttp.ts"
import * as HttpListener from "../fixtures/httpListener.ts"
import * as LocalServer from "../fixtures/localServer.ts"
import { call, OfficialClient, result } from "../fixtures/officialClient.ts"
import { type Peer, peers } from "../fixtures/officialClients.ts"
import * as TcpProxy from "../fixtures/tcpProxy.ts"
import { make } from "../host/conditions.ts"
import { peers as servers } from "../host/peers.ts"
import { serverRequest } from "../host/results.ts"
import { members } from "../notebook/results.ts"

const http = Effect.map(OfficialClient, ({ http }) => {
  assert(http !== undefined)
  return http
})

/** A server whose tool name selects the behaviour, and the start and the interruption of a call that never returns. */
const makeServer = Effect.gen(function*() {
  const started = yield* Deferred.make<void>()
  const interrupted = yield* Deferred.make<void>()
  const handlers = ServerSession.handlers({
    "tools/call": ({ name }) => {
      switch (name) {
        case "wait":
          return Effect.andThen(
            Deferred.succeed(started, undefined),
            Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
          )
        case "null":
          return Effect.die(null)
        case "unserializable":
          return Effect.succeed({ content: [], structuredContent: { beads: 1n } })
        case "list-roots":
          return Effect.match(RequestContext.listRoots(), {
            onSuccess: ({ roots }) => ({ content: [Content.text(`${roots.length} roots`)] }),
            onFailure: ({ message }) => ({ content: [Content.text(message)], isError: true })
          })
        default:
          return Effect.succeed({ content: [Content.text(name)] })
      }
    }
  })
  const host = SessionHost.layer(handlers, {
    info: { name: "example", version: "1.0.0" },
    limits: { gracefulTimeout: "50 millis" }
  })
  return { host, started: Deferred.await(started), interrupted: Deferred.await(interrupted) }
})

const testsWithClient = (peer: Peer) => {
  const latest = Revision.latestLegacy

  for (const responseMode of ["stream", "json"] as const) {
    it.live(`[CAN-04] mcp-ts-core#401, #2559: a cancelled call leaves no response open (${responseMode})`, () =>
      Effect.gen(function*() {
        const { host, interrupted, started } = yield* makeServer
        const server = yield* LocalServer.listen(host, { responseMode })
        yield* Effect.gen(function*() {
          const { open } = yield* http
          const calling = yield* Effect.forkChild(call("wait", {}))
          yield* started
          assert.strictEqual(open(), 1)
          yield* Fiber.interrupt(calling)
          yield* interrupted
          yield* Child.until(() => open() === 0)
          const [session] = yield* server.host.sessions
          assert.deepInclude(session, { inFlight: 0, held: 1 })
        }).pipe(Effect.provide(peer.connect(server.target, latest)))
      }))

    it.live(`[law 1] #2692: closing a session ends the response of its in-flight call (${responseMode})`, () =>
      Effect.gen(function*() {
        const { host, started } = yield* makeServer
        const server = yield* LocalServer.listen(host, { responseMode })
        yield* Effect.gen(function*() {
          const { open } = yield* http
          yield* Effect.forkChild(call("wait", {}))
          yield* started
          const [session] = yield* server.host.sessions
          yield* server.host.find(session?.id ?? "")?.close({ _tag: "Requested" }) ?? Effect.void
          yield* Child.until(() => open() === 0)
        }).pipe(Effect.provide(peer.connect(server.target, latest)))
      }))
  }

  it.live("[law 5] #2521: a handler that throws null, and a result that is not JSON, fail the call at once", () =>
    Effect.gen(function*() {
      const { host } = yield* makeServer
      const { target } = yield* LocalServer.listen(host)
      yield* Effect.gen(function*() {
        for (const name of ["null", "unserializable"]) {
          assert.deepInclude(yield* call(name, {}), { code: -32603 })
        }
      }).pipe(Effect.provide(peer.connect(target, latest)))
    }))

  it.live("#857, conformance#407: a request that cannot reach the client fails at once, and so does its call", () =>
    Effect.gen(function*() {
      const { host } = yield* makeServer
      const { target } = yield* LocalServer.listen(host, { responseMode: "json" })
      yield* Effect.gen(function*() {
        const client = yield* OfficialClient
        client.handlers.roots = () => Effect.succeed({ roots: [] })
        const outcome = yield* call("list-roots", {})
        assert.deepInclude(outcome, { isError: true })
        assert.include("text" in outcome ? outcome.text : "", "roots/list")
      }).pipe(Effect.provide(peer.connect(target, latest)))
    }))

  it.live("Effect B5: a request without params is sent without params instead of null, which this client rejects", () =>
    Effect.gen(function*() {
      const { host } = yield* makeServer
      const { target } = yield* LocalServer.listen(host)
      yield* Effect.gen(function*() {
        const client = yield* OfficialClient
        client.handlers.roots = () => Effect.succeed({ roots: [] })
        yield* result("list-roots")
        const request = client.received.map(members).find(({ method }) => method === "roots/list")
        assert.isTrue(request !== undefined && request["params"] !== null)
      }).pipe(Effect.provide(peer.connect(target, latest)))
    }))
}

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: Revision.latestLegacy, capabilities: {}, clientInfo: { name: "hand", version: "1" } }
}

const callOf = (id: number, name: string): JsonRpc.Request => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name }
})

/** Some clients reuse an id, because each of their components counts from 1. */
const duplicates = () =>
  it.live("[law 5] #2433: two concurrent calls with the same id are both answered, the second with an error", () =>
    Effect.gen(function*() {
      const { host, started } = yield* makeServer
      const { host: { sessions }, url } = yield* LocalServer.listen(host)
      yield* LocalServer.post(url, undefined, initialize)
      const [session] = yield* sessions
      const first = yield* Effect.forkChild(LocalServer.post(url, session?.id, callOf(1, "wait")))
      yield* started
      const second = yield* LocalServer.post(url, session?.id, callOf(1, "echo"))
      assert.strictEqual(JSON.parse(second.text).error.code, -32600)
      const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }
      assert.strictEqual((yield* LocalServer.post(url, session?.id, cancelled)).status, 202)
      assert.isBelow((yield* Fiber.join(first)).status, 300)
      const third = yield* LocalServer.post(url, session?.id, callOf(1, "echo"))
      assert.deepStrictEqual(JSON.parse(third.text).result, { content: [Content.text("echo")] })
    }))

export const hangs = () => {
  for (const peer of peers) {
    describe(`calls that could hang, with ${peer.name}`, () => {
      testsWithClient(peer)
    })
  }

  describe("calls that could hang, with any client", () => {
    duplicates()
  })

  for (const peer of servers) {
    describe(`calls that could hang, with a server of ${peer.name}`, () => {
      const listener = HttpListener.make(Child.file(peer.file), "--http")
      layer(listener.layer, { excludeTestServices: true })((it) => {
        const at = (mode: Mode) => {
          const server = HttpListener.server(listener, () => `${listener.address()}/${mode}`)
          return make(Revision.latestLegacy, server).layer
        }

        it.effect("[law 1] #2739: a call fails with OutcomeUnknown as soon as its stream ends without a response", () =>
          Effect.gen(function*() {
            const proxy = yield* TcpProxy.make(`${listener.address()}/stateful`)
            const host = make(Revision.latestLegacy, HttpListener.server(listener, () => proxy.url))
            yield* Effect.gen(function*() {
              const { callTool } = yield* ClientSession.ClientSession
              const { reason } = yield* Effect.flip(
                callTool("count", { to: 1000, delayMs: 10 }, { onProgress: () => proxy.disconnect })
              )
              assert.strictEqual(reason._tag, "OutcomeUnknown")
            }).pipe(Effect.provide(host.layer))
          }))

        it.effect("mcp-ts-core#401: the client closes the stream of a cancelled call; this server never does", () =>
          Effect.gen(function*() {
            const proxy = yield* TcpProxy.make(`${listener.address()}/stateful`)
            const host = make(Revision.latestLegacy, HttpListener.server(listener, () => proxy.url))
            yield* Effect.gen(function*() {
              const { callTool, ping } = yield* ClientSession.ClientSession
              yield* ping()
              const before = proxy.connections()
              for (let calls = 0; calls < 5; calls++) {
                const { reason } = yield* Effect.flip(
                  callTool("remind", { text: "", afterMs: 60_000 }, { timeout: "20 millis" })
                )
                assert.strictEqual(reason._tag, "Timeout")
              }
              yield* Child.until(() => proxy.connections() <= before + 1)
            }).pipe(Effect.provide(host.layer))
          }))

        it.effect("#2559: a cancelled call, which this server never answers in JSON, delays no other call", () =>
          Effect.gen(function*() {
            const { callTool } = yield* ClientSession.ClientSession
            for (let calls = 0; calls < 5; calls++) {
              yield* Effect.flip(callTool("remind", { text: "", afterMs: 60_000 }, { timeout: "20 millis" }))
            }
            assert.isUndefined((yield* callTool("echo", { text: "still alive" })).isError)
          }).pipe(Effect.provide(at("json"))))

        it.effect("#857: a request of a server without sessions gets no response, and times out", () =>
          Effect.gen(function*() {
            const { error } = yield* serverRequest("roots/list", {}, { timeout: 100 })
            assert.match(String(error), /timed out/)
          }).pipe(Effect.provide(at("stateless"))))

        it.effect("[PRG-05] #2580: progress that is read together with the result is delivered before it", () =>
          Effect.gen(function*() {
            const { callTool } = yield* ClientSession.ClientSession
            const received: Array<number> = []
            yield* callTool("count", { to: 100, delayMs: 0 }, {
              onProgress: ({ progress }) => Effect.sync(() => received.push(progress))
            })
            assert.deepStrictEqual(received, Array.from({ length: 100 }, (_, index) => index + 1))
          }).pipe(Effect.provide(at("stateful"))))
      })
    })
  }
}
