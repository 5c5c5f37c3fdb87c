/** The connection of an HTTP+SSE client: one SSE stream, and POSTs to the endpoint that it names. */
import { JsonRpc, type Profile } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import type * as Transport from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import * as Sse from "../../../../Sse.ts"
import * as ContentEncoding from "../../../shared/ContentEncoding.ts"
import { forkInScope } from "../../../shared/forkInScope.ts"
import * as FrameText from "../../../shared/FrameText.ts"
import { InboundBuffer } from "../../../shared/InboundBuffer.ts"
import { delay } from "../../../shared/nodeTimers.ts"
import { encoded } from "../../../shared/OutgoingFrame.ts"
import * as ServerAddress from "../../../shared/ServerAddress.ts"
import * as Turns from "../../../shared/Turns.ts"
import * as HttpCall from "../HttpCall.ts"
import * as HttpErrorResponse from "../HttpErrorResponse.ts"
import * as McpEndpoint from "../McpEndpoint.ts"
import * as ResponseBody from "../ResponseBody.ts"

/** The settings of a client. */
export interface Settings extends McpEndpoint.Settings {
  readonly maxMessageBytes: number
  readonly maxMessageNodes: number
  /** The time that the server has to name the endpoint for messages. */
  readonly connectTimeout: Duration.Input
}

/** Creates the transport, which opens a connection for each session. */
export const make = (
  settings: Settings
): Effect.Effect<Transport.Transport["Service"], never, HttpCall.Client> =>
  Effect.map(HttpCall.make, (call) => ({
    connect: Effect.flatMap(McpEndpoint.make(call, settings), (endpoint) => open(settings, endpoint))
  }))

/** The time to wait for the end of the stream after a failed POST: both fail if the server has gone away. */
const endTimeout = "200 millis"

/** The most characters of an invalid endpoint that an error shows. */
const shownCharacters = 200

/** The most bytes of a stream that are read before its session runs it. */
const maxEarlyBytes = 1024 * 1024

const failed = (url: URL, problem: string, cause?: unknown): TransportError.TransportError =>
  TransportError.make({
    _tag: "ConnectFailed",
    target: ServerAddress.shown(url),
    cause: new Error(problem, cause === undefined ? undefined : { cause })
  })

/**
 * Resolves the endpoint for messages, relative to the URL of the stream. It fails if the endpoint has another origin:
 * that server must not receive the session's messages, nor the headers that authorize them.
 */
const messageEndpoint = (
  stream: McpEndpoint.McpEndpoint,
  reference: string
): Exit.Exit<McpEndpoint.McpEndpoint, TransportError.TransportError> => {
  if (!URL.canParse(reference, stream.url().href)) {
    // The query may contain the session id.
    const shown = JSON.stringify(Excerpt.of(ServerAddress.shown(reference), shownCharacters))
    return Exit.fail(failed(stream.url(), `the endpoint for messages that the server names is not a URL: ${shown}`))
  }
  const url = new URL(reference, stream.url())
  if (url.origin !== stream.url().origin) {
    const origin = url.origin === "null" ? url.protocol : url.origin
    return Exit.fail(
      failed(
        stream.url(),
        `the endpoint for messages that the server names is at ${origin}; nothing is sent to another origin`
      )
    )
  }
  // `fetch` rejects a URL with credentials, and those of the program are in its headers.
  url.username = ""
  url.password = ""
  return Exit.succeed(stream.at(url))
}

/** The SSE stream of one connection. */
class ServerStream {
  readonly #settings: Settings
  readonly #endpoint: McpEndpoint.McpEndpoint
  readonly #inbound: InboundBuffer
  readonly #subscribed = Deferred.makeUnsafe<void>()
  readonly #messages = Deferred.makeUnsafe<McpEndpoint.McpEndpoint, TransportError.TransportError>()
  readonly #ended = Deferred.makeUnsafe<Transport.End, TransportError.TransportError>()

  constructor(settings: Settings, endpoint: McpEndpoint.McpEndpoint, inbound: InboundBuffer) {
    this.#settings = settings
    this.#endpoint = endpoint
    this.#inbound = inbound
  }

  /** Waits for the end of the stream. */
  get ended(): Effect.Effect<Transport.End, TransportError.TransportError> {
    return Deferred.await(this.#ended)
  }

  /** Reads on after the first bytes. */
  subscribed(): void {
    Deferred.doneUnsafe(this.#subscribed, Exit.void)
  }

  /** Opens the stream, reads it in the scope, and returns the endpoint for messages. */
  open(
    scope: Scope.Scope
  ): Effect.Effect<McpEndpoint.McpEndpoint, TransportError.TransportError, Scope.Scope> {
    const url = () => this.#endpoint.url()
    return Effect.gen({ self: this }, function*() {
      const response = yield* this.#endpoint.get({ session: undefined, revision: undefined })
      if (!HttpCall.isAccepted(response)) return yield* HttpErrorResponse.fail(response)
      const type = HttpCall.mediaType(response)
      if (type !== "text/event-stream") {
        return yield* failed(url(), `the content type of the response is ${type ?? "unknown"}, not text/event-stream`)
      }
      yield* Effect.forkIn(this.#read(response), scope)
      return yield* Deferred.await(this.#messages)
    }).pipe(
      Effect.timeoutOrElse({
        duration: this.#settings.connectTimeout,
        orElse: () => {
          const millis = Duration.toMillis(this.#settings.connectTimeout)
          return Effect.fail(failed(url(), `the server has not named an endpoint for messages within ${millis} ms`))
        }
      })
    )
  }

  #read(response: HttpCall.HttpResponse): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { maxMessageBytes } = this.#settings
      let events = 0
      const decoder = Sse.decoder((event, size) => {
        events++
        this.#take(event, size)
      }, { maxEventBytes: maxMessageBytes })
      const expansion = ContentEncoding.expansionLimit(response, maxMessageBytes)
      let bytes = 0
      const push = Turns.bytes((part) => {
        const before = events
        decoder.push(part)
        expansion.count(part.length, events > before)
        bytes += part.length
      })
      return Stream.runForEachArray(response.chunks, (chunks) =>
        push(chunks).pipe(
          Effect.andThen(expansion.check),
          Effect.andThen(Effect.suspend(() => bytes < maxEarlyBytes ? Effect.void : Deferred.await(this.#subscribed)))
        ))
    }).pipe(
      Effect.match({
        onSuccess: () => this.#end("the stream ended", Exit.succeed({ exit: undefined, writable: false })),
        onFailure: (cause) =>
          this.#end("the stream broke", Exit.fail(TransportError.make({ _tag: "ReadFailed", cause })), cause)
      })
    )
  }

  #take(event: Result.Result<Sse.Event, Transport.FrameError>, bytes: number): void {
    if (Result.isFailure(event)) return this.#inbound.deliver({ frame: Result.fail(event.failure), bytes })
    const { data, event: type } = event.success
    // Only the first endpoint counts: a session keeps its endpoint.
    if (type === "endpoint") Deferred.doneUnsafe(this.#messages, messageEndpoint(this.#endpoint, data))
    else if (type === "message" && data !== "") {
      this.#inbound.deliver({ frame: FrameText.parse(data, this.#settings.maxMessageNodes), bytes })
    }
  }

  #end(problem: string, exit: Exit.Exit<Transport.End, TransportError.TransportError>, cause?: unknown): void {
    Deferred.doneUnsafe(
      this.#messages,
      Exit.fail(failed(this.#endpoint.url(), `${problem} before it named an endpoint for messages`, cause))
    )
    Deferred.doneUnsafe(this.#ended, exit)
  }
}

const open = Effect.fnUntraced(function*(
  settings: Settings,
  endpoint: McpEndpoint.McpEndpoint
): Effect.fn.Return<Transport.Connection, TransportError.TransportError, Scope.Scope> {
  const scope = yield* Effect.scope
  const inScope = forkInScope(scope)
  const inbound = new InboundBuffer()
  const stream = new ServerStream(settings, endpoint, inbound)
  const messages = yield* stream.open(scope)
  let revision: string | undefined

  /**
   * Fails with the end of the stream instead, if the server has gone away: that is the more useful error. Not if the
   * message may have been sent, because the server may have carried it out.
   */
  const unlessEnded = (error: TransportError.TransportError): Effect.Effect<never, TransportError.TransportError> =>
    error.reason._tag === "ConnectFailed"
      ? Effect.raceFirst(
        Effect.andThen(
          Effect.exit(stream.ended),
          Effect.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined }))
        ),
        Effect.andThen(delay(endTimeout), Effect.fail(error))
      )
      : Effect.fail(error)

  const post = (frame: JsonRpc.Frame): Effect.Effect<void, TransportError.TransportError> =>
    Effect.scoped(Effect.gen(function*() {
      const json = yield* encoded(frame)
      const response = yield* Effect.catch(messages.post(json, { session: undefined, revision }), unlessEnded)
      if (HttpCall.isAccepted(response)) return yield* ResponseBody.discard(response)
      if (!JsonRpc.isRequest(frame)) return yield* HttpErrorResponse.fail(response)
      return inbound.deliver(yield* HttpErrorResponse.responseTo(frame.id, response))
    }))

  // One POST at a time, so that messages arrive in order.
  const sending = Semaphore.makeUnsafe(1)

  return {
    run: (deliver) =>
      Effect.suspend(() => {
        inbound.subscribe(deliver)
        stream.subscribed()
        return stream.ended
      }).pipe(Effect.ensuring(Effect.sync(() => inbound.close()))),
    handshakeOnly: true,
    hasAuthorization: settings.authorization !== undefined,
    send: ({ message }) => inScope(sending.withPermits(1)(post(message))),
    onHandshake: (profile: Profile.Profile) => {
      revision = profile.revision
    }
  }
})
