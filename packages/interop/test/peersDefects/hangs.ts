/** What leaves somebody waiting for ever, or until the time is up. */
import { Content, type JsonRpc, Revision } from "@effect-mcp/protocol"
import { ClientSession, RequestContext, ServerSession, SessionHost } from "@effect-mcp/session"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Child from "../fixtures/child.ts"
import * as HttpListener from "../fixtures/httpListener.ts"
import type { Mode } from "../fixtures/offeringOverHttp.ts"
import { call, OfficialClient, result } from "../fixtures/officialClient.ts"
import { type Peer, peers } from "../fixtures/officialClients.ts"
import * as OwnServer from "../fixtures/ownServer.ts"
import * as Wire from "../fixtures/wire.ts"
import { make } from "../host/conditions.ts"
import { peers as servers } from "../host/peers.ts"
import { asked } from "../host/results.ts"
import { members } from "../notebook/results.ts"

const http = Effect.map(OfficialClient, ({ http }) => {
  assert(http !== undefined)
  return http
})

/** A server whose calls are waited for by the name of their tool: those that never end say when they have been interrupted. */
const waiting = Effect.gen(function*() {
  const begun = yield* Deferred.make<void>()
  const interrupted = yield* Deferred.make<void>()
  const handlers = ServerSession.handlers({
    "tools/call": ({ name }) => {
      switch (name) {
        case "wait":
          return Effect.andThen(
            Deferred.succeed(begun, undefined),
            Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
          )
        case "null":
          return Effect.die(null)
        case "unserializable":
          return Effect.succeed({ content: [], structuredContent: { beads: 1n } })
        case "ask":
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
    info: { name: "waiting", version: "1.0.0" },
    limits: { gracefulCloseTimeout: "50 millis" }
  })
  return { host, begun: Deferred.await(begun), interrupted: Deferred.await(interrupted) }
})

const underClient = (peer: Peer) => {
  const latest = Revision.latest

  for (const responseMode of ["stream", "json"] as const) {
    it.live(`[CAN-04] mcp-ts-core#401, #2559: a cancelled call leaves no response open (${responseMode})`, () =>
      Effect.gen(function*() {
        const { begun, host, interrupted } = yield* waiting
        const server = yield* OwnServer.listen(host, { responseMode })
        yield* Effect.gen(function*() {
          const { open } = yield* http
          const calling = yield* Effect.forkChild(call("wait", {}))
          yield* begun
          assert.strictEqual(open(), 1)
          yield* Fiber.interrupt(calling)
          yield* interrupted
          yield* Child.until(() => open() === 0)
          const [session] = yield* server.host.sessions
          assert.deepInclude(session, { inFlight: 0, held: 1 })
        }).pipe(Effect.provide(peer.connect(server.place, latest)))
      }))

    it.live(`[law 1] #2692: a session that is closed with a call in hand answers the call (${responseMode})`, () =>
      Effect.gen(function*() {
        const { begun, host } = yield* waiting
        const server = yield* OwnServer.listen(host, { responseMode })
        yield* Effect.gen(function*() {
          const { open } = yield* http
          yield* Effect.forkChild(call("wait", {}))
          yield* begun
          const [session] = yield* server.host.sessions
          yield* server.host.find(session?.id ?? "")?.close({ _tag: "Requested" }) ?? Effect.void
          yield* Child.until(() => open() === 0)
        }).pipe(Effect.provide(peer.connect(server.place, latest)))
      }))
  }

  it.live("[law 5] #2521: what throws null, and what is no JSON, is an error at once", () =>
    Effect.gen(function*() {
      const { host } = yield* waiting
      const { place } = yield* OwnServer.listen(host)
      yield* Effect.gen(function*() {
        for (const name of ["null", "unserializable"]) {
          assert.deepInclude(yield* call(name, {}), { code: -32603 })
        }
      }).pipe(Effect.provide(peer.connect(place, latest)))
    }))

  it.live("#857, conformance#407: a question that has no way to the client fails at once, and so does its call", () =>
    Effect.gen(function*() {
      const { host } = yield* waiting
      const { place } = yield* OwnServer.listen(host, { responseMode: "json" })
      yield* Effect.gen(function*() {
        const { answers } = yield* OfficialClient
        answers.roots = () => Effect.succeed({ roots: [] })
        const asked = yield* call("ask", {})
        assert.deepInclude(asked, { isError: true })
        assert.include("text" in asked ? asked.text : "", "roots/list")
      }).pipe(Effect.provide(peer.connect(place, latest)))
    }))

  it.live("Effect B5: a question without params has none, and this client, which takes no null for them, answers", () =>
    Effect.gen(function*() {
      const { host } = yield* waiting
      const { place } = yield* OwnServer.listen(host)
      yield* Effect.gen(function*() {
        const { answers, received } = yield* OfficialClient
        answers.roots = () => Effect.succeed({ roots: [] })
        yield* result("ask")
        const question = received.map(members).find(({ method }) => method === "roots/list")
        assert.isTrue(question !== undefined && question["params"] !== null)
      }).pipe(Effect.provide(peer.connect(place, latest)))
    }))
}

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: Revision.latest, capabilities: {}, clientInfo: { name: "hand", version: "1" } }
}

const callOf = (id: number, name: string): JsonRpc.Request => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name }
})

/** One of the clients in the wild counts from 1 for each of its parts. */
const duplicates = () =>
  it.live("[law 5] #2433: of two calls at a time with the same id both are answered, the second with an error", () =>
    Effect.gen(function*() {
      const { begun, host } = yield* waiting
      const { host: { sessions }, url } = yield* OwnServer.listen(host)
      yield* OwnServer.post(url, undefined, initialize)
      const [session] = yield* sessions
      const first = yield* Effect.forkChild(OwnServer.post(url, session?.id, callOf(1, "wait")))
      yield* begun
      const second = yield* OwnServer.post(url, session?.id, callOf(1, "echo"))
      assert.strictEqual(JSON.parse(second.text).error.code, -32600)
      const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }
      assert.strictEqual((yield* OwnServer.post(url, session?.id, cancelled)).status, 202)
      assert.isBelow((yield* Fiber.join(first)).status, 300)
      const third = yield* OwnServer.post(url, session?.id, callOf(1, "echo"))
      assert.deepStrictEqual(JSON.parse(third.text).result, { content: [Content.text("echo")] })
    }))

export const hangs = () => {
  for (const peer of peers) {
    describe(`what would hang, under ${peer.name}`, () => {
      underClient(peer)
    })
  }

  describe("what would hang, under any client", () => {
    duplicates()
  })

  for (const peer of servers) {
    describe(`what would hang, with a server of ${peer.name}`, () => {
      const listener = HttpListener.make(Child.file(peer.file), "--http")
      layer(listener.layer, { excludeTestServices: true })((it) => {
        const at = (mode: Mode) => {
          const server = HttpListener.server(listener, () => `${listener.address()}/${mode}`)
          return make(Revision.latest, server).layer
        }

        it.effect("[law 1] #2739: a call whose stream ends without a response fails when it does, and says what is known", () =>
          Effect.gen(function*() {
            const wire = yield* Wire.make(`${listener.address()}/stateful`)
            const host = make(Revision.latest, HttpListener.server(listener, () => wire.url))
            yield* Effect.gen(function*() {
              const { callTool } = yield* ClientSession.ClientSession
              const { reason } = yield* Effect.flip(
                callTool("count", { to: 1000, delayMs: 10 }, { onProgress: () => wire.cut })
              )
              assert.strictEqual(reason._tag, "OutcomeUnknown")
            }).pipe(Effect.provide(host.layer))
          }))

        it.effect("mcp-ts-core#401: the stream of a call that was given up, which this server never ends, is let go", () =>
          Effect.gen(function*() {
            const wire = yield* Wire.make(`${listener.address()}/stateful`)
            const host = make(Revision.latest, HttpListener.server(listener, () => wire.url))
            yield* Effect.gen(function*() {
              const { callTool, ping } = yield* ClientSession.ClientSession
              yield* ping()
              const before = wire.connections()
              for (let calls = 0; calls < 5; calls++) {
                const { reason } = yield* Effect.flip(
                  callTool("remind", { text: "", afterMs: 60_000 }, { timeout: "20 millis" })
                )
                assert.strictEqual(reason._tag, "Timeout")
              }
              yield* Child.until(() => wire.connections() <= before + 1)
            }).pipe(Effect.provide(host.layer))
          }))

        it.effect("#2559: a call that was given up, which this server never answers in JSON, holds up no other, nor the end", () =>
          Effect.gen(function*() {
            const { callTool } = yield* ClientSession.ClientSession
            for (let calls = 0; calls < 5; calls++) {
              yield* Effect.flip(callTool("remind", { text: "", afterMs: 60_000 }, { timeout: "20 millis" }))
            }
            assert.isUndefined((yield* callTool("echo", { text: "on" })).isError)
          }).pipe(Effect.provide(at("json"))))

        it.effect("#857: a server without sessions asks, and cannot be answered: the call ends when it gives up", () =>
          Effect.gen(function*() {
            const { thrown } = yield* asked("roots/list", {}, { timeout: 100 })
            assert.match(String(thrown), /timed out/)
          }).pipe(Effect.provide(at("stateless"))))

        it.effect("[PRG-05] #2580: progress that comes in one piece with the result is heard before it", () =>
          Effect.gen(function*() {
            const { callTool } = yield* ClientSession.ClientSession
            const heard: Array<number> = []
            yield* callTool("count", { to: 100, delayMs: 0 }, {
              onProgress: ({ progress }) => Effect.sync(() => heard.push(progress))
            })
            assert.deepStrictEqual(heard, Array.from({ length: 100 }, (_, index) => index + 1))
          }).pipe(Effect.provide(at("stateful"))))
      })
    })
  }
}
