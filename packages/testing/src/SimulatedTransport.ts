/**
 * A transport over a simulated wire. Messages take virtual time, and are split, merged, stalled, lost or cut off, as
 * the faults and the seed determine. The bytes are real: each message is a line, and the framing of stdio reads it.
 *
 * It has two forms, like `MemoryTransport`: one stream for all messages, or a stream for each request.
 *
 * @stability unstable
 */
import { type CloseReason, type JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
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
 * Options of a simulated connection.
 *
 * @category models
 */
export interface Options {
  /** The seed of all random decisions. */
  readonly seed: number
  readonly faults: Faults
  /** One stream for all messages, or one for each request of the client. Default: `OneStream`. */
  readonly form?: "OneStream" | "StreamPerRequest" | undefined
}

/**
 * One direction of a connection, for a test that interferes.
 *
 * @category models
 */
export interface Direction {
  /** Holds all later messages. */
  readonly stall: () => void
  /** Releases the held messages. */
  readonly recover: () => void
  /** Fails the next message, and with it the connection of its sender. */
  readonly failNext: () => void
  /** Ends this direction after the messages in transit: a half-close. */
  readonly end: () => void
  /** Puts bytes on the wire that no session has sent. */
  readonly inject: (bytes: string | Uint8Array) => void
}

/**
 * The two ends, and control over the wire between them.
 *
 * @category models
 */
export interface Pair {
  readonly client: Transport.Transport["Service"]
  readonly server: Transport.Transport["Service"]
  readonly toServer: Direction
  readonly toClient: Direction
  /** Breaks the connection: messages in transit are lost, and both ends are notified. */
  readonly cut: () => void
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

const broken = (why: string) => new Error(`simulated: ${why}`)

/** One direction, as the transport uses it. */
interface Lane extends Direction {
  /** Sends one message when the lane accepts it. */
  readonly send: (
    message: JsonRpc.Frame,
    channel: () => Result.Result<SimulatedWire.Channel, TransportError.TransportError>
  ) => Effect.Effect<void, TransportError.TransportError>
  readonly afterwards: SimulatedWire.SimulatedWire["afterwards"]
  /** Opens an outlet for bytes, which become frames there. */
  readonly open: (origin?: Transport.StreamOrigin) => SimulatedWire.Channel
  /** Reads until the other side has ended. */
  readonly run: Transport.Connection["run"]
  /** Drops all later data, because the reader is gone. */
  readonly abandon: () => void
  /** Ends this direction for the sender and the reader. */
  readonly close: () => void
  readonly cut: () => void
  /** The outlet for bytes that belong to no stream. */
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

/** Returns an end that carries one session. */
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

/** The stream of one request. It ends with the reply, with the end of the exchange, or when the client leaves. */
interface Stream {
  readonly channel: SimulatedWire.Channel
  readonly ended: Deferred.Deferred<void>
}

const streamPerRequest = (toServer: Lane, toClient: Lane) => {
  const streams = new Map<Transport.StreamOrigin, Stream>()
  let standalone: SimulatedWire.Channel | undefined
  let abandon: ((origin: Transport.StreamOrigin) => void) | undefined

  const settle = (origin: Transport.StreamOrigin) => {
    const stream = streams.get(origin)
    streams.delete(origin)
    // The stream ends after its last frame.
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
        let sent: SimulatedWire.Channel | undefined
        streams.set(origin, stream)
        return toServer.send(message, () => Result.succeed(sent = toServer.open(origin))).pipe(
          Effect.andThen(Deferred.await(stream.ended)),
          Effect.onInterrupt(() =>
            Effect.sync(() => {
              // In revisions with a handshake a message cancels a request, and the end of its stream does not.
              if (sent === undefined || !RequestMetadata.isIn(message.params?.["_meta"])) return
              toServer.afterwards(sent, () => abandon?.(origin))
            })
          ),
          Effect.ensuring(Effect.sync(() => streams.delete(origin)))
        )
      }),
    onHandshake: () => {
      standalone = toClient.open()
    }
  }, close(toClient, toServer))

  const server = once({
    run: (deliver, hooks) =>
      Effect.suspend(() => {
        abandon = hooks?.abandon
        return toServer.run(deliver)
      }),
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
 * Creates a pair of ends, connected by a simulated wire. The wire uses the clock of the program, which is virtual under
 * a `TestClock`.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ClientSession, ServerSession, Transport } from "@effect-mcp/session"
 * import { Faults, SimulatedTransport, VirtualRuntime } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 * const runtime = VirtualRuntime.make({ seed: 1 })
 *
 * const program = Effect.gen(function*() {
 *   const pair = yield* SimulatedTransport.make({ seed: 1, faults: { ...Faults.none, delay: 40, split: true } })
 *   const handlers = ServerSession.handlers({ "tools/call": () => Effect.succeed({ content: [Content.text("42")] }) })
 *   yield* ServerSession.make(handlers, { info }).pipe(
 *     Effect.provideService(Transport.Transport, pair.server)
 *   )
 *   const session = yield* ClientSession.make({ info }).pipe(Effect.provideService(Transport.Transport, pair.client))
 *   return yield* session.callTool("answer")
 * }).pipe(Effect.scoped)
 *
 * const fiber = runtime.start(program)
 * runtime.advance(60_000)
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
