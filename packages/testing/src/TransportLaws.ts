/**
 * What every transport keeps, as a suite of tests: the same behaviours, whatever carries them.
 *
 * @since 0.1.0
 */
import { JsonRpc, type Progress, Revision } from "@effect-mcp/protocol"
import { ClientSession, type Handlers, type SessionEvent, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Census from "./Census.ts"
import * as RawPeer from "./RawPeer.ts"

/**
 * A transport to be judged.
 *
 * @category models
 * @since 0.1.0
 */
export interface Subject {
  /**
   * Starts a server that serves `LawServer.make()` under `LawServer.options`, and gives the client's end of the transport
   * to it. Each use starts a server of its own, which ends with the scope.
   */
  readonly serve: Effect.Effect<Transport.Transport["Service"], unknown, Scope.Scope>
  /** How often a property is tried. Default 20; a transport that starts a process for each can afford fewer. */
  readonly runs?: number
}

const info = { name: "law-client", version: "1.0.0" }

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null

/** What was waited for did not come to be so. */
class NotYet extends Data.TaggedError("NotYet") {}

/** Tries again until something is so, for a second: the other side may be another process. */
const eventually = <E>(check: Effect.Effect<boolean, E>): Effect.Effect<void, E | NotYet> =>
  Effect.retry(
    Effect.flatMap(check, (is) => is ? Effect.void : Effect.fail(new NotYet())),
    { schedule: Schedule.spaced("10 millis"), times: 100 }
  )

/**
 * Judges a transport.
 *
 * @example
 * ```ts
 * import { LawServer } from "@effect-mcp/testing"
 * import { TransportLaws } from "@effect-mcp/testing/vitest"
 * import { MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * TransportLaws.suite("memory", {
 *   serve: Effect.gen(function*() {
 *     const pair = yield* MemoryTransport.make()
 *     yield* ServerSession.make(LawServer.make(), LawServer.options).pipe(
 *       Effect.provideService(Transport.Transport, pair.server)
 *     )
 *     return pair.client
 *   })
 * })
 * ```
 *
 * @category suites
 * @since 0.1.0
 */
export const suite = (name: string, subject: Subject): void => {
  const runs = subject.runs ?? 20

  const open = Effect.fnUntraced(function*(options: Partial<ClientSession.Options<Handlers.Handlers<"server">>> = {}) {
    const transport = yield* subject.serve
    return yield* ClientSession.make({ info, ...options }).pipe(
      Effect.provideService(Transport.Transport, transport)
    )
  })

  const openRaw = Effect.gen(function*() {
    const transport = yield* subject.serve
    return yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, transport))
  })

  const initialize = JsonRpc.request(0, "initialize", {
    protocolVersion: Revision.latest,
    capabilities: {},
    clientInfo: info
  })
  const initialized = JsonRpc.notification("notifications/initialized")
  const call = (id: number | string, tool: string, input: JsonRpc.Params = {}) =>
    JsonRpc.request(id, "tools/call", { name: tool, arguments: input })

  const openRawAndInitialized = Effect.gen(function*() {
    const peer = yield* openRaw
    yield* peer.send(initialize)
    yield* peer.response
    yield* peer.send(initialized)
    return peer
  })

  const errorCode = (response: JsonRpc.Response) => JsonRpc.isFailure(response) ? response.error.code : undefined
  const structured = (response: JsonRpc.Response) =>
    JsonRpc.isFailure(response) || !isRecord(response.result) ? undefined : response.result["structuredContent"]

  const reported = (session: ClientSession.Shape) =>
    Effect.map(session.callTool("report"), (result) => ({
      waiting: result.structuredContent?.["waiting"],
      interrupted: result.structuredContent?.["interrupted"]
    }))

  /** The mistakes that nobody should see in a conversation that went well. */
  const isOdd = (event: SessionEvent.SessionEvent) =>
    event._tag === "UnmatchedResponse" || event._tag === "Malformed" || event._tag === "SendFailed"

  describe(name, () => {
    describe("handshake", () => {
      it.live("[TRN-01] [INIT-01] [INIT-07] [INIT-08] a session is operating once it is there", () =>
        Effect.gen(function*() {
          const session = yield* open()
          assert.strictEqual((yield* session.state)._tag, "Operating")
          assert.strictEqual(session.profile.revision, Revision.latest)
          assert.strictEqual(session.profile.info.name, "law-server")
          assert.strictEqual(session.profile.instructions, "Every tool shows one side of a session.")
        }).pipe(Effect.scoped))

      for (const revision of Revision.supported) {
        it.live(`[TRN-01] [INIT-04] [INIT-13] both sides settle on ${revision}`, () =>
          Effect.gen(function*() {
            const session = yield* open({ revisions: [revision] })
            assert.strictEqual(session.profile.revision, revision)
            yield* session.ping()
          }).pipe(Effect.scoped))
      }

      it.live("[INIT-05] an unknown revision is answered with the newest", () =>
        Effect.gen(function*() {
          const peer = yield* openRaw
          yield* peer.send(
            JsonRpc.request(0, "initialize", { protocolVersion: "1999-01-01", capabilities: {}, clientInfo: info })
          )
          const response = yield* peer.response
          assert.isFalse(JsonRpc.isFailure(response))
          assert.include(JSON.stringify(response), Revision.latest)
        }).pipe(Effect.scoped))

      it.live("[PING-01] law 6: before the handshake a ping is answered and a request refused", () =>
        Effect.gen(function*() {
          const peer = yield* openRaw
          yield* peer.send(JsonRpc.request("early", "ping", undefined))
          assert.deepStrictEqual(yield* peer.response, { jsonrpc: "2.0", id: "early", result: {} })
          yield* peer.send(call(1, "echo"))
          const refused = yield* peer.response
          assert.strictEqual(refused.id, 1)
          assert.strictEqual(errorCode(refused), -32600)
          yield* peer.send(initialize)
          assert.isFalse(JsonRpc.isFailure(yield* peer.response))
        }).pipe(Effect.scoped))

      it.live("[INIT-02] an initialize that does not fit is refused, and the next one may", () =>
        Effect.gen(function*() {
          const peer = yield* openRaw
          yield* peer.send(JsonRpc.request(0, "initialize", { capabilities: {} }))
          assert.strictEqual(errorCode(yield* peer.response), -32602)
          yield* peer.send({ ...initialize, id: 1 })
          assert.isFalse(JsonRpc.isFailure(yield* peer.response))
        }).pipe(Effect.scoped))

      it.live("law 6: a second initialize changes nothing", () =>
        Effect.gen(function*() {
          const peer = yield* openRawAndInitialized
          yield* peer.send({ ...initialize, id: 7 })
          assert.strictEqual(errorCode(yield* peer.response), -32600)
          yield* peer.send(call(8, "echo", { value: "still here" }))
          assert.deepStrictEqual(structured(yield* peer.response), { value: "still here" })
        }).pipe(Effect.scoped))

      it.live("[INIT-10] requests pipelined behind initialize are served", () =>
        Effect.gen(function*() {
          const peer = yield* openRaw
          yield* peer.send(initialize)
          yield* peer.send(call(1, "echo", { value: 1 }))
          const first = yield* peer.response
          const second = yield* peer.response
          assert.deepStrictEqual([first.id, second.id], [0, 1])
          assert.deepStrictEqual(structured(second), { value: 1 })
        }).pipe(Effect.scoped))
    })

    describe("matching", () => {
      it.live("[MSG-07] law 3: every response reaches the exchange it answers", () =>
        Effect.gen(function*() {
          const odd: Array<SessionEvent.SessionEvent> = []
          const session = yield* open({ observe: (event) => isOdd(event) && odd.push(event) })
          const outcome = yield* Arbitrary.checkEffect(
            Arbitrary.schema(Schema.Array(Schema.String)),
            (values) =>
              Effect.gen(function*() {
                const results = yield* Effect.forEach(values, (value) => session.callTool("echo", { value }), {
                  concurrency: "unbounded"
                })
                const returned = results.map((result) => result.structuredContent?.["value"])
                return returned.length === values.length && returned.every((value, index) => value === values[index])
              }),
            { runs }
          )
          assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
          assert.deepStrictEqual(odd, [])
          assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
        }).pipe(Effect.scoped))

      it.live("[MSG-03] law 3: 1 and \"1\" are two requests", () =>
        Effect.gen(function*() {
          const peer = yield* openRawAndInitialized
          yield* peer.send(call(1, "echo", { value: "number" }))
          yield* peer.send(call("1", "echo", { value: "string" }))
          const answers = [yield* peer.response, yield* peer.response]
          const byId = new Map(answers.map((response) => [response.id, structured(response)]))
          assert.deepStrictEqual(byId.get(1), { value: "number" })
          assert.deepStrictEqual(byId.get("1"), { value: "string" })
        }).pipe(Effect.scoped))

      it.live("law 5: a duplicate id in flight gets an error, the first its answer", () =>
        Effect.gen(function*() {
          const peer = yield* openRawAndInitialized
          yield* peer.send(call(5, "steps", { count: 1, gapMillis: 50 }))
          yield* peer.send(call(5, "echo", { value: "second" }))
          assert.strictEqual(errorCode(yield* peer.response), -32600)
          assert.deepStrictEqual(structured(yield* peer.response), { steps: 1 })
        }).pipe(Effect.scoped))

      it.live("[TRN-01] [MSG-01] whatever JSON can say comes back as it went", () =>
        Effect.gen(function*() {
          const session = yield* open()
          const outcome = yield* Arbitrary.checkEffect(
            Arbitrary.schema(Schema.Json),
            (value) =>
              Effect.gen(function*() {
                const { structuredContent } = yield* session.callTool("echo", { value })
                // JSON has no minus zero.
                return JSON.stringify(structuredContent) === JSON.stringify({ value })
              }),
            { runs }
          )
          assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
        }).pipe(Effect.scoped))

      it.live("[MSG-02] a megabyte of every kind of character comes back as it went", () =>
        Effect.gen(function*() {
          const session = yield* open()
          const value = "aé漢🙂\n\r\u2028\u0000\"\\".repeat(64 * 1024)
          const result = yield* session.callTool("echo", { value })
          assert.isTrue(result.structuredContent?.["value"] === value)
        }).pipe(Effect.scoped))
    })

    describe("progress", () => {
      it.live("[PRG-03] [PRG-04] law 4: every step, in order, before the result", () =>
        Effect.gen(function*() {
          const session = yield* open()
          const seen: Array<Progress.Progress> = []
          yield* session.callTool("steps", { count: 200 }, {
            onProgress: (step) => Effect.sync(() => seen.push(step))
          })
          assert.deepStrictEqual(
            seen.map((step) => step.progress),
            Array.from({ length: 200 }, (_, index) => index + 1)
          )
          assert.deepStrictEqual(seen[0]?.message, "step 1")
        }).pipe(Effect.scoped))

      it.live("[PRG-05] law 4: a slow consumer still has every step before the result", () =>
        Effect.gen(function*() {
          const session = yield* open()
          const order: Array<string> = []
          yield* session.callTool("steps", { count: 5 }, {
            onProgress: (step) =>
              Effect.andThen(Effect.sleep(2), Effect.sync(() => order.push(`step ${step.progress}`)))
          })
          order.push("result")
          assert.deepStrictEqual(order, ["step 1", "step 2", "step 3", "step 4", "step 5", "result"])
        }).pipe(Effect.scoped))

      it.live("[PRG-05] nothing is said about a request that has been answered", () =>
        Effect.gen(function*() {
          const peer = yield* openRawAndInitialized
          yield* peer.send(
            JsonRpc.request(1, "tools/call", { name: "linger", arguments: {}, _meta: { progressToken: 0 } })
          )
          yield* peer.response
          yield* Effect.sleep(50)
          assert.deepStrictEqual(yield* peer.pending, [])
        }).pipe(Effect.scoped))

      it.live("[PRG-01] a token may be 0", () =>
        Effect.gen(function*() {
          const peer = yield* openRawAndInitialized
          yield* peer.send(
            JsonRpc.request(1, "tools/call", {
              name: "steps",
              arguments: { count: 1 },
              _meta: { progressToken: 0 }
            })
          )
          const step = yield* peer.receive
          assert.deepStrictEqual("params" in step ? step.params?.["progressToken"] : undefined, 0)
        }).pipe(Effect.scoped))
    })

    describe("cancellation", () => {
      it.live("[CAN-04] law 8: interrupting the caller interrupts the handler, once", () =>
        Effect.gen(function*() {
          const session = yield* open()
          const waiting = yield* Effect.forkChild(session.callTool("wait"))
          yield* eventually(Effect.map(reported(session), (report) => report.waiting === 1))
          yield* Fiber.interrupt(waiting)
          yield* eventually(Effect.map(reported(session), (report) => report.interrupted === 1))
          assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
        }).pipe(Effect.scoped))

      it.live("[TMO-03] [TMO-04] a deadline ends the call on both sides", () =>
        Effect.gen(function*() {
          const session = yield* open()
          const error = yield* Effect.flip(session.callTool("wait", {}, { deadline: 50 }))
          assert.deepStrictEqual(error.reason, { _tag: "Timeout", afterMillis: 50 })
          yield* eventually(Effect.map(reported(session), (report) => report.interrupted === 1))
        }).pipe(Effect.scoped))

      it.live("[CAN-07] law 8: a cancellation right behind its request is not lost", () =>
        Effect.gen(function*() {
          const peer = yield* openRawAndInitialized
          for (let id = 1; id <= 10; id++) {
            yield* peer.send(call(id, "wait"))
            yield* peer.send(JsonRpc.notification("notifications/cancelled", { requestId: id }))
          }
          yield* eventually(Effect.gen(function*() {
            yield* peer.send(call(100, "report"))
            const report = structured(yield* peer.response)
            return isRecord(report) && report["waiting"] === report["interrupted"] && report["waiting"] === 10
          }))
          assert.deepStrictEqual(yield* peer.pending, [])
        }).pipe(Effect.scoped))

      it.live("[CAN-05] [CAN-09] cancelling what is unknown or finished does nothing", () =>
        Effect.gen(function*() {
          const peer = yield* openRawAndInitialized
          yield* peer.send(call(1, "echo", { value: 1 }))
          yield* peer.response
          for (const requestId of [1, "1", 99, null, {}]) {
            yield* peer.send(JsonRpc.notification("notifications/cancelled", { requestId }))
          }
          yield* peer.send(call(2, "echo", { value: 2 }))
          assert.deepStrictEqual(structured(yield* peer.response), { value: 2 })
        }).pipe(Effect.scoped))
    })

    describe("errors", () => {
      it.live("[TOOL-03] [MSG-10] an error travels with its code and message", () =>
        Effect.gen(function*() {
          const session = yield* open()
          const error = yield* Effect.flip(session.callTool("refuse", { code: -4711, message: "not today" }))
          assert.strictEqual(error.reason._tag, "ErrorResponse")
          assert.strictEqual(error.reason._tag === "ErrorResponse" && error.reason.error.code, -4711)
          assert.strictEqual(error.reason._tag === "ErrorResponse" && error.reason.error.message, "not today")
        }).pipe(Effect.scoped))

      it.live("law 5: a handler that dies, or throws null, is answered without its secrets", () =>
        Effect.gen(function*() {
          const session = yield* open()
          for (const tool of ["die", "throwNull"]) {
            const { reason } = yield* Effect.flip(session.callTool(tool))
            assert.strictEqual(reason._tag, "ErrorResponse")
            if (reason._tag !== "ErrorResponse") return
            assert.strictEqual(reason.error.code, -32603)
            assert.strictEqual(reason.error.message, "Internal error")
            assert.isUndefined(reason.error.data)
          }
          yield* session.ping()
        }).pipe(Effect.scoped))

      it.live("an unknown method is −32601, params that do not fit are −32602", () =>
        Effect.gen(function*() {
          const peer = yield* openRawAndInitialized
          for (const method of ["no/such", "__proto__", "constructor", "sampling/createMessage"]) {
            yield* peer.send(JsonRpc.request(method, method, undefined))
            const response = yield* peer.response
            assert.deepStrictEqual([response.id, errorCode(response)], [method, -32601])
          }
          yield* peer.send(JsonRpc.request(2, "tools/call", { name: 1 }))
          assert.strictEqual(errorCode(yield* peer.response), -32602)
        }).pipe(Effect.scoped))

      it.live("[MSG-12] law 7: what is no message costs only itself", () =>
        Effect.gen(function*() {
          const peer = yield* openRawAndInitialized
          yield* peer.send(call(1, "echo", { value: 1 }))
          yield* peer.send({ jsonrpc: "2.0", id: 1.5, method: "ping" })
          yield* peer.send(JsonRpc.notification("no/such/notification"))
          yield* peer.send(JsonRpc.success("never asked", {}))
          yield* peer.send(call(2, "echo", { value: 2 }))
          const answers: Array<JsonRpc.Response> = []
          while (answers.length < 3) answers.push(yield* peer.response)
          assert.deepStrictEqual(answers.filter((response) => JsonRpc.isFailure(response)).map(errorCode), [-32600])
          assert.sameDeepMembers(answers.flatMap((response) => structured(response) ?? []), [{ value: 1 }, {
            value: 2
          }])
        }).pipe(Effect.scoped))
    })

    describe("server to client", () => {
      it.live("[PING-01] law 9: a handler asks the client, while the client waits for that handler", () =>
        Effect.gen(function*() {
          const session = yield* open()
          const results = yield* Effect.forEach([1, 2, 3], () => session.callTool("ask"), { concurrency: "unbounded" })
          assert.deepStrictEqual(results.map((result) => result.structuredContent), [
            { answered: true },
            { answered: true },
            { answered: true }
          ])
        }).pipe(Effect.scoped))

      it.live("[LOG-01] a handler's log message reaches the client, before the result", () =>
        Effect.gen(function*() {
          const logged: Array<unknown> = []
          const session = yield* open({
            handlers: { "notifications/message": ({ data }) => Effect.sync(() => logged.push(data)) }
          })
          yield* session.callTool("say", { data: { words: ["one", "two"] } })
          assert.deepStrictEqual(logged, [{ words: ["one", "two"] }])
        }).pipe(Effect.scoped))
    })

    describe("the end", () => {
      it.live("law 1: what is in flight when the session closes ends with the reason", () =>
        Effect.gen(function*() {
          const session = yield* open()
          const waiting = yield* Effect.forkChild(Effect.flip(session.callTool("wait")))
          yield* eventually(Effect.map(reported(session), (report) => report.waiting === 1))
          assert.deepStrictEqual(yield* session.close, { _tag: "Requested" })
          const { reason } = yield* Fiber.join(waiting)
          assert.deepStrictEqual(reason, { _tag: "Closed", reason: { _tag: "Requested" } })
          const later = yield* Effect.flip(session.ping())
          assert.deepStrictEqual(later.reason, { _tag: "Closed", reason: { _tag: "Requested" } })
        }).pipe(Effect.scoped))

      it.live("law 2: after the scope has closed no fiber and no exchange is left", () =>
        Effect.gen(function*() {
          const census = Census.make()
          yield* census.count(Effect.gen(function*() {
            const scope = yield* Scope.make()
            const session = yield* Scope.provide(open(), scope)
            const calls = yield* Effect.forEach(
              ["wait", "echo", "ask"],
              (tool) => Effect.forkDetach(Effect.exit(session.callTool(tool)))
            )
            yield* eventually(Effect.map(reported(session), (report) => report.waiting === 1))
            yield* Scope.close(scope, Exit.void)
            yield* Effect.forEach(calls, Fiber.join)
            assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
            assert.strictEqual((yield* session.state)._tag, "Closed")
          }))
          yield* eventually(Effect.sync(() => census.living() === 0))
        }).pipe(Effect.scoped))

      it.live("law 10: two sessions do not see each other", () =>
        Effect.gen(function*() {
          const [one, two] = [yield* open(), yield* open()]
          const waiting = yield* Effect.forkChild(one.callTool("wait"))
          yield* eventually(Effect.map(reported(one), (report) => report.waiting === 1))
          assert.deepStrictEqual(yield* reported(two), { waiting: 0, interrupted: 0 })
          yield* one.close
          yield* Fiber.await(waiting)
          yield* two.ping()
        }).pipe(Effect.scoped))
    })
  })
}
