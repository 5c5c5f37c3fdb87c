import { JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import { type Transport, type TransportError } from "@effect-mcp/session"
import { Faults, SimulatedTransport, VirtualRuntime } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"

/** The messages that arrived at one end, by their method or id, with their times. */
interface Read {
  readonly frames: Array<unknown>
  readonly at: Array<number>
  readonly end: Fiber.Fiber<Transport.End, TransportError.TransportError>
}

const metadata: RequestMetadata.RequestMetadata = {
  protocolVersion: "2026-07-28",
  clientCapabilities: {},
  clientInfo: undefined,
  logLevel: undefined
}

const note = (index: number) => JsonRpc.notification("n", { index })

/** Returns a pair without sessions, whose ends are read until they are closed. */
const held = (faults: Partial<Faults.Faults> = {}, options: Partial<SimulatedTransport.Options> = {}) => {
  const runtime = VirtualRuntime.make({ seed: 1 })
  const pair = Effect.runSync(Effect.provideService(
    SimulatedTransport.make({ seed: 1, ...options, faults: { ...Faults.none, ...faults } }),
    Clock.Clock,
    runtime.clock
  ))
  let client: Transport.Connection | undefined
  let server: Transport.Connection | undefined
  const keep = (end: Transport.Transport["Service"], take: (connection: Transport.Connection) => void) =>
    runtime.start(
      Effect.scoped(Effect.andThen(Effect.tap(end.connect, (it) => Effect.sync(() => take(it))), Effect.never))
    )
  const closing = {
    client: keep(pair.client, (connection) => (client = connection)),
    server: keep(pair.server, (connection) => (server = connection))
  }
  const abandoned: Array<Transport.StreamOrigin> = []
  const read = (connection: Transport.Connection): Read => {
    const frames: Array<unknown> = []
    const at: Array<number> = []
    const end = runtime.start(connection.run(({ frame }) => {
      frames.push(Result.isSuccess(frame) ? frame.success : frame.failure._tag)
      at.push(runtime.now())
    }, { abandon: (origin) => abandoned.push(origin), report: () => {} }))
    return { frames, at, end }
  }
  if (client === undefined || server === undefined) throw new Error("a simulated connection opens at once")
  const send = (connection: Transport.Connection, message: JsonRpc.Message) =>
    runtime.start(connection.send({ message, replyTo: undefined, last: false }))
  return {
    runtime,
    pair,
    client,
    server,
    abandoned,
    send,
    toServer: read(server),
    toClient: read(client),
    close: (side: "client" | "server") => runtime.act(() => closing[side].interruptUnsafe())
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index)

describe("a simulated connection", () => {
  it("abandons a request of revision 2026-07-28 whose stream the client closes, and none with a handshake", () => {
    for (const [meta, count] of [[RequestMetadata.write(metadata), 1], [{}, 0]] as const) {
      const { abandoned, client, runtime, toServer } = held({ delay: 3 }, { form: "StreamPerRequest" })
      assert.isDefined(client.request)
      const request = runtime.start(
        client.request?.(JsonRpc.request(1, "tools/list", { _meta: meta })) ?? Effect.void
      )
      runtime.act(() => request.interruptUnsafe())
      runtime.advance(1_000)
      // The request arrives before the end of its stream.
      assert.deepStrictEqual([toServer.frames.length, abandoned.length], [1, count])
    }
  })

  it("delivers messages that are sent at any fraction of a millisecond", () => {
    const { client, runtime, send, toServer } = held({ delay: 40, reorder: true }, { form: "StreamPerRequest" })
    for (let index = 1; index <= 500; index++) {
      runtime.advance(Math.PI * index)
      send(client, note(index))
    }
    runtime.advance(1_000)
    assert.lengthOf(toServer.frames, 500)
  })

  it("delivers everything at once without faults", () => {
    const { client, send, toServer } = held()
    for (const index of upTo(5)) send(client, note(index))
    assert.deepStrictEqual(toServer, { ...toServer, frames: upTo(5).map(note), at: [0, 0, 0, 0, 0] })
  })

  it("delays messages, and keeps their order", () => {
    const { client, send, toServer, runtime } = held({ delay: 40 })
    for (const index of upTo(20)) send(client, note(index))
    runtime.advance(1000)
    assert.deepStrictEqual(toServer.frames, upTo(20).map(note))
    assert.isAbove(Math.max(...toServer.at), 0)
    assert.isAtMost(Math.max(...toServer.at), 40)
  })

  it("splits and merges messages without loss", () => {
    const { client, send, toServer, runtime } = held({ split: true, merge: true, delay: 40 })
    for (const index of upTo(50)) send(client, JsonRpc.notification("n", { index, text: "ähm — 🎈" }))
    runtime.advance(5000)
    assert.deepStrictEqual(
      toServer.frames,
      upTo(50).map((index) => JsonRpc.notification("n", { index, text: "ähm — 🎈" }))
    )
    assert.isTrue(toServer.at.every((at) => at % 20 === 0))
  })

  const lossy = (faults: Partial<Faults.Faults>) => {
    const { client, send, toServer, runtime } = held(faults)
    for (const index of upTo(200)) send(client, note(index))
    runtime.advance(5000)
    return toServer.frames
  }

  it("drops some messages, and repeats some", () => {
    const dropped = lossy({ drop: true })
    assert.isBelow(dropped.length, 195)
    assert.isAbove(dropped.length, 150)
    const twice = lossy({ duplicate: true })
    assert.isAbove(twice.length, 205)
    assert.deepStrictEqual(
      twice.filter((frame, index) => index === 0 || JSON.stringify(frame) !== JSON.stringify(twice[index - 1])),
      upTo(200).map(note)
    )
  })

  it("truncates some messages, and no others", () => {
    const frames = lossy({ truncate: true })
    const whole = frames.filter((frame) => frame !== "NotJson")
    assert.isAbove(200 - whole.length, 5)
    assert.deepStrictEqual(
      whole,
      upTo(200).map(note).filter((one) => JSON.stringify(frames).includes(JSON.stringify(one)))
    )
  })

  it("reorders streams, and keeps the order within one", () => {
    const { client, toServer, runtime } = held({ reorder: true, delay: 40 }, { form: "StreamPerRequest" })
    for (const id of upTo(20)) {
      runtime.start(client.request?.(JsonRpc.request(id, "r", undefined)) ?? Effect.die("no streams"))
    }
    runtime.advance(1000)
    const ids = toServer.frames.map((frame) =>
      typeof frame === "object" && frame !== null && "id" in frame ? frame.id : frame
    )
    assert.notDeepEqual(ids, upTo(20))
    assert.sameMembers(ids, upTo(20))
  })

  it("stalls one direction until it recovers", () => {
    const { client, pair, send, server, toClient, toServer, runtime } = held()
    runtime.act(pair.toServer.stall)
    const waiting = send(client, note(1))
    send(server, note(2))
    assert.deepStrictEqual([toServer.frames, toClient.frames], [[], [note(2)]])
    assert.isUndefined(waiting.pollUnsafe())
    runtime.act(pair.toServer.recover)
    assert.deepStrictEqual(toServer.frames, [note(1)])
    assert.strictEqual(waiting.pollUnsafe()?._tag, "Success")
  })

  const failureOf = (fiber: Fiber.Fiber<unknown, TransportError.TransportError>) => {
    const exit = fiber.pollUnsafe()
    if (exit?._tag !== "Failure") return exit?._tag
    const [reason] = exit.cause.reasons
    return reason?._tag === "Fail" ? reason.error.reason._tag : reason?._tag
  }

  it("fails a write, ends one direction, and breaks", () => {
    const failing = held()
    failing.runtime.act(failing.pair.toServer.failNext)
    assert.strictEqual(failureOf(failing.send(failing.client, note(1))), "WriteFailed")

    const half = held({ delay: 40 })
    half.send(half.client, note(1))
    half.runtime.act(half.pair.toServer.end)
    half.runtime.advance(100)
    assert.deepStrictEqual(half.toServer.frames, [note(1)])
    const ended = half.toServer.end.pollUnsafe()
    assert.deepStrictEqual(ended?._tag === "Success" && ended.value, { exit: undefined, writable: true })
    half.send(half.server, note(2))
    half.runtime.advance(100)
    assert.deepStrictEqual(half.toClient.frames, [note(2)])

    const cut = held({ delay: 40 })
    cut.send(cut.client, note(1))
    cut.runtime.act(cut.pair.cut)
    cut.runtime.advance(100)
    assert.deepStrictEqual(cut.toServer.frames, [])
    assert.deepStrictEqual([failureOf(cut.toServer.end), failureOf(cut.toClient.end)], ["ReadFailed", "ReadFailed"])
    assert.strictEqual(failureOf(cut.send(cut.client, note(2))), "WriteFailed")
  })

  it("ends for the other side after the messages in transit", () => {
    const { client, close, send, toServer, runtime } = held({ delay: 40 })
    send(client, note(1))
    close("client")
    runtime.advance(100)
    assert.deepStrictEqual(toServer.frames, [note(1)])
    const ended = toServer.end.pollUnsafe()
    assert.deepStrictEqual(ended?._tag === "Success" && ended.value, { exit: undefined, writable: false })
  })

  it("delivers injected bytes among those of a session", () => {
    const { client, pair, send, toServer, runtime } = held()
    send(client, note(1))
    runtime.act(() => pair.toServer.inject("no JSON\n"))
    runtime.act(() => pair.toServer.inject(Uint8Array.of(0xff, 0x0a)))
    send(client, note(2))
    assert.deepStrictEqual(toServer.frames, [note(1), "NotJson", "NotJson", note(2)])
  })

  it("carries one session", () => {
    const { pair, runtime } = held()
    assert.strictEqual(failureOf(runtime.start(Effect.scoped(pair.client.connect))), "InUse")
  })
})
