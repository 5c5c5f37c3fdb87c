/** Calls of a supervised client that take long, and health checks meanwhile, in virtual time. */
import { McpClient, type ServerStatus } from "@effect-mcp/client"
import { Revision, type Tool } from "@effect-mcp/protocol"
import { RequestError, TransportError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as SimulatedServer from "./support/SimulatedServer.ts"
import { virtually } from "./support/virtually.ts"

const info = { name: "host", version: "1.0.0" }

const eras = { "with a handshake": Revision.legacy, "2026-07-28": Revision.modern } as const

const fork = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkScoped(effect, { startImmediately: true })

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((part) => part.type === "text" ? part.text : part.type).join()

// Shorter than the time after which a side ends a session whose peer reads nothing.
const healthCheck = { interval: "2 seconds", timeout: "1 second" } as const

for (const [era, revisions] of Object.entries(eras)) {
  const connect = Effect.fnUntraced(function*(options: Partial<McpClient.Options> = {}) {
    const server = SimulatedServer.make()
    const client = yield* McpClient.make(server.target, {
      info,
      revisions,
      reconnect: Schedule.spaced("1 second"),
      healthCheck,
      ...options
    })
    const statuses: Array<ServerStatus.ServerStatus> = []
    yield* fork(Stream.runForEach(client.statuses, (status) => Effect.sync(() => statuses.push(status))))
    yield* client.session
    const downs = () => statuses.filter((status) => status._tag === "Down")
    return { server, client, downs, problems: () => downs().map(({ problem }) => problem) }
  })

  describe(era, () => {
    it("a call that has run longer than waitTimeout is sent again after the loss of its session", () =>
      virtually(Effect.gen(function*() {
        const { client, server } = yield* connect({ waitTimeout: "2 seconds" })
        const calling = yield* fork(client.callTool("slow", { key: "a", millis: 30_000 }, { repeat: true }))
        yield* Effect.sleep("20 seconds")
        yield* server.kill
        assert.strictEqual(textOf(yield* Fiber.join(calling)), "a")
        assert.strictEqual(server.count("slow a"), 2)
      })))

    it("the waits of a call for its server are counted together", () =>
      virtually(Effect.gen(function*() {
        const { client, server } = yield* connect({ waitTimeout: "5 seconds", reconnect: Schedule.spaced("3 seconds") })
        const calling = yield* fork(Effect.flip(client.callTool("run", { key: "a" }, { repeat: true })))
        // Each kill costs a wait of three seconds.
        yield* Effect.sleep("20 seconds")
        yield* server.kill
        yield* Effect.sleep("20 seconds")
        assert.strictEqual(server.count("run a"), 2)
        yield* server.kill
        const error = yield* Fiber.join(calling)
        assert.strictEqual(error._tag === "RequestError" ? error.reason._tag : error._tag, "OutcomeUnknown")
        assert.strictEqual(server.count("run a"), 2)
      })))

    it("a server that answers nothing during a call is not ended", () =>
      virtually(Effect.gen(function*() {
        const { client, problems, server } = yield* connect()
        const calling = yield* fork(client.callTool("slow", { key: "a", millis: 10 }, { timeout: "10 minutes" }))
        yield* Effect.sleep(5)
        server.mute()
        yield* Effect.sleep("20 seconds")
        server.recover()
        assert.strictEqual(textOf(yield* Fiber.join(calling)), "a")
        yield* Effect.sleep("5 minutes")
        assert.deepStrictEqual(problems(), [])
        assert.strictEqual(server.processes(), 1)
      })))

    it("a server that hangs is ended after the deadline of a call, although other calls wait", () =>
      virtually(Effect.gen(function*() {
        const { client, problems, server } = yield* connect()
        server.mute()
        yield* fork(Effect.ignore(client.callTool("quick", {}, { timeout: "10 seconds" })))
        yield* fork(Effect.ignore(client.callTool("quick", {}, { timeout: "10 minutes" })))
        yield* Effect.sleep("10500 millis")
        assert.deepStrictEqual(problems(), [])
        yield* Effect.sleep("1 second")
        assert.deepStrictEqual(problems(), [{ _tag: "Unresponsive", afterMillis: 1_000 }])
      })))

    it("a health check that cannot be sent is the reason why the server is down", () =>
      virtually(Effect.gen(function*() {
        let sent = 0
        const refused = TransportError.make({ _tag: "ConnectFailed", target: "the server", cause: "refused" })
        const { client, problems } = yield* connect({
          middleware: {
            outbound: (request, next) =>
              (request.method === "ping" || request.method === "server/discover") && ++sent === 3
                ? Effect.fail(RequestError.make(request.method, { _tag: "SendFailed", error: refused }))
                : next(request)
          }
        })
        yield* Effect.sleep("5 minutes")
        const [problem] = problems()
        assert(problem?._tag === "HealthCheckFailed", problem?._tag)
        assert.include(problem.error.message, "refused")
        assert.lengthOf(problems(), 1)
        assert.strictEqual((yield* client.status)._tag, "Ready")
      })))

    it("a middleware that dies at health checks ends sessions, and the client connects again each time", () =>
      virtually(Effect.gen(function*() {
        let sent = 0
        const { client, downs, server } = yield* connect({
          middleware: {
            outbound: (request, next) =>
              (request.method === "ping" || request.method === "server/discover") && ++sent % 10 === 0
                ? Effect.die(new Error("the middleware is broken"))
                : next(request)
          }
        })
        // Each session stands for longer than the 10 seconds after which the schedule begins anew.
        yield* Effect.sleep("5 minutes")
        assert.isAbove(downs().length, 5)
        for (const { attempts, problem } of downs()) {
          assert.strictEqual(attempts, 1)
          assert.include(problem._tag === "TargetFailed" ? String(problem.cause) : problem._tag, "middleware is broken")
        }
        assert.strictEqual(textOf(yield* client.callTool("quick", { key: "a" })), "a")
        assert.strictEqual(server.processes(), downs().length + 1)
      })))
  })
}
