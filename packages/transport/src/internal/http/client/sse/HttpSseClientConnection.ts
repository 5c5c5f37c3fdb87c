import { JsonRpc, type Profile } from "@effect-mcp/protocol"
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
import { delay } from "../../../shared/nodeTimers.ts"
import * as OutgoingFrame from "../../../shared/OutgoingFrame.ts"
import * as Turns from "../../../shared/Turns.ts"
import * as HttpCall from "../HttpCall.ts"
import * as HttpErrorResponse from "../HttpErrorResponse.ts"
import * as McpEndpoint from "../McpEndpoint.ts"
import * as ResponseBody from "../ResponseBody.ts"
import * as ServerAddress from "../serverAddress.ts"

/** What a connection is made of. */
export interface Settings extends McpEndpoint.Settings {
  readonly limitBytes: number
  readonly limitNodes: number
  /** How long it may take until the server has said where to POST to. */
  readonly connectTimeout: Duration.Input
}

export const make = (
  settings: Settings
): Effect.Effect<Transport.Transport["Service"], never, HttpCall.Client> =>
  Effect.map(HttpCall.make, (call) => ({
    connect: Effect.flatMap(McpEndpoint.make(call, settings), (endpoint) => open(settings, endpoint))
  }))

/** How soon the end of a stream is heard of whose server has gone, once one of its other connections has broken. */
const endWithin = "200 millis"

/** How much of a reference that is none is shown, in characters. */
const shownCharacters = 200

/** How much of a stream is read that nobody listens to yet, in bytes. */
const earlyBytes = 1024 * 1024

const failed = (url: URL, problem: string, cause?: unknown): TransportError.TransportError =>
  TransportError.make({
    _tag: "ConnectFailed",
    target: ServerAddress.shown(url),
    cause: new Error(problem, cause === undefined ? undefined : { cause })
  })

/**
 * Where to POST to: what the reference comes to from the URL of the stream, if that is at the same server. Another one has no business
 * with the messages of this session, nor with the headers that prove who sends them.
 */
const messagesAt = (
  stream: McpEndpoint.McpEndpoint,
  reference: string
): Exit.Exit<McpEndpoint.McpEndpoint, TransportError.TransportError> => {
  if (!URL.canParse(reference, stream.url().href)) {
    // What stands in a query may be the session.
    const shown = JSON.stringify(reference.replace(/\?.*/s, "").slice(0, shownCharacters))
    return Exit.fail(failed(stream.url(), `the server says that messages are to go to ${shown}, which is no URL`))
  }
  const url = new URL(reference, stream.url())
  if (url.origin !== stream.url().origin) {
    // What has no origin has a scheme.
    const elsewhere = url.origin === "null" ? url.protocol : url.origin
    return Exit.fail(
      failed(
        stream.url(),
        `the server says that messages are to go to ${elsewhere}, and nothing is sent to another origin`
      )
    )
  }
  // Who sends them the program says, and `fetch` takes no URL with credentials.
  url.username = ""
  url.password = ""
  return Exit.succeed(stream.at(url))
}

const open = Effect.fnUntraced(function*(
  { limitBytes, limitNodes, connectTimeout }: Settings,
  stream: McpEndpoint.McpEndpoint
): Effect.fn.Return<Transport.Connection, TransportError.TransportError, Scope.Scope> {
  const scope = yield* Effect.scope
  const owned = forkInScope(scope)

  // Before anybody listens, what comes is kept.
  const kept: Array<Transport.Inbound> = []
  let deliver = (inbound: Transport.Inbound): void => {
    kept.push(inbound)
  }
  let revision: string | undefined
  const listening = Deferred.makeUnsafe<void>()
  const told = Deferred.makeUnsafe<McpEndpoint.McpEndpoint, TransportError.TransportError>()
  const ended = Deferred.makeUnsafe<Transport.End, TransportError.TransportError>()

  // ---------------------------------------------------------------------------------------------------------------------
  // The stream
  // ---------------------------------------------------------------------------------------------------------------------

  const take = (event: Result.Result<Sse.Event, Transport.FrameError>, bytes: number): void => {
    if (Result.isFailure(event)) return deliver({ frame: Result.fail(event.failure), bytes })
    const { data, event: type } = event.success
    // The first word counts: a session does not move.
    if (type === "endpoint") Deferred.doneUnsafe(told, messagesAt(stream, data))
    else if (type === "message" && data !== "") deliver({ frame: FrameText.parse(data, limitNodes), bytes })
  }

  const end = (
    problem: string,
    exit: Exit.Exit<Transport.End, TransportError.TransportError>,
    cause?: unknown
  ): void => {
    Deferred.doneUnsafe(
      told,
      Exit.fail(failed(stream.url(), `${problem} before it said where messages are to go`, cause))
    )
    Deferred.doneUnsafe(ended, exit)
  }

  const read = (answer: HttpCall.Answer): Effect.Effect<void> =>
    Effect.suspend(() => {
      let events = 0
      const decoder = Sse.decoder((event, size) => {
        events++
        take(event, size)
      }, { maxEventBytes: limitBytes })
      const expansion = ContentEncoding.expansion(answer, limitBytes)
      let bytes = 0
      return Stream.runForEachArray(answer.chunks, (chunks) =>
        Turns.bytes(chunks, (part) => {
          const before = events
          decoder.push(part)
          expansion.grow(part.length, events > before)
          bytes += part.length
        }).pipe(
          Effect.andThen(expansion.check),
          Effect.andThen(Effect.suspend(() => bytes < earlyBytes ? Effect.void : Deferred.await(listening)))
        ))
    }).pipe(
      Effect.match({
        onSuccess: () => end("the stream ended", Exit.succeed({ exit: undefined, writable: false })),
        onFailure: (cause) =>
          end("the stream broke off", Exit.fail(TransportError.make({ _tag: "ReadFailed", cause })), cause)
      })
    )

  const opened = Effect.gen(function*() {
    const answer = yield* stream.get({ session: undefined, revision: undefined }, undefined)
    if (!HttpCall.isAccepted(answer)) return yield* HttpErrorResponse.fail(answer)
    const type = HttpCall.mediaType(answer)
    if (type !== "text/event-stream") {
      return yield* failed(stream.url(), `the answer is no stream of events, but of type ${type ?? "unknown"}`)
    }
    yield* Effect.forkIn(read(answer), scope)
    return yield* Deferred.await(told)
  })

  const messages = yield* Effect.timeoutOrElse(opened, {
    duration: connectTimeout,
    orElse: () => {
      const millis = Duration.toMillis(connectTimeout)
      return Effect.fail(failed(stream.url(), `the server has not said within ${millis} ms where messages are to go`))
    }
  })

  // ---------------------------------------------------------------------------------------------------------------------
  // Messages
  // ---------------------------------------------------------------------------------------------------------------------

  /** A server that has gone takes the session with it, which says more than that one message could not be sent. */
  const unlessEnded = (error: TransportError.TransportError): Effect.Effect<never, TransportError.TransportError> =>
    error.reason._tag === "ConnectFailed" || error.reason._tag === "ExchangeEnded"
      ? Effect.raceFirst(
        Effect.andThen(
          Effect.exit(Deferred.await(ended)),
          Effect.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined }))
        ),
        Effect.andThen(delay(endWithin), Effect.fail(error))
      )
      : Effect.fail(error)

  const post = (frame: JsonRpc.Frame): Effect.Effect<void, TransportError.TransportError> =>
    Effect.scoped(Effect.gen(function*() {
      const json = yield* OutgoingFrame.encoded(frame)
      const answer = yield* Effect.catch(messages.post(json, { session: undefined, revision }), unlessEnded)
      if (HttpCall.isAccepted(answer)) return yield* ResponseBody.discard(answer)
      if (!JsonRpc.isRequest(frame)) return yield* HttpErrorResponse.fail(answer)
      return deliver(yield* HttpErrorResponse.answerTo(frame.id, answer))
    }))

  // What is sent first arrives first.
  const turn = Semaphore.makeUnsafe(1)

  return {
    run: (deliverTo) =>
      Effect.suspend(() => {
        for (const inbound of kept.splice(0)) deliverTo(inbound)
        deliver = deliverTo
        Deferred.doneUnsafe(listening, Exit.void)
        return Deferred.await(ended)
      }).pipe(Effect.ensuring(Effect.sync(() => {
        deliver = () => {}
      }))),
    send: ({ message }) => owned(turn.withPermits(1)(post(message))),
    onHandshake: (profile: Profile.Profile) => {
      revision = profile.revision
    }
  }
})
