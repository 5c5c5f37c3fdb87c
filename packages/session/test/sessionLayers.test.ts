import { Revision } from "@effect-mcp/protocol"
import {
  ClientSession,
  type HandshakeError,
  MemoryTransport,
  ServerSession,
  type TransportError
} from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RawServer from "./support/RawServer.ts"
import { client, forms, info, server, text, tools } from "./support/sessions.ts"

type Sessions = Layer.Layer<
  ClientSession.ClientSession,
  HandshakeError.HandshakeError | TransportError.TransportError
>

describe("Layers of sessions", () => {
  it.effect("law 10: one Layer provided with two transports makes two sessions", () =>
    Effect.gen(function*() {
      const layer = ClientSession.layer({ info, revisions: Revision.legacy })
      const open = Effect.fnUntraced(function*(name: string) {
        const pair = yield* MemoryTransport.make()
        const raw = yield* RawServer.make(
          pair.server,
          RawServer.replyToInitialize(
            RawServer.replyToPings,
            RawServer.initializeResult({ serverInfo: { name, version: "1" } })
          )
        )
        return { raw, transport: MemoryTransport.layer(pair.client) }
      })
      const one = yield* open("one")
      const two = yield* open("two")
      const observed = yield* Effect.gen(function*() {
        const outer = yield* ClientSession.ClientSession
        const inner = yield* Effect.gen(function*() {
          const session = yield* ClientSession.ClientSession
          yield* session.ping()
          return [session.profile.info.name, session !== outer]
        }).pipe(Effect.provide(Layer.provide(layer, two.transport)))
        yield* outer.ping()
        return [outer.profile.info.name, ...inner]
      }).pipe(Effect.provide(Layer.provide(layer, one.transport)))
      assert.deepStrictEqual(observed, ["one", "two", true])
      assert.isTrue(one.raw.ended())
      assert.isTrue(two.raw.ended())
    }))

  it.effect("law 10: one layerMemory makes a server for each client", () =>
    Effect.gen(function*() {
      let calls = 0
      const counting = ServerSession.layerMemory({
        "tools/call": () => Effect.sync(() => text(`${++calls}`))
      }, { info })
      const session = ClientSession.layer({ info, revisions: Revision.legacy })
      const callTool = Effect.gen(function*() {
        const session = yield* ClientSession.ClientSession
        return { session, result: yield* session.callTool("x") }
      })
      const observed = yield* Effect.gen(function*() {
        const outer = yield* callTool
        const inner = yield* Effect.provide(callTool, Layer.provide(session, counting))
        assert.strictEqual((yield* inner.session.state)._tag, "Closed")
        assert.strictEqual((yield* outer.session.state)._tag, "Operating")
        return [outer.result, inner.result]
      }).pipe(Effect.provide(Layer.provide(session, counting)))
      assert.deepStrictEqual(observed, [text("1"), text("2")])
    }))

  it.effect("law 10: Layers of both sides, and Layers with keys, make a session for each transport", () =>
    Effect.gen(function*() {
      class Files extends ClientSession.Service<Files>()("test/Files") {}
      class Search extends ClientSession.Service<Search>()("test/Search") {}
      const serving = ServerSession.layer(tools({}), { info })
      const [files, search] = [yield* MemoryTransport.make(), yield* MemoryTransport.makeMultiStream()]
      const layer = Layer.mergeAll(
        Layer.provide(
          ClientSession.layerAs(Files, { info, revisions: Revision.legacy }),
          MemoryTransport.layer(files.client)
        ),
        Layer.provide(
          ClientSession.layerAs(Search, { info, revisions: Revision.legacy }),
          MemoryTransport.layer(search.client)
        ),
        Layer.provide(serving, MemoryTransport.layer(files.server)),
        Layer.provide(serving, MemoryTransport.layer(search.server))
      )
      const context = yield* Layer.build(layer)
      const [one, two] = [Context.get(context, Files), Context.get(context, Search)]
      assert.notStrictEqual(one, two)
      yield* one.close
      assert.strictEqual((yield* Effect.flip(one.ping())).reason._tag, "Closed")
      yield* two.ping()
    }))

  /** Runs two nested programs, each with its own Layer, and compares their sessions. */
  const nested = (outer: Sessions, inner: Sessions) =>
    Effect.gen(function*() {
      const one = yield* ClientSession.ClientSession
      const two = yield* Effect.provide(ClientSession.ClientSession, inner)
      yield* one.ping()
      return { isOne: one === two, innerState: (yield* two.state)._tag }
    }).pipe(Effect.provide(outer))

  it.effect("law 10: one constant composed of a session and its transport is one session", () =>
    Effect.gen(function*() {
      const composed = Layer.provide(
        ClientSession.layer({ info, revisions: Revision.legacy }),
        ServerSession.layerMemory({}, { info })
      )
      assert.deepStrictEqual(yield* nested(composed, composed), { isOne: true, innerState: "Operating" })
      const pair = yield* MemoryTransport.make()
      const serving = Layer.provide(ServerSession.layer({}, { info }), MemoryTransport.layer(pair.server))
      // A second session at the same end of the transport would fail with `InUse`.
      yield* Layer.build(Layer.merge(serving, serving))
    }))

  it.effect("law 10: a function that composes them, or Layer.fresh, makes a session each time", () =>
    Effect.gen(function*() {
      const compose = () =>
        Layer.provide(
          ClientSession.layer({ info, revisions: Revision.legacy }),
          ServerSession.layerMemory({}, { info })
        )
      assert.deepStrictEqual(yield* nested(compose(), compose()), { isOne: false, innerState: "Closed" })
      const fresh = Layer.fresh(compose())
      assert.deepStrictEqual(yield* nested(fresh, fresh), { isOne: false, innerState: "Closed" })
    }))

  for (const { form, pair } of forms) {
    it.effect(`an end of the in-memory transport carries one session (${form})`, () =>
      Effect.gen(function*() {
        const ends = yield* pair
        const session = yield* server(ends.server, tools({}))
        const one = yield* client(ends.client)
        const again = yield* Effect.flip(server(ends.server))
        assert.deepStrictEqual(again.reason, { _tag: "InUse" })
        const second = yield* Effect.flip(client(ends.client))
        assert.strictEqual(second.reason._tag, "ConnectFailed")
        yield* one.ping()
        yield* one.close
        yield* session.closed
        const later = yield* Effect.flip(client(ends.client))
        assert.strictEqual(later.reason._tag, "ConnectFailed")
      }))
  }
})
