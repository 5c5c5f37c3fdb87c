/**
 * A transport whose wire is simulated: what it carries takes virtual time, is cut, gathered, held up, lost, or broken off, as its
 * faults and its seed say. The bytes on it are real: each message is a line, and what comes is put together by the framing of stdio.
 *
 * It comes in two forms, as `MemoryTransport` does: with one stream for everything, and with a stream for each request.
 */
import type { CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { type Transport, TransportError } from "@effect-mcp/session"
import * as JsonLines from "@effect-mcp/transport/JsonLines"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { Faults } from "./Faults.ts"
import * as Choices from "./internal/runtime/Choices.ts"
import * as SimulatedWire from "./internal/runtime/SimulatedWire.ts"

/**
 * How a connection is simulated.
 *
 * @category models
 */
export interface Options {
  /** What decides everything that is left to chance. */
  readonly seed: number
  readonly faults: Faults
  /** One stream for everything, or one for each request of the client. Default: `OneStream`. */
  readonly form?: "OneStream" | "StreamPerRequest" | undefined
}

/**
 * One direction of a connection, for a test that interferes.
 *
 * @category models
 */
export interface Direction {
  /** From now on whatever is sent waits. */
  readonly stall: () => void
  /** What waits goes on. */
  readonly recover: () => void
  /** The next message that is sent fails, and with it the connection of who sent it. */
  readonly failNext: () => void
  /** Nothing more is sent this way: a half-close, behind what is on its way. */
  readonly end: () => void
  /** Puts bytes on the wire that no session has sent. */
  readonly inject: (bytes: string | Uint8Array) => void
}

/**
 * The two ends, and what is between them.
 *
 * @category models
 */
export interface Pair {
  readonly client: Transport.Transport["Service"]
  readonly server: Transport.Transport["Service"]
  readonly toServer: Direction
  readonly toClient: Direction
  /** Breaks the connection: what is on its way is lost, and both ends find out. */
  readonly cut: () => void
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

const broken = (why: string) => new Error(`simulated: ${why}`)

/** One direction at work. */
interface Lane extends Direction {
  /** Sends one message, when the lane lets it. */
  readonly send: (
    message: JsonRpc.Frame,
    channel: () => Result.Result<SimulatedWire.Channel, TransportError.TransportError>
  ) => Effect.Effect<void, TransportError.TransportError>
  readonly afterwards: SimulatedWire.SimulatedWire["afterwards"]
  /** A place for bytes to come out, which become frames there. */
  readonly open: (origin?: Transport.StreamOrigin) => SimulatedWire.Channel
  /** Reads, until the other side has ended. */
  readonly run: Transport.Connection["run"]
  /** The reader has gone; what comes now comes to nobody. */
  readonly abandon: () => void
  /** Nothing more is sent this way, nor read the other way. */
  readonly close: () => void
  readonly cut: () => void
  /** Where bytes come out that belong to nothing else. */
  readonly plain: SimulatedWire.Channel
}

const makeLane = (options: Options, name: string, clock: Clock.Clock): Lane => {
  const wire = SimulatedWire.make(options.faults, Choices.make(options.seed, name), clock)
  const free = Latch.makeUnsafe(true)
  const over = Deferred.makeUnsafe<Transport.End, TransportError.TransportError>()
  let receive: ((inbound: Transport.Inbound) => void) | undefined
  let failing = false
  let ended = false
  let isCut = false

  const open = (origin?: Transport.StreamOrigin): JsonLines.Decoder =>
    JsonLines.decoder((frame, bytes) => receive?.({ frame, bytes, ...(origin === undefined ? undefined : { origin }) }))
  const plain = open(options.form === "StreamPerRequest" ? {} : undefined)

  const end = (writable: boolean, exit?: CloseReason.ProcessExit) => {
    if (ended) return
    ended = true
    wire.afterwards(plain, () => {
      plain.finish()
      Deferred.doneUnsafe(over, Exit.succeed({ exit, writable }))
    })
  }

  const pass: Lane["send"] = (message, channel) => {
    if (isCut) return Effect.fail(TransportError.make({ _tag: "WriteFailed", cause: broken("the wire is cut") }))
    if (failing || ended) {
      return Effect.fail(TransportError.make({ _tag: "WriteFailed", cause: broken("the write failed") }))
    }
    const found = channel()
    if (Result.isFailure(found)) return Effect.fail(found.failure)
    const line = JsonLines.encode(message)
    if (Result.isFailure(line)) return Effect.fail(line.failure)
    wire.write(found.success, bytesOf(line.success))
    return Effect.void
  }

  return {
    stall: () => Latch.closeUnsafe(free),
    recover: () => Latch.openUnsafe(free),
    failNext: () => {
      failing = true
    },
    end: () => end(true),
    inject: (bytes) => {
      if (ended || isCut) return
      wire.write(plain, typeof bytes === "string" ? bytesOf(bytes) : bytes)
    },
    send: (message, channel) =>
      Effect.suspend(() =>
        free.isOpen()
          ? pass(message, channel)
          : Effect.andThen(Latch.await(free), Effect.suspend(() => pass(message, channel)))
      ),
    afterwards: wire.afterwards,
    open,
    run: (deliver) =>
      Effect.suspend(() => {
        receive = deliver
        return Effect.raceFirst(Deferred.await(over), wire.run)
      }),
    abandon: () => {
      receive = undefined
    },
    close: () => end(false),
    cut: () => {
      isCut = true
      Latch.openUnsafe(free)
      Deferred.doneUnsafe(
        over,
        Exit.fail(TransportError.make({ _tag: "ReadFailed", cause: broken("the wire is cut") }))
      )
    },
    plain
  }
}

/** An end that carries one session. */
const once = (connection: Transport.Connection, close: () => void): Transport.Transport["Service"] => {
  let taken = false
  return {
    connect: Effect.suspend((): Effect.Effect<Transport.Connection, TransportError.TransportError, Scope.Scope> => {
      if (taken) return Effect.fail(TransportError.make({ _tag: "InUse" }))
      taken = true
      return Effect.acquireRelease(Effect.succeed(connection), () => Effect.sync(close))
    })
  }
}

const oneStream = (toServer: Lane, toClient: Lane) => {
  const end = (incoming: Lane, outgoing: Lane) =>
    once({
      run: incoming.run,
      send: ({ message }) => outgoing.send(message, () => Result.succeed(outgoing.plain))
    }, () => {
      incoming.abandon()
      outgoing.recover()
      outgoing.close()
    })
  return { client: end(toClient, toServer), server: end(toServer, toClient) }
}

/** The stream of one request: open until its reply, its settlement, or the client's leaving. */
interface Stream {
  readonly channel: SimulatedWire.Channel
  readonly ended: Deferred.Deferred<void>
}

const streamPerRequest = (toServer: Lane, toClient: Lane) => {
  const streams = new Map<Transport.StreamOrigin, Stream>()
  let standalone: SimulatedWire.Channel | undefined

  const settle = (origin: Transport.StreamOrigin) => {
    const stream = streams.get(origin)
    streams.delete(origin)
    // The stream ends behind its last frame.
    if (stream !== undefined) toClient.afterwards(stream.channel, () => Deferred.doneUnsafe(stream.ended, Exit.void))
  }

  const close = (incoming: Lane, outgoing: Lane) => () => {
    incoming.abandon()
    outgoing.recover()
    outgoing.close()
    for (const { ended } of streams.values()) Deferred.doneUnsafe(ended, Exit.void)
    streams.clear()
  }

  const client = once({
    run: toClient.run,
    send: ({ message }) => Effect.suspend(() => toServer.send(message, () => Result.succeed(toServer.open({})))),
    request: (message) =>
      Effect.suspend(() => {
        const origin = {}
        const stream: Stream = { channel: toClient.open(), ended: Deferred.makeUnsafe() }
        streams.set(origin, stream)
        return toServer.send(message, () => Result.succeed(toServer.open(origin))).pipe(
          Effect.andThen(Deferred.await(stream.ended)),
          Effect.ensuring(Effect.sync(() => streams.delete(origin)))
        )
      }),
    onHandshake: () => {
      standalone = toClient.open()
    }
  }, close(toClient, toServer))

  const server = once({
    run: toServer.run,
    send: ({ last, message, replyTo }) =>
      Effect.tap(
        toClient.send(message, () => {
          const channel = replyTo === undefined ? standalone : streams.get(replyTo)?.channel
          return channel === undefined
            ? Result.fail(TransportError.make({
              _tag: "NoRoute",
              method: "method" in message ? message.method : undefined
            }))
            : Result.succeed(channel)
        }),
        () => Effect.sync(() => last && replyTo !== undefined ? settle(replyTo) : undefined)
      ),
    endExchange: settle
  }, close(toServer, toClient))

  return { client, server }
}

/**
 * A pair, connected by a simulated wire. The clock is that of the program, so under a `TestClock` it is virtual.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ClientSession, ServerSession, Transport } from "@effect-mcp/session"
 * import { Faults, SimulatedTransport, VirtualRuntime } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 * const world = VirtualRuntime.make({ seed: 1 })
 *
 * const program = Effect.gen(function*() {
 *   const pair = yield* SimulatedTransport.make({ seed: 1, faults: { ...Faults.none, delay: 40, split: true } })
 *   yield* ServerSession.make({ "tools/call": () => Effect.succeed({ content: [Content.text("42")] }) }, { info }).pipe(
 *     Effect.provideService(Transport.Transport, pair.server)
 *   )
 *   const session = yield* ClientSession.make({ info }).pipe(Effect.provideService(Transport.Transport, pair.client))
 *   return yield* session.callTool("answer")
 * }).pipe(Effect.scoped)
 *
 * const fiber = world.start(program)
 * world.advance(60_000)
 * export const outcome = fiber.pollUnsafe()?._tag // => "Success"
 * ```
 *
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<Pair> =>
  Effect.map(Clock.Clock, (clock) => {
    const toServer = makeLane(options, "to the server", clock)
    const toClient = makeLane(options, "to the client", clock)
    const ends = options.form === "StreamPerRequest"
      ? streamPerRequest(toServer, toClient)
      : oneStream(toServer, toClient)
    return {
      ...ends,
      toServer,
      toClient,
      cut: () => {
        toServer.cut()
        toClient.cut()
      }
    }
  })
