/** A supervised client of `server-everything` over each of its transports. Its process is killed and started again. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Child from "./fixtures/child.ts"
import { startEverything } from "./fixtures/httpListener.ts"
import * as KillableServer from "./fixtures/killableServer.ts"
import { calling, connect, quietly, timeout, watching } from "./fixtures/supervised.ts"
import { textOf } from "./host/results.ts"

const places = {
  stdio: Effect.sync(() => KillableServer.overStdio([Child.everything, "stdio"])),
  // The server answers 400 instead of 404 for a session that it does not know.
  "Streamable HTTP": KillableServer.overHttp((port) => startEverything("streamableHttp", port), "mcp"),
  "HTTP+SSE": KillableServer.overHttp((port) => startEverything("sse", port), "sse")
}

const longRunning = "trigger-long-running-operation"

const uri = "demo://resource/dynamic/text/1"

for (const [name, start] of Object.entries(places)) {
  describe.concurrent(`server-everything over ${name}`, () => {
    it.live(
      "is killed in the middle of calls: each ends, and later calls, lists and prompts succeed",
      () =>
        Effect.gen(function*() {
          const server = yield* start
          const pids: Array<number> = []
          yield* quietly(Effect.gen(function*() {
            const client = yield* connect(server)
            const tools = yield* client.tools
            const prompts = yield* client.prompts
            pids.push(server.pid())
            const started = yield* Effect.forEach([false, true], (repeat) =>
              Effect.gen(function*() {
                const begun = yield* Deferred.make<void>()
                const input = repeat ? { duration: 1, steps: 20 } : { duration: 600, steps: 12_000 }
                const call = yield* calling(client, longRunning, input, {
                  repeat,
                  onProgress: () => Deferred.succeed(begun, undefined)
                })
                yield* Deferred.await(begun)
                return call
              }))
            yield* server.kill
            yield* server.start
            assert.deepStrictEqual(yield* Effect.forEach(started, Fiber.join), [
              "OutcomeUnknown",
              "Long running operation completed. Duration: 1 seconds, Steps: 20."
            ])
            pids.push(server.pid())
            assert.strictEqual(new Set(pids).size, 2)
            assert.strictEqual(
              textOf(yield* client.callTool("get-sum", { a: 15, b: 27 })),
              "The sum of 15 and 27 is 42."
            )
            assert.deepStrictEqual(yield* client.tools, tools)
            assert.deepStrictEqual(yield* client.prompts, prompts)
            const { messages } = yield* client.getPrompt("args-prompt", { city: "Vienna", state: "Austria" })
            assert.deepStrictEqual(messages, [
              { role: "user", content: { type: "text", text: "What's weather in Vienna, Austria?" } }
            ])
          }))
          if (name === "stdio") assert.deepStrictEqual(pids.filter(Child.isRunning), [])
        }),
      timeout
    )

    it.live("is killed while a resource is watched: the watch goes on", () =>
      Effect.gen(function*() {
        const server = yield* start
        yield* quietly(Effect.gen(function*() {
          const client = yield* connect(server)
          const contents = yield* watching(client, uri)
          assert.match(yield* Queue.take(contents), /^Resource 1: This is a plaintext resource/)
          yield* server.kill
          yield* server.start
          yield* Queue.take(contents)
          yield* client.callTool("echo", { message: "again" }, { repeat: true })
          yield* Queue.clear(contents)
          // Notifies of an update at once.
          yield* client.callTool("toggle-subscriber-updates")
          assert.match(yield* Queue.take(contents), /^Resource 1: This is a plaintext resource/)
        }))
      }), timeout)
  })
}
