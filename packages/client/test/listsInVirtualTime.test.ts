/** The lists and the watched resources of a supervised client, in both eras and in virtual time. */
import { McpClient } from "@effect-mcp/client"
import { Revision, type Tool } from "@effect-mcp/protocol"
import { Faults } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as RecordedServer from "./fixtures/RecordedServer.ts"
import * as SimulatedServer from "./support/SimulatedServer.ts"
import { virtually } from "./support/virtually.ts"

const info = { name: "host", version: "1.0.0" }

const eras = { "with a handshake": Revision.legacy, "2026-07-28": Revision.modern } as const

const versionIn = (tools: ReadonlyArray<Tool.Tool>): string | undefined =>
  tools.map(({ name }) => name).find((name) => name.startsWith("version "))

const listings = (server: SimulatedServer.SimulatedServer): number => server.count("tools/list")

/** The number of pages of the list of tools. */
const pages = 3

const fork = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkScoped(effect, { startImmediately: true })

/** Follows the contents of the resource of a server. */
const watching = Effect.fnUntraced(function*(client: McpClient.McpClientShape) {
  const texts = yield* Queue.unbounded<string>()
  const fiber = yield* fork(
    Stream.runForEach(client.watch(RecordedServer.uri), ({ contents }) =>
      Queue.offer(
        texts,
        contents.map((content) => "text" in content ? content.text : "").join()
      ))
  )
  return { texts, fiber }
})

for (const [era, revisions] of Object.entries(eras)) {
  const connect = (server: SimulatedServer.SimulatedServer, options: Partial<McpClient.Options> = {}) =>
    McpClient.make(server.target, { info, revisions, reconnect: Schedule.spaced("1 second"), ...options })

  describe(`a list, ${era},`, () => {
    it("is read with all its pages, once for all callers", () =>
      virtually(Effect.gen(function*() {
        const server = SimulatedServer.make({ faults: { ...Faults.none, delay: 3 } })
        const client = yield* connect(server)
        const lists = yield* Effect.all([client.tools, client.tools, client.tools], { concurrency: "unbounded" })
        for (const tools of lists) assert.lengthOf(tools, 11)
        yield* client.tools
        assert.strictEqual(listings(server), pages)
      })))

    it("is read again after list_changed, and after the server was started again", () =>
      virtually(Effect.gen(function*() {
        const server = SimulatedServer.make()
        const client = yield* connect(server)
        assert.strictEqual(versionIn(yield* client.tools), "version 1 0")
        yield* client.callTool("change")
        assert.strictEqual(versionIn(yield* client.tools), "version 1 1")
        assert.strictEqual(versionIn(yield* client.tools), "version 1 1")
        assert.strictEqual(listings(server), 2 * pages)
        yield* server.kill
        yield* Effect.sleep("10 seconds")
        assert.strictEqual(versionIn(yield* client.tools), "version 2 0")
        assert.strictEqual(listings(server), 3 * pages)
      })))

    it("is never one that had changed before the caller asked, although a reading is under way", () =>
      virtually(Effect.gen(function*() {
        const server = SimulatedServer.make({ faults: { ...Faults.none, delay: 40 } })
        const client = yield* connect(server)
        yield* client.tools
        for (let round = 0; round < 30; round++) {
          // A reading is under way, and its first page is read, when the list changes again.
          yield* client.callTool("change")
          yield* fork(client.tools)
          yield* Effect.sleep(round * 10)
          const { content: [changed] } = yield* client.callTool("change")
          const expected = changed?.type === "text" ? changed.text : ""
          assert.strictEqual(versionIn(yield* client.tools), expected)
          yield* Effect.sleep("1 second")
          assert.strictEqual(versionIn(yield* client.tools), expected)
        }
      })))

    it("changes once for a follower that is slow, whatever else changes meanwhile", () =>
      virtually(Effect.gen(function*() {
        const server = SimulatedServer.make()
        const client = yield* connect(server)
        yield* client.tools
        const names: Array<string> = []
        const note = (name: string) => Effect.delay(Effect.sync(() => names.push(name)), 1_000)
        yield* fork(Stream.runForEach(client.changes, note))
        yield* server.kill
        yield* client.tools
        yield* client.callTool("change", { count: 1_000 })
        yield* Effect.sleep(60_000)
        assert.deepStrictEqual([...new Set(names)].toSorted(), ["prompts", "resources", "tools"])
        assert.isAtMost(names.length, 12)
      })))

    it("of a server that has none is empty", () =>
      virtually(Effect.gen(function*() {
        const client = yield* connect(SimulatedServer.make())
        assert.deepStrictEqual(yield* client.prompts, [])
      })))
  })

  describe(`a watched resource, ${era},`, () => {
    it("[STD-18] is subscribed to again after the server was started again, and read again", () =>
      virtually(Effect.gen(function*() {
        const server = SimulatedServer.make()
        const client = yield* connect(server)
        const { texts } = yield* watching(client)
        assert.strictEqual(yield* Queue.take(texts), "1 0")
        yield* client.callTool("update")
        assert.strictEqual(yield* Queue.take(texts), "1 1")
        yield* server.kill
        yield* Effect.sleep("10 seconds")
        assert.strictEqual(server.count("subscribe"), 2)
        assert.deepStrictEqual(yield* Queue.takeAll(texts), ["2 0"])
        yield* client.callTool("update")
        assert.strictEqual(yield* Queue.take(texts), "2 1")
      })))

    it("has one subscription for all its streams, which ends with the last of them", () =>
      virtually(Effect.gen(function*() {
        const server = SimulatedServer.make()
        const client = yield* connect(server)
        const first = yield* watching(client)
        const second = yield* watching(client)
        yield* Queue.take(first.texts)
        yield* Queue.take(second.texts)
        assert.strictEqual(server.count("subscribe"), 1)
        yield* Fiber.interrupt(first.fiber)
        yield* client.callTool("update")
        assert.strictEqual(yield* Queue.take(second.texts), "1 1")
        yield* Fiber.interrupt(second.fiber)
        const third = yield* watching(client)
        yield* Queue.take(third.texts)
        yield* client.callTool("update")
        assert.strictEqual(yield* Queue.take(third.texts), "1 2")
        assert.strictEqual(server.count("subscribe"), 2)
      })))

    it("that is updated while it is read for the first time is read again", () =>
      virtually(Effect.gen(function*() {
        const server = SimulatedServer.make({ faults: { ...Faults.none, delay: 40 } })
        const client = yield* connect(server)
        yield* client.callTool("pid")
        for (let round = 1; round <= 20; round++) {
          const { fiber, texts } = yield* watching(client)
          while (server.count("resources/read") === 0) yield* Effect.sleep(1)
          yield* client.callTool("update")
          yield* Effect.sleep(1_000)
          assert.strictEqual((yield* Queue.takeAll(texts)).at(-1), `1 ${round}`)
          yield* Fiber.interrupt(fiber)
        }
      })))

    it("is read at once after a quiet time, at most every 100 ms while it is updated, and at last as it is", () =>
      virtually(Effect.gen(function*() {
        const server = SimulatedServer.make()
        const client = yield* connect(server)
        const { texts } = yield* watching(client)
        assert.strictEqual(yield* Queue.take(texts), "1 0")
        yield* Effect.sleep("1 second")
        const before = yield* Clock.currentTimeMillis
        yield* client.callTool("update")
        assert.strictEqual(yield* Queue.take(texts), "1 1")
        assert.isBelow((yield* Clock.currentTimeMillis) - before, 100)
        server.clear()
        for (let update = 0; update < 100; update++) {
          yield* client.callTool("update", { count: 10 })
          yield* Effect.sleep(10)
        }
        yield* Effect.sleep("1 second")
        assert.strictEqual((yield* Queue.takeAll(texts)).at(-1), "1 101")
        const took = (yield* Clock.currentTimeMillis) - before
        assert.isAtMost(server.count("resources/read"), took / 100)
        assert.isAtLeast(server.count("resources/read"), 10)
      })))

    it("that is updated often is read seldom by a slow follower, and at last as it is", () =>
      virtually(Effect.gen(function*() {
        const server = SimulatedServer.make()
        const client = yield* connect(server)
        const texts: Array<string> = []
        yield* fork(Stream.runForEach(client.watch(RecordedServer.uri), ({ contents: [content] }) =>
          Effect.delay(
            Effect.sync(() => texts.push(content !== undefined && "text" in content ? content.text : "")),
            "1 minute"
          )))
        for (let update = 0; update < 100; update++) {
          yield* client.callTool("update", { count: 10 })
          yield* Effect.sleep(10)
        }
        yield* Effect.sleep("20 minutes")
        assert.strictEqual(texts.at(-1), "1 100")
        assert.isAtMost(server.count("resources/read"), 6)
      })))

    it("that does not exist fails the stream", () =>
      virtually(Effect.gen(function*() {
        const client = yield* connect(SimulatedServer.make())
        const error = yield* Effect.flip(Stream.runDrain(client.watch("test://other")))
        assert.strictEqual(error._tag === "RequestError" ? error.reason._tag : error._tag, "ErrorResponse")
      })))

    it("of a server that hangs does not keep its follower from leaving", () =>
      virtually(Effect.gen(function*() {
        const server = SimulatedServer.make()
        const client = yield* connect(server, { healthCheck: false })
        yield* client.callTool("pid")
        server.stall()
        const { fiber } = yield* watching(client)
        yield* Effect.sleep("1 second")
        const left = yield* Effect.timeoutOption(Fiber.interrupt(fiber), "1 second")
        assert.strictEqual(left._tag, "Some", "the follower waits for the server")
      })))
  })
}
