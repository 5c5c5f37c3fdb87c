/**
 * A transport within one process, for tests, examples, and programs with a client and a server. It has two forms. In
 * the single-stream form, one stream carries everything, as over stdio and WebSocket. In the multi-stream form, each
 * request of the client has a stream of its own, as in Streamable HTTP, and a standalone stream is optional. As there,
 * the end of its stream cancels a request of a revision without a handshake.
 *
 * @stability unstable
 */
import { ExactJson, type JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Pipe from "./internal/collections/Pipe.ts"
import { SyncEffect } from "./internal/collections/SyncEffect.ts"
import type { Principal } from "./Principal.ts"
import { type Connection, type Inbound, type Outbound, type StreamOrigin, Transport } from "./Transport.ts"
import * as TransportError from "./TransportError.ts"

/**
 * Options for a pair.
 *
 * @category models
 */
export interface Options {
  /**
   * The form of the messages between the two ends. With `"json"`, each message is written and parsed, so that no side
   * can see or change objects of the other, and a value that JSON cannot carry fails as over any other transport. With
   * `"none"`, the objects themselves are passed, which is faster. Default: `"json"`.
   */
  readonly serialization?: "json" | "none"
  /** The sender of all messages of the client, as if a transport had authenticated it. Default: an anonymous client. */
  readonly principal?: Principal | undefined
}

/**
 * Options for a pair in which each request has its own stream.
 *
 * @category models
 */
export interface MultiStreamOptions extends Options {
  /**
   * Opens the standalone stream after the handshake. Default: no. Without it, a message that belongs to no request of
   * the client fails with `NoRoute`.
   */
  readonly standalone?: boolean
}

/**
 * The two ends of a connection. Each carries one session.
 *
 * @category models
 */
export interface Pair {
  readonly client: Transport["Service"]
  readonly server: Transport["Service"]
}

/**
 * Provides one end of a pair as the transport.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ClientSession, MemoryTransport, ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const info = { name: "example", version: "1.0.0" }
 * const handlers = ServerSession.handlers({ "tools/call": () => Effect.succeed({ content: [Content.text("42")] }) })
 *
 * export const answer = Effect.gen(function*() {
 *   const pair = yield* MemoryTransport.make()
 *   const server = Layer.provide(ServerSession.layer(handlers, { info }), MemoryTransport.layer(pair.server))
 *   const client = Layer.provide(ClientSession.layer({ info }), MemoryTransport.layer(pair.client))
 *   return yield* Effect.flatMap(ClientSession.ClientSession, (session) => session.callTool("answer")).pipe(
 *     Effect.provide(Layer.merge(server, client))
 *   )
 * }) // => { content: [{ type: "text", text: "42" }] }
 * ```
 *
 * @category layers
 */
export const layer = (end: Transport["Service"]): Layer.Layer<Transport> => Layer.succeed(Transport, end)

/** Copies a message for the other side. */
const copy = (
  message: JsonRpc.Frame,
  serialization: Options["serialization"]
): Exit.Exit<Inbound["frame"], TransportError.TransportError> => {
  if (serialization === "none") return Exit.succeed(Result.succeed(message))
  try {
    return Exit.succeed(Result.succeed(ExactJson.parse(JSON.stringify(message))))
  } catch (cause) {
    return Exit.fail(TransportError.make({ _tag: "Unserializable", cause }))
  }
}

/** Makes an end that carries one session: its connection opens once, and closes with the scope that it opened in. */
const once = (connection: Connection, close: () => void): Transport["Service"] => {
  let taken = false
  return {
    connect: Effect.suspend((): Effect.Effect<Connection, TransportError.TransportError, Scope.Scope> => {
      if (taken) return Effect.fail(TransportError.make({ _tag: "InUse" }))
      taken = true
      return Effect.acquireRelease(Effect.succeed(connection), () => Effect.sync(close))
    })
  }
}

const peerEnded = TransportError.make({ _tag: "PeerEnded", exit: undefined })

/**
 * Creates a pair with one stream in each direction.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ClientSession, MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 *
 * export const program = Effect.gen(function*() {
 *   const pair = yield* MemoryTransport.make()
 *   yield* ServerSession.make({
 *     "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 *   }, { info }).pipe(Effect.provideService(Transport.Transport, pair.server))
 *   const session = yield* ClientSession.make({ info }).pipe(Effect.provideService(Transport.Transport, pair.client))
 *   return yield* session.callTool("answer")
 * }).pipe(Effect.scoped) // => { content: [{ type: "text", text: "42" }] }
 * ```
 *
 * @category constructors
 */
export const make = (options: Options = {}): Effect.Effect<Pair> =>
  Effect.sync(() => {
    const toServer = Pipe.make()
    const toClient = Pipe.make()
    const end = (incoming: Pipe.Pipe, outgoing: Pipe.Pipe, principal?: Principal): Transport["Service"] =>
      once({
        run: incoming.run,
        send: ({ message }) =>
          new SyncEffect(() => {
            if (outgoing.ended()) return Exit.fail(peerEnded)
            return Exit.map(copy(message, options.serialization), (frame) => outgoing.put({ frame, principal }))
          })
      }, () => {
        outgoing.end()
        incoming.end()
      })
    return { client: end(toClient, toServer, options.principal), server: end(toServer, toClient) }
  })

/**
 * The stream of one request, or the standalone stream. It is open until the reply, the end of the exchange, or the end
 * of the client's connection.
 */
interface Stream {
  open: boolean
  readonly ended: Deferred.Deferred<void>
}

const openStream = (): Stream => ({ open: true, ended: Deferred.makeUnsafe() })

const endStream = (stream: Stream) => {
  stream.open = false
  Deferred.doneUnsafe(stream.ended, Exit.void)
}

/**
 * Creates a pair in which each request of the client has a stream of its own.
 *
 * @example
 * ```ts
 * import { ClientSession, MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 * const capabilities = { tools: { listChanged: true } }
 *
 * // Without a standalone stream, a notification that belongs to no request has no route.
 * export const problem = Effect.gen(function*() {
 *   const pair = yield* MemoryTransport.makeMultiStream({ standalone: false })
 *   const server = yield* ServerSession.make({}, { info, capabilities }).pipe(
 *     Effect.provideService(Transport.Transport, pair.server)
 *   )
 *   yield* ClientSession.make({ info }).pipe(Effect.provideService(Transport.Transport, pair.client))
 *   const error = yield* Effect.flip(server.toolListChanged)
 *   return error.reason._tag === "SendFailed" ? error.reason.error.reason._tag : error.reason._tag
 * }).pipe(Effect.scoped) // => "NoRoute"
 * ```
 *
 * @category constructors
 */
export const makeMultiStream = (options: MultiStreamOptions = {}): Effect.Effect<Pair> =>
  Effect.sync(() => {
    const toServer = Pipe.make()
    const toClient = Pipe.make()
    const streams = new Map<StreamOrigin, Stream>()
    let standalone: Stream | undefined
    let abandon: ((origin: StreamOrigin) => void) | undefined

    const close = () => {
      toServer.end()
      toClient.end()
      for (const stream of streams.values()) endStream(stream)
      streams.clear()
      standalone = undefined
    }

    const post = (message: JsonRpc.Frame, origin: StreamOrigin): Effect.Effect<void, TransportError.TransportError> => {
      if (toServer.ended()) return Effect.fail(peerEnded)
      return Effect.map(copy(message, options.serialization), (frame) =>
        toServer.put({ frame, origin, principal: options.principal }))
    }

    const endExchange = (origin: StreamOrigin) => {
      const stream = streams.get(origin)
      streams.delete(origin)
      // The stream ends after its last frame, which may still wait for the client.
      if (stream !== undefined) {
        toClient.afterwards(() =>
          endStream(stream)
        )
      }
    }

    const client = once({
      run: toClient.run,
      send: ({ message }) => Effect.suspend(() => post(message, {})),
      request: (message) =>
        Effect.suspend(() => {
          const origin: StreamOrigin = {}
          const stream = openStream()
          streams.set(origin, stream)
          return post(message, origin).pipe(
            Effect.andThen(Deferred.await(stream.ended)),
            Effect.onInterrupt(() =>
              Effect.sync(() => {
                // In revisions with a handshake a message cancels a request, and the end of its stream does not.
                if (RequestMetadata.isIn(message.params?.["_meta"])) toServer.afterwards(() => abandon?.(origin))
              })
            ),
            Effect.ensuring(Effect.sync(() => endExchange(origin)))
          )
        }),
      onHandshake: () => {
        if (options.standalone === true) standalone = openStream()
      }
    }, close)

    const server = once({
      run: (deliver, hooks) =>
        Effect.suspend(() => {
          abandon = hooks?.abandon
          return toServer.run(deliver)
        }),
      send: ({ last, message, replyTo }: Outbound) =>
        Effect.suspend(() => {
          if (toClient.ended()) return Effect.fail(peerEnded)
          const stream = replyTo === undefined ? standalone : streams.get(replyTo)
          if (stream?.open !== true) {
            const method = "method" in message ? message.method : undefined
            return Effect.fail(TransportError.make({ _tag: "NoRoute", method }))
          }
          return Effect.map(copy(message, options.serialization), (frame) => {
            toClient.put({ frame })
            if (last && replyTo !== undefined) endExchange(replyTo)
          })
        }),
      endExchange
    }, close)

    return { client, server }
  })
