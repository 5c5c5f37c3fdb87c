/** Batches: several messages in one frame, which only revision 2025-03-26 has. */
import { JsonRpc, Revision } from "@effect-mcp/protocol"
import { MemoryTransport, RequestContext, type Transport, TransportError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"
import * as RawServer from "./support/RawServer.ts"
import {
  call,
  codeOf,
  initialize,
  initialized,
  performHandshake,
  server,
  settled,
  start,
  text,
  tools,
  upTo,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

const batched = "2025-03-26"
const ping = (id: number) => JsonRpc.request(id, "ping", undefined)

/** Records the frames that a server sends. */
const recordFrames = (pair: MemoryTransport.Pair, frames: Array<JsonRpc.Frame>): MemoryTransport.Pair => ({
  client: pair.client,
  server: {
    connect: Effect.map(pair.server.connect, (connection) => ({
      ...connection,
      send: (outbound) => {
        frames.push(outbound.message)
        return connection.send(outbound)
      }
    }))
  }
})

const serverWith = Effect.fnUntraced(function*(
  handlers: Parameters<typeof tools>[0],
  options: { readonly revision?: string; readonly batch?: number | undefined } = {}
) {
  const frames: Array<JsonRpc.Frame> = []
  const parts = yield* withRawClient({
    handlers: tools(handlers),
    server: {
      capabilities: { logging: {} },
      limits: options.batch === undefined ? {} : { maxBatchMessages: options.batch }
    },
    pair: Effect.map(MemoryTransport.make(), (pair) => recordFrames(pair, frames))
  })
  yield* performHandshake(parts.raw, options.revision ?? batched)
  frames.length = 0
  return { ...parts, frames }
})

const idsOf = (frame: JsonRpc.Frame | undefined) =>
  frame === undefined || !JsonRpc.isBatch(frame) ? frame : frame.map(({ id }) => id)

describe("a batch that a server receives", () => {
  it.effect("[MSG-15] gets its replies in one frame, after the last request has ended", () =>
    Effect.gen(function*() {
      const { frames, link } = yield* serverWith({
        slow: Effect.as(Effect.sleep("1 second"), text("slow")),
        quick: Effect.succeed(text("quick"))
      })
      link.deliver([call(1, "slow"), call("2", "quick"), initialized, ping(3)])
      yield* settled
      assert.deepStrictEqual(frames, [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(frames.map(idsOf), [["2", 3, 1]])
    }))

  it.effect("[MSG-15] gets no frame in reply if it has no requests", () =>
    Effect.gen(function*() {
      const { frames, link, record, session } = yield* serverWith({})
      link.deliver([initialized, JsonRpc.success(99, {})])
      yield* settled
      assert.deepStrictEqual(frames, [])
      assert.strictEqual(record.of("UnmatchedResponse").length, 1)
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("law 7: [MSG-15] a malformed message in it affects only itself", () =>
    Effect.gen(function*() {
      const { frames, link } = yield* serverWith({ quick: Effect.succeed(text("quick")) })
      link.deliver([1, call(1, "quick"), { jsonrpc: "2.0" }, { jsonrpc: "1.0", id: 2, method: "ping" }, [ping(3)]])
      yield* settled
      const [frame] = frames
      assert.isTrue(frame !== undefined && JsonRpc.isBatch(frame))
      if (frame === undefined || !JsonRpc.isBatch(frame)) return
      assert.deepStrictEqual(frame.map((response) => [response.id, codeOf(response)]), [
        [null, -32600],
        [1, undefined],
        [2, -32600],
        [null, -32600]
      ])
      assert.strictEqual(frames.length, 1)
    }))

  it.effect("law 5: [CAN-04] a cancelled request in it gets no reply, and the others do not wait for it", () =>
    Effect.gen(function*() {
      const { frames, link } = yield* serverWith({ never: Effect.never, quick: Effect.succeed(text("quick")) })
      link.deliver([call(1, "never"), call(2, "quick")])
      yield* settled
      assert.deepStrictEqual(frames, [])
      link.deliver(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* settled
      assert.deepStrictEqual(frames.map(idsOf), [[2]])
    }))

  it.effect("law 5: [CAN-04] a cancellation in it cancels an earlier request of the batch", () =>
    Effect.gen(function*() {
      const { frames, link, session } = yield* serverWith({ never: Effect.never })
      link.deliver([call(1, "never"), JsonRpc.notification("notifications/cancelled", { requestId: 1 })])
      yield* settled
      assert.deepStrictEqual(frames, [])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("law 5: a duplicate id in it is rejected, and the first request is served", () =>
    Effect.gen(function*() {
      const { frames, link } = yield* serverWith({ slow: Effect.as(Effect.sleep("1 second"), text("slow")) })
      link.deliver([call(1, "slow"), call(1, "slow")])
      yield* TestClock.adjust("1 second")
      const [frame] = frames
      assert.deepStrictEqual(frame !== undefined && JsonRpc.isBatch(frame) ? frame.map(codeOf) : frame, [
        -32600,
        undefined
      ])
    }))

  it.effect("[MSG-15] messages of its handlers do not wait for its replies", () =>
    Effect.gen(function*() {
      const { frames, raw } = yield* serverWith({
        report: Effect.gen(function*() {
          yield* RequestContext.progress({ progress: 1 })
          yield* RequestContext.log({ level: "info", data: "here" })
          yield* Effect.sleep("1 second")
          return text("done")
        })
      })
      yield* raw.send(call(1, "report", { _meta: { progressToken: 7 } }))
      yield* settled
      assert.strictEqual(frames.length, 2)
    }))

  it.effect("[MSG-15] uses one stream, which its replies end", () =>
    Effect.gen(function*() {
      const sent: Array<Transport.Outbound> = []
      const ended: Array<Transport.StreamOrigin> = []
      let deliver: (frame: unknown, origin: Transport.StreamOrigin) => void = () => {}
      yield* server({
        connect: Effect.succeed({
          run: (take) => {
            deliver = (frame, origin) => take({ frame: Result.succeed(frame), origin })
            return Effect.never
          },
          send: (outbound) => Effect.sync(() => sent.push(outbound)),
          endExchange: (origin) => ended.push(origin)
        })
      }, tools({ report: Effect.as(RequestContext.progress({ progress: 1 }), text("done")), never: Effect.never }))
      yield* settled
      const [handshake, batch, noReply, cancelled] = [{}, {}, {}, {}]
      deliver(initialize(batched), handshake)
      deliver([call(1, "report", { _meta: { progressToken: 7 } }), call(2, "report"), initialized], batch)
      deliver([initialized], noReply)
      deliver([call(3, "never")], cancelled)
      deliver(JsonRpc.notification("notifications/cancelled", { requestId: 3 }), {})
      yield* settled
      assert.deepStrictEqual(
        sent.slice(1).map(({ last, message, replyTo }) => [replyTo === batch, last, idsOf(message)]),
        [
          [true, false, JsonRpc.notification("notifications/progress", { progress: 1, progressToken: 7 })],
          // The handler of the first has reported progress, so its reply waits for the next turn.
          [true, true, [2, 1]]
        ]
      )
      assert.deepStrictEqual(ended.map((origin) => [origin === noReply, origin === cancelled]), [
        [true, false],
        [false, true],
        [false, false]
      ])
    }))

  it.effect("[MSG-15] a reply that JSON cannot represent is replaced by an error, and the other replies stay", () =>
    Effect.gen(function*() {
      const { link, raw } = yield* serverWith({
        big: Effect.succeed({ content: [], _meta: { big: 1n } }),
        quick: Effect.succeed(text("quick"))
      })
      link.deliver([call(1, "big"), call(2, "quick")])
      const replies = [yield* raw.response, yield* raw.response]
      assert.deepStrictEqual(replies.map(({ id }) => id), [1, 2])
      assert.deepStrictEqual(replies.map(codeOf), [-32603, undefined])
    }))

  it.effect("law 12: replies that a transport cannot serialize are replaced at most twice, and then dropped", () =>
    Effect.gen(function*() {
      const tooLong = TransportError.make({ _tag: "Unserializable", cause: new RangeError("Invalid string length") })
      const attempts: Array<unknown> = []
      const { link, record } = yield* withRawClient({
        handlers: tools({ quick: Effect.succeed(text("quick")), big: Effect.succeed(text("big")) }),
        server: { stateless: { revision: batched } },
        pair: Effect.map(MemoryTransport.make(), (pair) => ({
          ...pair,
          server: {
            connect: Effect.map(pair.server.connect, (connection) => ({
              ...connection,
              send: ({ message }) => {
                attempts.push(JsonRpc.isBatch(message) ? message.map(codeOf) : codeOf(message))
                return attempts.length > 100 ? Effect.void : Effect.fail(tooLong)
              }
            }))
          }
        }))
      })
      yield* settled
      link.deliver([call(1, "quick"), call(2, "big")])
      yield* settled
      assert.deepStrictEqual(attempts, [[undefined, undefined], [undefined, undefined], [-32603, -32603]])
      attempts.length = 0
      link.deliver(call(3, "quick"))
      yield* settled
      assert.deepStrictEqual(attempts, [undefined, -32603])
      assert.strictEqual(record.of("SendFailed").length, 5)
    }))

  it.effect("law 12: the number of replies that wait for the rest of their batch is limited", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawClient({
        handlers: tools({ never: Effect.never }),
        server: { limits: { maxOutgoingReplies: 100 }, stateless: { revision: batched } }
      })
      yield* settled
      link.deliver([call("a", "never"), ...upTo(99).map(ping)])
      yield* settled
      assert.strictEqual((yield* session.state)._tag, "Stateless")
      link.deliver([call("b", "never"), ping(101), ping(102)])
      assert.deepInclude(yield* session.closed, { _tag: "RepliesOverflow", waiting: 101 })
    }))

  it.effect("law 12: the bytes of replies that wait for the rest of their batch are limited", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawClient({
        handlers: tools({ never: Effect.never, big: Effect.succeed(text("x".repeat(10_000))) }),
        server: { limits: { maxOutgoingBytes: 25_000 }, stateless: { revision: batched } }
      })
      yield* settled
      link.deliver([call("a", "never"), call("b", "big")])
      yield* settled
      // Replies that are sent at once do not count.
      for (let round = 0; round < 3; round++) link.deliver([call(1, "big"), call(2, "big")])
      yield* settled
      link.deliver([call("d", "never"), call("e", "big")])
      yield* settled
      assert.strictEqual((yield* session.state)._tag, "Stateless")
      link.deliver([call("f", "never"), call("g", "big"), ping(1)])
      yield* settled
      assert.deepInclude(yield* session.closed, { _tag: "RepliesOverflow", waiting: 4 })
    }))

  it.effect("law 12: replies of a sent batch no longer count", () =>
    Effect.gen(function*() {
      const { frames, link, session } = yield* withRawClient({
        handlers: tools({ never: Effect.never }),
        server: { limits: { maxOutgoingReplies: 100 }, stateless: { revision: batched } }
      }).pipe(Effect.map((parts) => ({ ...parts, frames: parts.link.sent })))
      yield* settled
      for (let count = 0; count < 10; count++) {
        link.deliver([call("a", "never"), ...upTo(90).map(ping)])
        link.deliver(JsonRpc.notification("notifications/cancelled", { requestId: "a" }))
      }
      yield* settled
      assert.strictEqual((yield* session.state)._tag, "Stateless")
      assert.strictEqual(frames.length, 900)
    }))

  it.effect("law 12: an unread batch counts as all of its replies", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawClient({
        server: { limits: { maxOutgoingReplies: 100 }, stateless: { revision: batched } }
      })
      yield* settled
      link.stall()
      for (let count = 0; count < 4; count++) link.deliver(upTo(40).map(ping))
      // The transport has the first batch.
      assert.deepInclude(yield* session.closed, { _tag: "RepliesOverflow", waiting: 120 })
    }))

  it.effect("law 12: sent replies no longer count, and a batch of ten thousand messages is served", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawClient({
        handlers: tools({ wait: Effect.sleep("1 second").pipe(Effect.as(text("x"))) }),
        server: { limits: { maxOutgoingReplies: 10_000, maxBatchMessages: 10_000 }, stateless: { revision: batched } }
      })
      yield* settled
      for (let count = 0; count < 3; count++) {
        link.stall()
        link.deliver(ping(0))
        link.deliver(upTo(10_000).map((id) => id % 2 === 0 ? ping(id) : call(id, "wait")))
        yield* TestClock.adjust("1 second")
        link.resume()
        yield* settled
      }
      assert.strictEqual((yield* session.state)._tag, "Stateless")
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      const codes = link.sent.slice(-10_000).map(codeOf)
      // Each of the 5,000 calls gets a reply; those beyond 256 in flight are rejected.
      assert.deepStrictEqual([codes.length, codes.filter((code) => code === -31010).length], [10_000, 5000 - 256])
    }))

  it.effect("law 12: each message of a batch is charged its own memory", () =>
    Effect.gen(function*() {
      const { link, session } = yield* withRawClient({
        handlers: tools({ never: Effect.never }),
        server: { limits: { maxIncomingBytes: 5000 }, stateless: { revision: batched } }
      })
      yield* settled
      const large = (id: number) => call(id, "never", { arguments: { x: "x".repeat(1000) } })
      link.deliver([large(1), call(2, "never"), initialized, initialized], 1600)
      assert.strictEqual((yield* session.inFlight).served, 2)
      link.deliver([call(3, "never"), large(4)], 1600)
      assert.strictEqual((yield* session.inFlight).served, 3)
      yield* settled
      assert.deepStrictEqual(link.sent, [])
      link.deliver(JsonRpc.notification("notifications/cancelled", { requestId: 3 }))
      assert.deepStrictEqual(link.sent.map((reply) => "id" in reply ? [reply.id, codeOf(reply)] : reply), [[
        4,
        -31010
      ]])
    }))

  for (const limit of [undefined, 3]) {
    const most = limit ?? 100
    const settings = limit === undefined ? "by default" : "by maxBatchMessages"
    it.effect(`law 12: more than ${most} messages, ${settings}, are rejected with one error, and none is served`, () =>
      Effect.gen(function*() {
        const { frames, link, record, session } = yield* serverWith({ never: Effect.never }, { batch: limit })
        link.deliver([call(0, "never"), 1, ...upTo(most - 1).map(ping)])
        yield* settled
        assert.deepStrictEqual<unknown>(frames, [{
          jsonrpc: "2.0",
          id: null,
          error: {
            code: -32600,
            message: `Invalid request: the batch has ${most + 1} messages; the limit is ${most}`
          }
        }])
        assert.strictEqual(record.of("Malformed").length, 1)
        assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
        link.deliver(upTo(most).map(ping))
        yield* settled
        assert.deepStrictEqual(frames.slice(1).map(idsOf), [upTo(most)])
      }))
  }

  it.effect("[MSG-15] [MSG-17] a batch in a batch is rejected, and the messages beside it are served", () =>
    Effect.gen(function*() {
      const { frames, link } = yield* serverWith({ quick: Effect.succeed(text("quick")) })
      let nested: unknown = [ping(9)]
      for (let depth = 0; depth < 10_000; depth++) nested = [nested]
      link.deliver([nested, call(1, "quick")])
      yield* settled
      assert.deepStrictEqual(frames.map(idsOf), [[null, 1]])
    }))

  it.effect("[MSG-15] a response and a request in one batch are both handled", () =>
    Effect.gen(function*() {
      const { frames, link, record } = yield* serverWith({ quick: Effect.succeed(text("quick")) })
      link.deliver([call(1, "quick"), JsonRpc.success(99, {})])
      yield* settled
      assert.deepStrictEqual(frames.map(idsOf), [[1]])
      assert.deepStrictEqual(record.of("UnmatchedResponse").map(({ kind }) => kind), ["Unknown"])
    }))

  it.effect("law 1: at the end of the session, finished requests of a batch get their replies and others do not", () =>
    Effect.gen(function*() {
      const { frames, link, session } = yield* serverWith({ never: Effect.never, quick: Effect.succeed(text("quick")) })
      link.deliver([call(1, "never"), call(2, "quick")])
      yield* settled
      const closing = yield* start(session.close)
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(closing)
      assert.deepStrictEqual(frames.map(idsOf), [[2]])
    }))

  it.effect("[MSG-16] initialize in a batch is rejected, before the handshake and after it", () =>
    Effect.gen(function*() {
      const { link, raw, session } = yield* withRawClient()
      yield* settled
      link.deliver([initialize(batched)])
      assert.strictEqual(codeOf(yield* raw.response), -32600)
      assert.strictEqual((yield* session.state)._tag, "AwaitingInitialize")
      yield* performHandshake(raw, batched)
      link.deliver([initialize("2025-06-18")])
      assert.strictEqual(codeOf(yield* raw.response), -32600)
      assert.strictEqual((yield* session.profile).revision, batched)
    }))

  for (const revision of Revision.legacy.filter((revision) => revision !== batched)) {
    it.effect(`[MSG-17] is rejected as a whole in ${revision}`, () =>
      Effect.gen(function*() {
        const ran = Deferred.makeUnsafe<void>()
        const { frames, link } = yield* serverWith({
          quick: Effect.as(Deferred.succeed(ran, undefined), text("quick"))
        }, { revision })
        link.deliver([call(1, "quick"), ping(2)])
        yield* settled
        assert.deepStrictEqual(frames.map((frame) => JsonRpc.isBatch(frame) ? frame : codeOf(frame)), [-32600])
        assert.isFalse(Deferred.isDoneUnsafe(ran))
      }))
  }
})

describe("a batch that a client receives", () => {
  const connected = { result: RawServer.initializeResult({ protocolVersion: batched }) }

  it.effect("[MSG-15] each response in it completes its request, in any order", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer(connected)
      const one = yield* start(session.ping())
      const two = yield* start(session.callTool("x"))
      yield* raw.send([JsonRpc.success(2, text("x")), JsonRpc.success(1, {})])
      yield* Fiber.join(one)
      assert.deepStrictEqual(yield* Fiber.join(two), text("x"))
    }))

  it.effect("law 4: [MSG-15] progress and the response in one batch are delivered in order", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer(connected)
      const steps: Array<number> = []
      const calling = yield* start(session.callTool("x", {}, {
        onProgress: ({ progress }) => Effect.sync(() => steps.push(progress))
      }))
      yield* raw.send([
        JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 }),
        JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 2 }),
        JsonRpc.success(1, text("x"))
      ])
      yield* Fiber.join(calling)
      assert.deepStrictEqual(steps, [1, 2])
    }))

  it.effect("[MSG-15] gets the replies to its pings in one frame", () =>
    Effect.gen(function*() {
      const { link, raw } = yield* withRawServer(connected)
      const before = link.sent.length
      yield* raw.send([ping(1), ping(2)])
      yield* settled
      assert.deepStrictEqual(link.sent.slice(before), [JsonRpc.success(1, {}), JsonRpc.success(2, {})])
    }))

  it.effect("law 12: more than 100 messages are rejected, and none is handled", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer(connected)
      const calling = yield* start(session.ping())
      yield* raw.send([...upTo(100).map((id) => JsonRpc.success(`unknown ${id}`, {})), JsonRpc.success(1, {})])
      yield* settled
      assert.isUndefined(calling.pollUnsafe())
      assert.deepStrictEqual(record.of("Malformed"), [
        { _tag: "Malformed", problem: "the batch has 101 messages; the limit is 100" }
      ])
      assert.deepStrictEqual(record.of("UnmatchedResponse"), [])
      yield* raw.send([JsonRpc.success(1, {})])
      yield* Fiber.join(calling)
    }))

  it.effect("[MSG-17] changes nothing in another revision", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      const calling = yield* start(session.ping())
      yield* raw.send([JsonRpc.success(1, {}), JsonRpc.success(1, {})])
      yield* settled
      assert.isUndefined(calling.pollUnsafe())
      assert.strictEqual(record.of("Malformed").length, 1)
      yield* raw.send(JsonRpc.success(1, {}))
      yield* Fiber.join(calling)
    }))

  for (const revision of Revision.legacy.filter((revision) => revision !== batched)) {
    it.effect(`[MSG-17] a response in a batch of one is tolerated in ${revision}, with an event`, () =>
      Effect.gen(function*() {
        const { raw, record, session } = yield* withRawServer({
          result: RawServer.initializeResult({ protocolVersion: revision })
        })
        const pinging = yield* start(session.ping())
        const calling = yield* start(Effect.flip(session.callTool("x")))
        const broken = yield* start(Effect.flip(session.callTool("x")))
        yield* raw.send([JsonRpc.success(1, {})])
        yield* raw.send([{ jsonrpc: "2.0", id: 2, error: { code: "-32602", message: "no" } }])
        yield* raw.send([{ jsonrpc: "2.0", id: 3 }])
        yield* Fiber.join(pinging)
        const { reason } = yield* Fiber.join(calling)
        assert.isTrue(reason._tag === "ErrorResponse" && reason.error.code === -32602)
        assert.strictEqual((yield* Fiber.join(broken)).reason._tag, "MalformedResponse")
        assert.deepStrictEqual(record.of("Tolerated").map(({ method }) => method), ["ping", "tools/call"])
      }))
  }

  it.effect("[MSG-17] a request or notification in a batch of one is rejected", () =>
    Effect.gen(function*() {
      const { raw, record } = yield* withRawServer()
      const before = raw.received.length
      for (const message of [ping(1), JsonRpc.notification("notifications/tools/list_changed"), [ping(2)], {}, null]) {
        yield* raw.send([message])
      }
      yield* settled
      assert.strictEqual(raw.received.length, before)
      assert.strictEqual(record.of("Malformed").length, 5)
      assert.deepStrictEqual(record.of("Tolerated"), [])
    }))
})
