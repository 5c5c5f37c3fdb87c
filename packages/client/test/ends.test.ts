/** Uses of a supervised client after its end, and after that of its schedule, in virtual time. */
import { McpClient, type ServerStatus } from "@effect-mcp/client"
import { Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as RecordedServer from "./fixtures/RecordedServer.ts"
import * as SimulatedServer from "./support/SimulatedServer.ts"
import { virtually } from "./support/virtually.ts"

const info = { name: "host", version: "1.0.0" }

const fork = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkScoped(effect, { startImmediately: true })

/** Makes a client whose scope the test closes. */
const closable = Effect.fnUntraced(function*(isInstalled: boolean) {
  const server = SimulatedServer.make()
  server.isInstalled = isInstalled
  const scope = yield* Scope.make()
  const client = yield* Scope.provide(
    McpClient.make(server.target, { info, name: "notes", revisions: Revision.legacy, waitTimeout: "1 hour" }),
    scope
  )
  if (isInstalled) yield* client.session
  return { server, client, close: Scope.close(scope, Exit.void) }
})

const advice =
  /^the server "notes" is not available: .*the client has ended with its scope.*; call it while its scope is open$/

describe("after the scope of a client has closed", () => {
  it("calls that waited for the server fail at once, and so do later calls and lists", () =>
    virtually(Effect.gen(function*() {
      const { client, close } = yield* closable(false)
      const waiting = yield* fork(Effect.flip(client.callTool("quick")))
      const reading = yield* fork(Effect.flip(client.tools))
      const since = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      yield* close
      assert.match((yield* Fiber.join(waiting)).message, advice)
      assert.match((yield* Fiber.join(reading)).message, advice)
      assert.match((yield* Effect.flip(client.callTool("quick"))).message, advice)
      assert.match((yield* Effect.flip(client.tools)).message, advice)
      assert.match((yield* Effect.flip(client.session)).message, advice)
      assert.strictEqual(yield* Effect.clockWith((clock) => clock.currentTimeMillis), since)
    })))

  it("streams end: the status is final, and a watched resource fails", () =>
    virtually(Effect.gen(function*() {
      const { client, close } = yield* closable(true)
      const statuses: Array<ServerStatus.ServerStatus> = []
      const following = yield* fork(
        Stream.runForEach(client.statuses, (status) => Effect.sync(() => statuses.push(status)))
      )
      const changes = yield* fork(Stream.runDrain(client.changes))
      const watching = yield* fork(Effect.flip(Stream.runDrain(client.watch(RecordedServer.uri))))
      yield* Effect.sleep("1 second")
      yield* close
      yield* Fiber.join(following)
      yield* Fiber.join(changes)
      assert.match((yield* Fiber.join(watching)).message, advice)
      const last = statuses.at(-1)
      assert.strictEqual(last?._tag === "Down" ? last.problem._tag : last?._tag, "Stopped")
      assert.deepStrictEqual(yield* client.status, last)
    })))
})

describe("after the schedule of a client has ended", () => {
  it("a watched resource fails, and the statuses end", () =>
    virtually(Effect.gen(function*() {
      const server = SimulatedServer.make()
      const client = yield* McpClient.make(server.target, {
        info,
        reconnect: Schedule.upTo(Schedule.spaced("1 second"), { times: 2 })
      })
      yield* client.session
      const watching = yield* fork(Effect.flip(Stream.runDrain(client.watch(RecordedServer.uri))))
      const statuses = yield* fork(Stream.runCollect(client.statuses))
      yield* Effect.sleep("1 second")
      server.isInstalled = false
      yield* server.kill
      assert.match((yield* Fiber.join(watching)).message, /no further attempt; .*set reconnect to a schedule/)
      assert.strictEqual((yield* Fiber.join(statuses)).at(-1)?._tag, "Down")
    })))
})
