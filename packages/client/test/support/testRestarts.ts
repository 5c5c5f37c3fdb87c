/** Tests of a supervised client whose server is killed in the middle of calls and started again. */
import { type McpCall, McpClient } from "@effect-mcp/client"
import type { Tool } from "@effect-mcp/protocol"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as RecordedServer from "../fixtures/RecordedServer.ts"
import { leavingNothing } from "./leavingNothing.ts"
import { type Place, type RunningServer, start } from "./places.ts"
import { until } from "./until.ts"

const info = { name: "host", version: "1.0.0" }

const connect = (
  { revisions }: Place,
  { target }: RunningServer,
  options: Partial<McpClient.Options> = {}
): Effect.Effect<McpClient.McpClientShape, never, Scope.Scope> =>
  McpClient.make(target, {
    info,
    revisions,
    reconnect: Schedule.spaced("50 millis"),
    waitTimeout: "2 minutes",
    ...options
  })

const nameOf = (error: McpCall.CallError): string => error._tag === "RequestError" ? error.reason._tag : error._tag

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((part) => part.type === "text" ? part.text : part.type).join()

/** Makes a call in the background, and returns its text or the name of its error. */
const calling = (
  client: McpClient.McpClientShape,
  tool: string,
  key: string,
  options?: McpCall.CallOptions
): Effect.Effect<Fiber.Fiber<string>> =>
  Effect.forkChild(
    Effect.match(client.callTool(tool, { key }, options), { onSuccess: textOf, onFailure: nameOf }),
    { startImmediately: true }
  )

const keys = (prefix: string) => ["1", "2", "3"].map((number) => `${prefix}${number}`)

const versionIn = (tools: ReadonlyArray<Tool.Tool>): string | undefined =>
  tools.map(({ name }) => name).find((name) => name.startsWith("version "))

/** The server of one place, which all tests of the place share. */
class Server extends Context.Service<Server, RunningServer>()("test/Server") {}

/** The time of a test, in milliseconds. It starts processes, and a busy machine starts them slowly. */
const timeout = 120_000

/** Tests a client of a server in a process of its own at this place. */
export const testRestarts = (place: Place): void => {
  layer(Layer.effect(Server, start(place)), { excludeTestServices: true })(`a server over ${place.name}`, (it) => {
    it.effect(`is killed in the middle of calls: each ends, none runs twice`, () =>
      Effect.gen(function*() {
        const server = yield* Server
        yield* leavingNothing(Effect.gen(function*() {
          const client = yield* connect(place, server)
          yield* client.callTool("pid")
          const unsafe = yield* Effect.forEach(keys("a"), (key) => calling(client, "run", key))
          const undeclared = yield* Effect.forEach(keys("b"), (key) => calling(client, "once", key))
          const repeatable = yield* Effect.forEach(keys("c"), (key) => calling(client, "once", key, { repeat: true }))
          const ran = () => server.record().filter((line) => /^(run|once|quick) [abcd]/.test(line)).toSorted()
          yield* until(() => ran().length === 9)
          yield* server.kill
          const later = yield* Effect.forEach(keys("d"), (key) => calling(client, "quick", key))
          yield* server.start
          assert.deepStrictEqual(yield* Effect.forEach(unsafe, Fiber.join), keys("a").map(() => "OutcomeUnknown"))
          assert.deepStrictEqual(yield* Effect.forEach(undeclared, Fiber.join), keys("b").map(() => "OutcomeUnknown"))
          assert.deepStrictEqual(yield* Effect.forEach(repeatable, Fiber.join), keys("c"))
          assert.deepStrictEqual(yield* Effect.forEach(later, Fiber.join), keys("d"))
          assert.deepStrictEqual(
            ran(),
            [
              ...keys("once b"),
              ...keys("once c").flatMap((line) => [line, line]),
              ...keys("quick d"),
              ...keys("run a")
            ].toSorted()
          )
          assert.strictEqual(textOf(yield* client.callTool("pid")), String(server.pid()))
        }))
      }), timeout)

    if (!place.isNotified) return

    it.effect(`is killed: the client subscribes, lists and sets its level again`, () =>
      Effect.gen(function*() {
        const server = yield* Server
        yield* leavingNothing(Effect.gen(function*() {
          const logged = yield* Queue.unbounded<unknown>()
          const client = yield* connect(place, server, {
            handlers: {
              "roots/list": () => Effect.succeed({ roots: [{ uri: "file:///home/ada" }] }),
              "notifications/message": ({ data }) => Queue.offer(logged, data)
            }
          })
          yield* client.callTool("pid")
          const first = server.pid()
          const subscriptions = () => server.record().filter((line) => line === "subscribe").length
          const before = subscriptions()
          yield* client.setLogLevel("error")
          const [contents, other] = yield* Effect.all([watching(client), watching(client)])
          assert.strictEqual(versionIn(yield* client.tools), `version ${first} 0`)
          assert.strictEqual(yield* Queue.take(contents), `${first} 0`)
          assert.strictEqual(yield* Queue.take(other), `${first} 0`)
          assert.strictEqual(subscriptions(), before + 1)

          yield* server.kill
          yield* server.start
          assert.strictEqual(textOf(yield* client.callTool("roots", {}, { repeat: true })), "file:///home/ada")
          const second = server.pid()
          assert.notStrictEqual(second, first)
          yield* takeUntil(contents, `${second} 0`)
          yield* takeUntil(other, `${second} 0`)
          assert.strictEqual(versionIn(yield* client.tools), `version ${second} 0`)
          assert.strictEqual(subscriptions(), before + 2)

          yield* client.callTool("update", { count: 100 })
          yield* takeUntil(contents, `${second} 1`)
          yield* takeUntil(other, `${second} 1`)
          yield* client.callTool("log")
          assert.strictEqual(yield* Queue.take(logged), "error")
        }))
      }), timeout)

    it.effect(
      "floods list_changed while its tools are called: calls end, and the list is the last",
      () =>
        Effect.gen(function*() {
          const server = yield* Server
          yield* leavingNothing(Effect.gen(function*() {
            const client = yield* connect(place, server)
            yield* client.tools
            const flooded = yield* Deferred.make<void>()
            yield* Effect.forkChild(
              Effect.ensuring(client.callTool("change", { count: 20_000 }), Deferred.succeed(flooded, undefined))
            )
            let calls = 0
            while (!(yield* Deferred.isDone(flooded))) {
              yield* client.callTool("quick", { key: `e${calls++}` })
              yield* client.tools
            }
            assert.strictEqual(server.record().filter((line) => line.startsWith("quick e")).length, calls)
            const last = textOf(yield* client.callTool("change"))
            assert.strictEqual(yield* newest(client, last), last)
          }))
        }),
      timeout
    )
  })
}

/** Follows the contents of the resource of a server. */
const watching = (client: McpClient.McpClientShape): Effect.Effect<Queue.Queue<string>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const texts = yield* Queue.unbounded<string>()
    yield* Effect.forkScoped(
      Stream.runForEach(client.watch(RecordedServer.uri), ({ contents }) =>
        Queue.offer(
          texts,
          contents.map((content) => "text" in content ? content.text : "").join()
        ))
    )
    return texts
  })

/** Takes texts until one is the expected one. The others are older. */
const takeUntil = (texts: Queue.Queue<string>, expected: string): Effect.Effect<string> =>
  Effect.flatMap(Queue.take(texts), (text) => text === expected ? Effect.succeed(text) : takeUntil(texts, expected))

/** Returns the version in the list of tools once it is the expected one. A notification may overtake a response. */
const newest = (client: McpClient.McpClientShape, expected: string): Effect.Effect<string, McpCall.CallError> =>
  Effect.flatMap(client.tools, (tools) =>
    versionIn(tools) === expected
      ? Effect.succeed(expected)
      : Effect.andThen(Effect.sleep(20), newest(client, expected)))
