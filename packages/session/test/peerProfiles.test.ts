/** The profile of a peer, which its session stores, and whose memory is therefore limited. */
import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { MemoryTransport, StatelessServer } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Weight from "../src/internal/engine/Weight.ts"
import { makeHost, openOperating, store, withStore } from "./support/hosts.ts"
import * as RawServer from "./support/RawServer.ts"
import {
  client,
  codeOf,
  info,
  initialize,
  initialized,
  recorder,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

const revision = Revision.latestLegacy

const initializeWith = (members: object): JsonRpc.Request =>
  JsonRpc.request(0, "initialize", { protocolVersion: revision, capabilities: {}, clientInfo: info, ...members })

/** Makes capabilities with a number of empty arrays. Each takes 3 bytes of text and 56 bytes of memory. */
const arrays = (count: number) => ({ experimental: { x: { y: Array.from({ length: count }, () => []) } } })

const icon = { src: `data:image/png;base64,${"A".repeat(20_000)}` }

describe("a client's profile", () => {
  it.effect("law 12: of more than 16 KiB fails the handshake with -32602, and a later handshake succeeds", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* raw.send(initializeWith({ capabilities: arrays(1000) }))
      const capabilities = arrays(1000)
      const bytes = Weight.of({ revision, capabilities, info })
      assert.deepStrictEqual<unknown>(yield* raw.response, {
        jsonrpc: "2.0",
        id: 0,
        error: {
          code: -32602,
          message: `Invalid params for initialize: clientInfo and capabilities take ${bytes} bytes of memory; ` +
            "the limit is 16384"
        }
      })
      assert.strictEqual((yield* session.state)._tag, "AwaitingInitialize")
      yield* raw.send(initializeWith({ capabilities: arrays(100) }))
      assert.property(yield* raw.response, "result")
      assert.deepStrictEqual((yield* session.profile).capabilities, arrays(100))
    }))

  it.effect("law 12: is accepted up to the limit", () =>
    Effect.gen(function*() {
      const bytes = Weight.of({ revision, capabilities: {}, info })
      for (const [maxProfileBytes, succeeds] of [[bytes, true], [bytes - 1, false]] as const) {
        const { raw } = yield* withRawClient({ server: { limits: { maxProfileBytes } } })
        yield* raw.send(initialize())
        assert.strictEqual(codeOf(yield* raw.response), succeeds ? undefined : -32602)
      }
    }))

  it.effect("law 12: is kept without icons and unknown members if it exceeds the limit with them", () =>
    Effect.gen(function*() {
      const texts = { ...info, title: "A client", description: "Asks", websiteUrl: "https://example.com" }
      const { raw, record, session } = yield* withRawClient()
      yield* raw.send(initializeWith({ clientInfo: { ...texts, icons: [icon], unknown: [] } }))
      assert.property(yield* raw.response, "result")
      assert.deepStrictEqual((yield* session.profile).info, texts)
      assert.deepStrictEqual(record.of("ProfileTrimmed"), [{ _tag: "ProfileTrimmed", limitBytes: 16_384 }])
    }))

  it.effect("is kept with icons and unknown members within the limit", () =>
    Effect.gen(function*() {
      const clientInfo = { ...info, icons: [{ src: "https://example.com/icon.png" }], unknown: [1] }
      const { raw, record, session } = yield* withRawClient()
      yield* raw.send(initializeWith({ clientInfo }))
      assert.property(yield* raw.response, "result")
      assert.deepStrictEqual<unknown>((yield* session.profile).info, clientInfo)
      assert.deepStrictEqual(record.of("ProfileTrimmed"), [])
    }))

  it.effect("is not kept and not limited by a server without sessions", () =>
    Effect.gen(function*() {
      const { raw } = yield* withRawClient({ server: { stateless: { revision } } })
      yield* raw.send(initializeWith({ capabilities: arrays(1000) }))
      assert.property(yield* raw.response, "result")
      const server = yield* StatelessServer.make(tools({}), { info })
      assert.property(yield* server.handle(initializeWith({ capabilities: arrays(1000) }), { revision }), "result")
    }))

  it.effect("law 12: is all that a store keeps of the handshake", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      const host = yield* makeHost().pipe(withStore(service))
      const { hosted } = yield* openOperating(host, { id: "kept" })
      const sent = initializeWith({
        clientInfo: { ...info, icons: [icon] },
        unknown: arrays(1000),
        _meta: arrays(1000)
      })
      yield* host.remember(hosted, [sent, initialized])
      assert.deepStrictEqual(kept.get("kept")?.handshakeMessages, [
        JsonRpc.request(0, "initialize", { protocolVersion: revision, capabilities: {}, clientInfo: info }),
        initialized
      ])
    }))
})

describe("a server's profile", () => {
  it.effect("law 12: of more than 256 KiB of memory fails the handshake", () =>
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const result = RawServer.initializeResult({ instructions: "x".repeat(140_000) })
      yield* RawServer.make(pair.server, RawServer.replyToInitialize(undefined, result))
      const error = yield* Effect.flip(client(pair.client))
      assert.match(
        error.message,
        /serverInfo, capabilities and instructions take 28\d{4} bytes of memory; the limit is 262144/
      )
    }))

  it.effect("law 12: is kept without icons if it exceeds the limit with them", () =>
    Effect.gen(function*() {
      const record = recorder()
      const serverInfo = { ...info, title: "A server" }
      const { session } = yield* withRawServer({
        client: { limits: { maxProfileBytes: 20_000 }, observe: record.observe },
        result: RawServer.initializeResult({ serverInfo: { ...serverInfo, icons: [icon] }, instructions: "Ask." })
      })
      assert.deepStrictEqual([session.profile.info, session.profile.instructions], [serverInfo, "Ask."])
      assert.deepStrictEqual(record.of("ProfileTrimmed"), [{ _tag: "ProfileTrimmed", limitBytes: 20_000 }])
      yield* session.close
    }))
})
