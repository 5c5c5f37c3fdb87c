import { JsonRpc } from "@effect-mcp/protocol"
import type { Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { HttpSseServerConnection } from "../../../../../src/internal/http/server/sse/HttpSseServerConnection.ts"
import * as StreamWatchdog from "../../../../../src/internal/http/server/StreamWatchdog.ts"

const open = Effect.fnUntraced(function*(capacity = 100) {
  const watchdog = yield* StreamWatchdog.make({ keepAliveMillis: 10_000, stallMillis: 1000, detachedMillis: 10_000 })
  const connection = new HttpSseServerConnection("/messages", { watchdog, capacity })
  const inbound: Array<Transport.Inbound> = []
  const running = yield* Effect.forkChild(connection.run((one) => inbound.push(one)))
  return { connection, inbound, running }
})

const outbound = (id: number): Transport.Outbound => ({
  message: JsonRpc.success(id, { padding: "x".repeat(60) }),
  replyTo: undefined,
  last: true
})

const textOf = (chunks: ReadonlyArray<Uint8Array>) => Buffer.concat(chunks).toString()

describe("the connection of a session over HTTP+SSE", () => {
  it.effect("delivers messages that arrived before its session runs, in order", () =>
    Effect.gen(function*() {
      const { connection, inbound, running } = yield* open()
      connection.post(1, 10, { id: "ada" })
      connection.post(2, 20, undefined)
      assert.deepStrictEqual(inbound, [])
      yield* Effect.yieldNow
      connection.post(3, 30, undefined)
      assert.deepStrictEqual(inbound, [
        { frame: Result.succeed(1), bytes: 10, principal: { id: "ada" } },
        { frame: Result.succeed(2), bytes: 20, principal: undefined },
        { frame: Result.succeed(3), bytes: 30, principal: undefined }
      ])
      assert.isUndefined(running.pollUnsafe())
    }))

  it.effect("delivers early messages also if its stream closes before its session runs", () =>
    Effect.gen(function*() {
      const { connection, inbound, running } = yield* open()
      connection.post(1, 10, undefined)
      connection.start().close()
      assert.deepStrictEqual(yield* Fiber.join(running), { exit: undefined, writable: false })
      assert.lengthOf(inbound, 1)
    }))

  it.effect("[SSE-02] [SSE-04] sends the endpoint event first, and ends its stream after the last message", () =>
    Effect.gen(function*() {
      const { connection } = yield* open(200)
      yield* connection.send(outbound(1))
      const body = connection.start()
      yield* connection.send(outbound(2))
      const sending = yield* Effect.forkChild(connection.send(outbound(3)))
      yield* Effect.yieldNow
      // The buffer is full until the client reads.
      assert.isUndefined(sending.pollUnsafe())
      const reading = yield* Effect.forkChild(Stream.runCollect(body.stream))
      yield* Fiber.join(sending)
      connection.close()
      assert.isTrue(connection.isClosed)
      const events = textOf(yield* Fiber.join(reading)).split("\n\n").slice(0, -1)
      assert.strictEqual(events[0], "event: endpoint\ndata: /messages")
      assert.deepStrictEqual(
        events.slice(1).map((event) => JSON.parse(event.replace("event: message\ndata: ", "")).id),
        [1, 2, 3]
      )
      const late = yield* Effect.flip(connection.send(outbound(4)))
      assert.strictEqual(late.reason._tag, "PeerEnded")
    }))

  it.effect("is aborted if the client never reads the stream, and its session ends", () =>
    Effect.gen(function*() {
      const { connection, running } = yield* open()
      let released = 0
      connection.start().onClose(() => released++)
      yield* connection.send(outbound(1))
      const sending = yield* Effect.forkChild(connection.send(outbound(2)))
      yield* Effect.yieldNow
      yield* TestClock.adjust("900 millis")
      assert.isUndefined(running.pollUnsafe())
      yield* TestClock.adjust("1 seconds")
      for (const fiber of [running, sending]) {
        const error = yield* Effect.flip(Fiber.join<unknown, { readonly reason: { readonly _tag: string } }>(fiber))
        assert.strictEqual(error.reason._tag, "WriteFailed")
      }
      assert.strictEqual(released, 1)
      assert.isTrue(connection.isClosed)
    }))

  it.effect("fails for a message that JSON cannot represent, and sends later messages", () =>
    Effect.gen(function*() {
      const { connection } = yield* open()
      connection.start()
      const failed = yield* Effect.exit(connection.send({
        message: JsonRpc.success(1, { big: 1n }),
        replyTo: undefined,
        last: true
      }))
      assert.isTrue(Exit.isFailure(failed))
      yield* connection.send(outbound(1))
    }))
})
