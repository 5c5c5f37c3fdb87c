import { Content, Revision } from "@effect-mcp/protocol"
import { ClientSession, MemoryTransport, RequestContext, ServerSession, Transport } from "@effect-mcp/session"
import {
  Faults,
  FiberCount,
  ScriptedPeer,
  SimulatedTransport,
  TestSession,
  Transcript,
  VirtualRuntime
} from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

/** A service that a handler needs. */
class Greeting extends Context.Service<Greeting, string>()("test/Greeting") {}

const greeter = ServerSession.handlers({
  "tools/call": ({ name }) => Effect.map(Greeting, (greeting) => ({ content: [Content.text(`${greeting} ${name}`)] }))
})

const asker = ServerSession.handlers({
  "tools/call": Effect.fnUntraced(function*() {
    const { action } = yield* Effect.orDie(
      RequestContext.elicit({ message: "Delete all notes?", requestedSchema: { type: "object", properties: {} } })
    )
    return { content: [Content.text(action)] }
  })
})

const methods = (messages: ReadonlyArray<object>) =>
  messages.map((message) => "method" in message ? message.method : "response")

describe("TestSession", () => {
  for (const form of ["OneStream", "StreamPerRequest"] as const) {
    it.effect(`the principal sends every request of its client, and no other client's (${form})`, () =>
      Effect.gen(function*() {
        const whoami = ServerSession.handlers({
          "tools/call": () =>
            Effect.map(RequestContext.RequestContext, ({ principal }) => ({
              content: [Content.text(JSON.stringify(principal ?? null))]
            }))
        })
        const ada = { id: "ada", claims: { admin: true } }
        const identified = yield* TestSession.make(whoami, { form, principal: ada })
        const anonymous = yield* TestSession.make(whoami, { form })
        for (let call = 0; call < 2; call++) {
          assert.deepStrictEqual(yield* identified.client.callTool("x"), {
            content: [Content.text(JSON.stringify(ada))]
          })
          assert.deepStrictEqual(yield* anonymous.client.callTool("x"), { content: [Content.text("null")] })
        }
      }))

    describe(form, () => {
      it.effect("both sides are operating, and messages without a request have a route", () =>
        Effect.gen(function*() {
          const heard = Deferred.makeUnsafe<void>()
          const { client, sent, server } = yield* TestSession.make(greeter, {
            form,
            server: { capabilities: { tools: { listChanged: true } } },
            client: {
              info: { name: "me", version: "1" },
              handlers: {
                "notifications/tools/list_changed": () => Effect.sync(() => Deferred.doneUnsafe(heard, Exit.void))
              }
            }
          })
          assert.deepStrictEqual([(yield* client.state)._tag, (yield* server.state)._tag], ["Operating", "Operating"])
          assert.deepStrictEqual((yield* server.profile).info, { name: "me", version: "1" })
          assert.strictEqual(client.profile.revision, Revision.latestLegacy)
          yield* server.toolListChanged
          yield* Deferred.await(heard)
          assert.deepStrictEqual(yield* client.callTool("Ada"), { content: [Content.text("hello Ada")] })
          assert.deepStrictEqual(methods(yield* sent("client")), [
            "initialize",
            "notifications/initialized",
            "tools/call"
          ])
          assert.deepStrictEqual(methods(yield* sent("server")), [
            "response",
            "notifications/tools/list_changed",
            "response"
          ])
        }).pipe(Effect.provideService(Greeting, "hello")))

      it.effect("a test receives a request of the server, and answers it later", () =>
        Effect.gen(function*() {
          const asked = Deferred.makeUnsafe<string>()
          const answer = Deferred.makeUnsafe<"accept" | "decline">()
          const { client } = yield* TestSession.make(asker, {
            form,
            client: {
              handlers: {
                "elicitation/create": ({ message }) =>
                  Effect.suspend(() => {
                    Deferred.doneUnsafe(asked, Exit.succeed(message))
                    return Effect.map(Deferred.await(answer), (action) => ({ action }))
                  })
              }
            }
          })
          const calling = yield* Effect.forkChild(client.callTool("delete"))
          assert.strictEqual(yield* Deferred.await(asked), "Delete all notes?")
          Deferred.doneUnsafe(answer, Exit.succeed("decline"))
          assert.deepStrictEqual(yield* Fiber.join(calling), { content: [Content.text("decline")] })
        }))

      it.effect("[TMO-03] the test controls when deadlines pass", () =>
        Effect.gen(function*() {
          const { client, sent } = yield* TestSession.make({ "tools/call": () => Effect.never }, { form })
          const calling = yield* Effect.forkChild(Effect.flip(client.callTool("x", {}, { timeout: "1 hour" })))
          yield* TestClock.adjust("59 minutes")
          assert.isUndefined(calling.pollUnsafe())
          yield* TestClock.adjust("1 minute")
          assert.deepStrictEqual((yield* Fiber.join(calling)).reason, { _tag: "Timeout", afterMillis: 3_600_000 })
          assert.strictEqual(methods(yield* sent("client")).at(-1), "notifications/cancelled")
        }))

      it.effect("the transcript of either side can be played in its place", () =>
        Effect.gen(function*() {
          const answering = {
            handlers: ClientSession.handlers({ "elicitation/create": () => Effect.succeed({ action: "cancel" }) })
          }
          const { client, entries, transcript } = yield* TestSession.make(asker, { form, client: answering })
          yield* client.callTool("delete")
          assert.strictEqual((yield* entries("server")).length, (yield* entries("client")).length)

          const pair = yield* form === "StreamPerRequest" ? MemoryTransport.makeMultiStream() : MemoryTransport.make()
          yield* ServerSession.make(asker, {
            info: { name: "server", version: "0.0.0" },
            limits: { gracefulTimeout: 0 }
          })
            .pipe(
              Effect.provideService(Transport.Transport, pair.server)
            )
          yield* ScriptedPeer.play(yield* transcript("client")).pipe(
            Effect.provideService(Transport.Transport, pair.client)
          )

          const other = yield* form === "StreamPerRequest" ? MemoryTransport.makeMultiStream() : MemoryTransport.make()
          const playing = yield* ScriptedPeer.play(Transcript.print(yield* transcript("server"))).pipe(
            Effect.provideService(Transport.Transport, other.server),
            Effect.forkScoped({ startImmediately: true })
          )
          const again = yield* ClientSession.make({
            info: { name: "client", version: "0.0.0" },
            limits: { gracefulTimeout: 0 },
            revisions: Revision.legacy,
            ...answering
          }).pipe(Effect.provideService(Transport.Transport, other.client))
          assert.deepStrictEqual(yield* again.callTool("delete"), { content: [Content.text("cancel")] })
          yield* Fiber.join(playing)
        }))
    })
  }

  describe("over a simulated wire", () => {
    // With a stream for each request, that stream ends with the wire. With one stream, the session ends.
    for (const [form, end] of [["OneStream", "Closed"], ["StreamPerRequest", "OutcomeUnknown"]] as const) {
      it(`[TMO-03] ${form}: stalls, recovers and breaks in virtual time, and leaves nothing`, () => {
        const runtime = VirtualRuntime.make({ seed: 1 })
        const faults = { ...Faults.none, delay: 40, split: true } as const
        const fiber = runtime.start(Effect.scoped(Effect.gen(function*() {
          const wire = yield* SimulatedTransport.make({ seed: 1, faults, form })
          const { client, sent } = yield* TestSession.make({
            "tools/call": ({ name }) => Effect.as(Effect.sleep("10 seconds"), { content: [Content.text(name)] })
          }, { transports: wire })
          const opened = runtime.now()

          wire.toClient.stall()
          const late = yield* Effect.flip(client.callTool("one", {}, { timeout: "20 seconds" }))
          assert.deepStrictEqual(late.reason, { _tag: "Timeout", afterMillis: 20_000 })
          assert.strictEqual(runtime.now() - opened, 20_000)
          wire.toClient.recover()
          assert.deepStrictEqual(yield* client.callTool("two"), { content: [Content.text("two")] })

          const calling = yield* Effect.forkChild(Effect.flip(client.callTool("three")))
          yield* Effect.sleep("5 seconds")
          wire.cut()
          assert.strictEqual((yield* Fiber.join(calling)).reason._tag, end)
          assert.strictEqual((yield* Effect.flip(client.ping())).reason._tag, "Closed")
          assert.deepStrictEqual(methods(yield* sent("client")), [
            "initialize",
            "notifications/initialized",
            "tools/call",
            "notifications/cancelled",
            "tools/call",
            "tools/call"
          ])
        })))
        runtime.advance(3_600_000)
        const exit = fiber.pollUnsafe()
        assert.isTrue(exit !== undefined && Exit.isSuccess(exit), String(exit))
        assert.strictEqual(runtime.living(), 0)
      })
    }

    it("the first request shows a server that the client is ready", () => {
      const runtime = VirtualRuntime.make({ seed: 1 })
      const fiber = runtime.start(Effect.scoped(Effect.gen(function*() {
        const wire = yield* SimulatedTransport.make({ seed: 1, faults: { ...Faults.none, delay: 40 } })
        const { client, server } = yield* TestSession.make({}, { transports: wire })
        const before = (yield* server.state)._tag
        yield* client.ping()
        return [before, (yield* server.state)._tag]
      })))
      runtime.advance(60_000)
      assert.deepStrictEqual(fiber.pollUnsafe(), Exit.succeed(["Negotiated", "Operating"]))
    })

    it("ends, whatever is lost", () => {
      const outcomes = new Set<string>()
      for (let seed = 1; seed <= 50; seed++) {
        const runtime = VirtualRuntime.make({ seed })
        const fiber = runtime.start(Effect.scoped(Effect.gen(function*() {
          const wire = yield* SimulatedTransport.make({ seed, faults: { ...Faults.none, drop: true, delay: 40 } })
          const { client } = yield* TestSession.make({}, { transports: wire })
          yield* client.ping()
        })))
        runtime.advance(3_600_000)
        assert.strictEqual(runtime.living(), 0)
        outcomes.add(fiber.pollUnsafe()?._tag ?? "none")
      }
      assert.deepStrictEqual([...outcomes].toSorted(), ["Failure", "Success"])
    })
  })

  it.effect("a server without sessions serves at once", () =>
    Effect.gen(function*() {
      const { client, server } = yield* TestSession.make(greeter, {
        server: { stateless: { revision: "2025-06-18" } }
      })
      assert.strictEqual((yield* server.state)._tag, "Stateless")
      assert.deepStrictEqual(yield* client.callTool("Ada"), { content: [Content.text("hello Ada")] })
    }).pipe(Effect.provideService(Greeting, "hello")))

  for (const form of ["OneStream", "StreamPerRequest"] as const) {
    it.effect(`a client of revision 2026-07-28 answers questions, and a transcript of it can be played (${form})`, () =>
      Effect.gen(function*() {
        const { client, sent, server, transcript } = yield* TestSession.make(asker, {
          form,
          client: {
            revisions: Revision.modern,
            handlers: { "elicitation/create": () => Effect.succeed({ action: "decline" }) }
          }
        })
        assert.strictEqual(client.profile.revision, "2026-07-28")
        assert.strictEqual((yield* server.state)._tag, "Modern")
        const { content } = yield* client.callTool("delete")
        assert.deepStrictEqual(content, [Content.text("decline")])
        assert.deepStrictEqual(methods(yield* sent("client")), ["server/discover", "tools/call", "tools/call"])
        assert.deepStrictEqual(methods(yield* sent("server")), ["response", "response", "response"])

        // The server is played: its state is opaque to the client, and the text of the recording does.
        const pair = yield* form === "OneStream" ? MemoryTransport.make() : MemoryTransport.makeMultiStream()
        const playing = yield* ScriptedPeer.play(yield* transcript("server")).pipe(
          Effect.provideService(Transport.Transport, pair.server),
          Effect.forkScoped({ startImmediately: true })
        )
        const again = yield* ClientSession.make({
          info: { name: "client", version: "0.0.0" },
          revisions: Revision.modern,
          handlers: { "elicitation/create": () => Effect.succeed({ action: "decline" }) }
        }).pipe(Effect.provideService(Transport.Transport, pair.client))
        assert.deepStrictEqual((yield* again.callTool("delete")).content, content)
        yield* Fiber.interrupt(playing)
      }))
  }

  it.effect("[INIT-06] fails if the sides have no common revision", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        TestSession.make({}, { client: { revisions: ["2024-11-05"] }, server: { revisions: ["2025-11-25"] } })
      )
      assert.strictEqual(error.reason._tag, "UnsupportedRevision")
    }))

  it.effect("leaves nothing, whatever is in flight", () =>
    Effect.gen(function*() {
      const fibers = FiberCount.make()
      yield* fibers.count(Effect.scoped(Effect.gen(function*() {
        const { client } = yield* TestSession.make({ "tools/call": () => Effect.never })
        yield* Effect.forkChild(Effect.ignore(client.callTool("x")), { startImmediately: true })
        yield* Effect.yieldNow
      })))
      assert.isAbove(fibers.started(), 0)
      assert.strictEqual(fibers.living(), 0)
    }))

  it.effect("the Layer provides both sessions, and each build creates its own", () =>
    Effect.gen(function*() {
      const layer = TestSession.layer({})
      const build = Effect.gen(function*() {
        const both = yield* TestSession.TestSession
        assert.strictEqual(yield* ClientSession.ClientSession, both.client)
        assert.strictEqual(yield* ServerSession.ServerSession, both.server)
        yield* both.client.ping()
        return both
      })
      const one = yield* Effect.provide(build, layer)
      const another = yield* Effect.provide(build, layer)
      assert.notStrictEqual(one.client, another.client)
      assert.strictEqual((yield* one.client.state)._tag, "Closed")
    }))
})
