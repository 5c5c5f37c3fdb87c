/** Supervised clients at each place of a server, whose process is killed in the middle of calls and started again. */
import { McpClient } from "@effect-mcp/client"
import { Content, type Tool } from "@effect-mcp/protocol"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as RecordedServer from "./fixtures/RecordedServer.ts"
import { type Place, places, type RunningServer, start } from "./support/places.ts"
import * as Resources from "./support/resources.ts"
import { until } from "./support/until.ts"

const info = { name: "host", version: "1.0.0" }

const connect = (
  { revisions }: Place,
  { target }: RunningServer,
  options: Partial<McpClient.Options> = {}
): Effect.Effect<McpClient.McpClientShape, never, Scope.Scope> =>
  McpClient.make(target, { info, revisions, reconnect: Schedule.spaced("50 millis"), waitFor: "15 seconds", ...options })

/** Runs a program with a client, and fails if something of the client is left afterwards. */
const leavingNothing = <A, E>(program: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A, E> =>
  Effect.gen(function*() {
    const before = Resources.open()
    const fibers = FiberCount.make()
    const result = yield* Effect.scoped(fibers.count(program))
    assert.strictEqual(fibers.living(), 0)
    assert.deepStrictEqual(yield* Resources.settled(before), before)
    return result
  })

const nameOf = (error: McpClient.CallError): string => error._tag === "RequestError" ? error.reason._tag : error._tag

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((part) => part.type === "text" ? part.text : part.type).join()

/** Makes a call in the background, and returns its text or the name of its error. */
const calling = (
  client: McpClient.McpClientShape,
  tool: string,
  key: string,
  options?: McpClient.CallOptions
): Effect.Effect<Fiber.Fiber<string>> =>
  Effect.forkChild(
    Effect.match(client.callTool(tool, { key }, options), { onSuccess: textOf, onFailure: nameOf }),
    { startImmediately: true }
  )

const keys = (prefix: string) => ["1", "2", "3"].map((number) => `${prefix}${number}`)

const versionIn = (tools: ReadonlyArray<Tool.Tool>): string | undefined =>
  tools.map(({ name }) => name).find((name) => name.startsWith("version "))

for (const place of places) {
  describe(`a server over ${place.name}`, () => {
    const is = place.transport === "stdio" ? "[STD-17] " : ""

    it.live(`${is}is killed: each call ends, none is carried out twice unless it may be, and nothing is left`, () =>
      Effect.gen(function*() {
        const server = yield* start(place)
        yield* leavingNothing(Effect.gen(function*() {
          const client = yield* connect(place, server)
          yield* client.callTool("pid")
          const unsafe = yield* Effect.forEach(keys("a"), (key) => calling(client, "run", key))
          const undeclared = yield* Effect.forEach(keys("b"), (key) => calling(client, "once", key))
          const repeatable = yield* Effect.forEach(keys("c"), (key) => calling(client, "once", key, { repeat: true }))
          yield* until(() => server.record().filter((line) => /^(run|once)/.test(line)).length === 9)
          yield* server.kill
          const later = yield* Effect.forEach(keys("d"), (key) => calling(client, "quick", key))
          yield* server.start
          assert.deepStrictEqual(yield* Effect.forEach(unsafe, Fiber.join), keys("a").map(() => "OutcomeUnknown"))
          assert.deepStrictEqual(yield* Effect.forEach(undeclared, Fiber.join), keys("b").map(() => "OutcomeUnknown"))
          assert.deepStrictEqual(yield* Effect.forEach(repeatable, Fiber.join), keys("c"))
          assert.deepStrictEqual(yield* Effect.forEach(later, Fiber.join), keys("d"))
          assert.deepStrictEqual(
            server.record().filter((line) => /^(run|once|quick)/.test(line)).toSorted(),
            [
              ...keys("once b"),
              ...keys("once c").flatMap((line) => [line, line]),
              ...keys("quick d"),
              ...keys("run a")
            ].toSorted()
          )
          assert.deepStrictEqual((yield* client.callTool("pid")).content, [Content.text(String(server.pid()))])
        }))
      }).pipe(Effect.scoped))

    if (!place.isNotified) return

    const again = place.transport === "stdio" ? "[STD-18] " : ""

    it.live(`${again}is killed: the client subscribes, lists, sets the log level and answers roots again`, () =>
      Effect.gen(function*() {
        const server = yield* start(place)
        yield* leavingNothing(Effect.gen(function*() {
          const logged = yield* Queue.unbounded<unknown>()
          const client = yield* connect(place, server, {
            handlers: {
              "roots/list": () => Effect.succeed({ roots: [{ uri: "file:///home/ada" }] }),
              "notifications/message": ({ data }) => Queue.offer(logged, data)
            }
          })
          yield* client.setLogLevel("error")
          const [contents, other] = yield* Effect.all([watching(client), watching(client)])
          const first = server.pid()
          assert.strictEqual(versionIn(yield* client.tools), `version ${first} 0`)
          assert.strictEqual(yield* Queue.take(contents), `${first} 0`)
          assert.strictEqual(yield* Queue.take(other), `${first} 0`)
          assert.strictEqual(server.record().filter((line) => line === "subscribe").length, 1)

          yield* server.kill
          yield* server.start
          assert.strictEqual(textOf(yield* client.callTool("roots")), "file:///home/ada")
          const second = server.pid()
          assert.notStrictEqual(second, first)
          assert.strictEqual(yield* takeUntil(contents, `${second} 0`), `${second} 0`)
          assert.strictEqual(yield* takeUntil(other, `${second} 0`), `${second} 0`)
          assert.strictEqual(versionIn(yield* client.tools), `version ${second} 0`)
          assert.strictEqual(server.record().filter((line) => line === "subscribe").length, 2)

          yield* client.callTool("update", { count: 100 })
          assert.strictEqual(yield* takeUntil(contents, `${second} 1`), `${second} 1`)
          assert.strictEqual(yield* takeUntil(other, `${second} 1`), `${second} 1`)
          yield* client.callTool("log")
          assert.strictEqual(yield* Queue.take(logged), "error")
        }))
      }).pipe(Effect.scoped))

    it.live("floods list_changed and changes its tools while they are called: calls end, and the list is the last", () =>
      Effect.gen(function*() {
        const server = yield* start(place)
        yield* leavingNothing(Effect.gen(function*() {
          const client = yield* connect(place, server)
          yield* client.tools
          const flooded = yield* Deferred.make<void>()
          yield* Effect.forkChild(
            Effect.ensuring(client.callTool("change", { count: 100_000 }), Deferred.succeed(flooded, undefined))
          )
          let calls = 0
          while (!(yield* Deferred.isDone(flooded))) {
            yield* client.callTool("quick", { key: String(calls++) })
            yield* client.tools
          }
          assert.strictEqual(server.record().filter((line) => line.startsWith("quick")).length, calls)
          const last = textOf(yield* client.callTool("change"))
          assert.strictEqual(yield* newest(client, last), last)
        }))
      }).pipe(Effect.scoped))
  })
}

/** Follows the contents of the resource of a server. */
const watching = (client: McpClient.McpClientShape): Effect.Effect<Queue.Queue<string>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const texts = yield* Queue.unbounded<string>()
    yield* Effect.forkScoped(Stream.runForEach(client.watch(RecordedServer.uri), ({ contents }) =>
      Queue.offer(texts, contents.map((content) => "text" in content ? content.text : "").join())))
    return texts
  })

/** Takes texts until one is the expected one. The others are older. */
const takeUntil = (texts: Queue.Queue<string>, expected: string): Effect.Effect<string> =>
  Effect.flatMap(Queue.take(texts), (text) => text === expected ? Effect.succeed(text) : takeUntil(texts, expected))

/** Returns the version in the list of tools once it is the expected one. A notification may overtake a response. */
const newest = (client: McpClient.McpClientShape, expected: string): Effect.Effect<string, McpClient.CallError> =>
  Effect.flatMap(client.tools, (tools) =>
    versionIn(tools) === expected
      ? Effect.succeed(expected)
      : Effect.andThen(Effect.sleep(20), newest(client, expected)))
