import { JsonRpc, type Profile } from "@effect-mcp/protocol"
import type * as Transport from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { forkInScope } from "../../../shared/forkInScope.ts"
import * as FrameText from "../../../shared/FrameText.ts"
import * as OutgoingFrame from "../../../shared/OutgoingFrame.ts"
import * as utf8 from "../../../shared/utf8.ts"
import * as HttpCall from "../HttpCall.ts"
import * as HttpErrorResponse from "../HttpErrorResponse.ts"
import * as McpEndpoint from "../McpEndpoint.ts"
import * as ResponseBody from "../ResponseBody.ts"
import { responseIn } from "../responseIn.ts"
import * as SseReceiver from "../SseReceiver.ts"
import type { ReconnectDelay } from "./ReconnectDelay.ts"
import { isReading } from "./safeMethods.ts"
import * as SessionCleanup from "./SessionCleanup.ts"
import * as SessionRenewals from "./SessionRenewals.ts"

/** What a connection is made of. */
export interface Settings extends McpEndpoint.Settings {
  readonly standalone: boolean
  readonly limitBytes: number
  readonly limitNodes: number
  readonly reconnect: ReconnectDelay
  readonly closeTimeout: Duration.Input
}

/** How long it may take to open a session anew. */
const renewWithin = "30 seconds"

export const make = (
  settings: Settings
): Effect.Effect<Transport.Transport["Service"], never, HttpCall.Client> =>
  Effect.map(HttpCall.make, (call) => ({
    connect: Effect.flatMap(McpEndpoint.make(call, settings), (endpoint) => open(settings, endpoint))
  }))

/** Somebody is opening a session in place of the lost one; whoever needs it waits for the same. */
interface Renewal {
  readonly lost: SessionRenewals.Identity
  readonly done: Deferred.Deferred<void, TransportError.TransportError>
}

/** What came of opening a stream, or of reading it to its end. */
type StreamOutcome =
  | { readonly _tag: "Ended"; readonly cause: unknown }
  | { readonly _tag: "Unavailable"; readonly cause: unknown; readonly retryAfterMillis: number | undefined }
  | { readonly _tag: "Refused"; readonly error: TransportError.TransportError }
  | { readonly _tag: "Lost" }

const peerEnded = TransportError.make({ _tag: "PeerEnded", exit: undefined })

const endedBecause = (cause: unknown): TransportError.TransportError =>
  TransportError.make(cause === undefined ? { _tag: "ExchangeEnded" } : { _tag: "ExchangeEnded", cause })

/** Another try may find the server in another state. */
const isPassing = (status: number): boolean =>
  status === 408 || status === 409 || status === 425 || status === 429 || (status >= 500 && status !== 501)

const open = Effect.fnUntraced(function*(
  settings: Settings,
  endpoint: McpEndpoint.McpEndpoint
): Effect.fn.Return<Transport.Connection, never, Scope.Scope> {
  const { closeTimeout, limitBytes, limitNodes, reconnect } = settings
  const scope = yield* Effect.scope
  const owned = forkInScope(scope)

  // Before anybody listens, what comes is kept.
  const kept: Array<Transport.Inbound> = []
  let deliver = (inbound: Transport.Inbound): void => {
    kept.push(inbound)
  }
  let report = (_event: Transport.TransportEvent): void => {}
  const lost = Deferred.makeUnsafe<never, TransportError.TransportError>()

  // The session: how it was opened, what was agreed on, and by which id the server knows it.
  let opening: JsonRpc.Request | undefined
  let revision: string | undefined
  let identity = yield* SessionRenewals.identity(undefined, false)
  let renewal: Renewal | undefined
  let renewals = 0
  const sessions = SessionCleanup.make((session) => endpoint.remove({ session, revision }), closeTimeout)
  const retire = SessionRenewals.make(sessions, reconnect)
  let standalone: Fiber.Fiber<void> | undefined
  let standaloneOffered = false

  const membership = ({ session }: SessionRenewals.Identity): McpEndpoint.Membership => ({ session, revision })

  /** A session that is being opened anew is waited for. */
  const ready = Effect.suspend(() => renewal === undefined ? Effect.void : Deferred.await(renewal.done))

  /** Whether this refusal says that the server knows nothing of the session (SHS-26). */
  const saysLost = (answer: HttpCall.Answer, under: SessionRenewals.Identity): boolean =>
    answer.status === 404 && under.session !== undefined

  // ---------------------------------------------------------------------------------------------------------------------
  // Requests
  // ---------------------------------------------------------------------------------------------------------------------

  /** A request whose answer is read, over as many streams as it takes. */
  interface Reading {
    readonly stream: SseReceiver.SseReceiver
    readonly answered: Deferred.Deferred<void>
    readonly isAnswered: () => boolean
  }

  const readingOf = (id: JsonRpc.Request["id"], take: (inbound: Transport.Inbound) => void): Reading => {
    const answered = Deferred.makeUnsafe<void>()
    const pass = (inbound: Transport.Inbound) => {
      const isResponse = Result.isSuccess(inbound.frame) && responseIn(inbound.frame.success, id) !== undefined
      take(inbound)
      if (isResponse) Deferred.doneUnsafe(answered, Exit.void)
    }
    return {
      stream: SseReceiver.make({ limitBytes, limitNodes, deliver: pass }),
      answered,
      isAnswered: () => Deferred.isDoneUnsafe(answered)
    }
  }

  /** Reads a stream until it ends, or until the response has come, whichever is first. */
  const follow = (reading: Reading, answer: HttpCall.Answer): Effect.Effect<unknown> =>
    Effect.suspend(() => {
      let cause: unknown
      const read = Effect.map(reading.stream.read(answer), (ended) => {
        cause = ended
      })
      return Effect.map(ResponseBody.untilEnough(read, Deferred.await(reading.answered)), () => cause)
    })

  /** An answer in JSON: one message, or, in revision 2025-03-26, a batch. */
  const readJson = Effect.fnUntraced(function*(
    answer: HttpCall.Answer,
    take: (inbound: Transport.Inbound) => void
  ) {
    const body = yield* Effect.mapError(ResponseBody.read(answer, limitBytes), endedBecause)
    if (body === undefined) {
      take({ frame: Result.fail({ _tag: "TooLarge", limitBytes }), bytes: limitBytes })
      return yield* endedBecause(new Error(`the answer is larger than ${limitBytes} bytes`))
    }
    const frame = FrameText.parseBytes(utf8.withoutByteOrderMark(body), limitNodes)
    take({ frame, bytes: body.length })
    if (Result.isSuccess(frame)) return
    const { failure } = frame
    return yield* endedBecause(
      new Error(
        failure._tag === "TooComplex"
          ? `the answer has ${failure.nodes} arrays, objects and members; the limit is ${limitNodes} (maxMessageNodes)`
          : "the answer is no JSON"
      )
    )
  })

  const unexpected = (answer: HttpCall.Answer): TransportError.TransportError =>
    endedBecause(
      new Error(
        answer.status === 202
          ? "the request was accepted as if it needed no response"
          : `a request was answered with status ${answer.status} and content of type ${
            HttpCall.mediaType(answer) ?? "unknown"
          }`
      )
    )

  /** Asks, and asks once more under another session where that is safe. */
  const exchange = (
    message: JsonRpc.Request,
    json: string,
    isRepeated: boolean
  ): Effect.Effect<void, TransportError.TransportError> =>
    Effect.scoped(Effect.gen(function*() {
      yield* ready
      const under = identity
      const isOpening = message.method === "initialize"
      const answer = yield* endpoint.post(json, membership(under), isOpening ? sessions.heardOut : undefined)
      if (saysLost(answer, under)) {
        // It was not carried out, so that it can be asked for again.
        if (isRepeated) return yield* HttpErrorResponse.fail(answer)
        yield* ResponseBody.discard(answer)
        yield* renew(under)
        return yield* exchange(message, json, true)
      }
      if (!HttpCall.isAccepted(answer)) {
        return deliver(yield* HttpErrorResponse.answerTo(message.id, answer))
      }
      if (isOpening) identity = yield* SessionRenewals.identity(SessionCleanup.sessionOf(answer), false)
      const type = HttpCall.mediaType(answer)
      if (type === "application/json") {
        yield* readJson(answer, (inbound) => deliver(inbound))
        under.answered = true
        return
      }
      if (type !== "text/event-stream") return yield* unexpected(answer)

      const reading = readingOf(message.id, (inbound) => deliver(inbound))
      const cause = yield* follow(reading, answer)
      const current = isOpening ? identity : under
      const failure = reading.isAnswered() ? undefined : yield* resume(message.method, reading, current, cause)
      if (failure === undefined) {
        under.answered = true
        return
      }
      // Nothing of what may have been carried out is asked for again, but what only reads changes nothing.
      if (identity === current || isRepeated || !isReading(message.method)) return yield* failure
      yield* ready
      return yield* exchange(message, json, true)
    }))

  // ---------------------------------------------------------------------------------------------------------------------
  // Streams that break off
  // ---------------------------------------------------------------------------------------------------------------------

  /** Opens a stream and reads it, up to its end or up to the response. */
  const readStream = (
    under: SessionRenewals.Identity,
    lastEventId: string | undefined,
    read: (answer: HttpCall.Answer) => Effect.Effect<unknown>
  ): Effect.Effect<StreamOutcome> =>
    Effect.scoped(Effect.gen(function*(): Effect.fn.Return<StreamOutcome, TransportError.TransportError, Scope.Scope> {
      const answer = yield* endpoint.get(membership(under), lastEventId)
      if (saysLost(answer, under)) return { _tag: "Lost" }
      if (HttpCall.isAccepted(answer) && HttpCall.mediaType(answer) === "text/event-stream") {
        return { _tag: "Ended", cause: yield* read(answer) }
      }
      const refusal = yield* HttpErrorResponse.read(answer)
      const error = HttpErrorResponse.error(refusal)
      return isPassing(answer.status)
        ? { _tag: "Unavailable", cause: error, retryAfterMillis: refusal.retryAfterMillis }
        : { _tag: "Refused", error }
    })).pipe(
      Effect.catch((error): Effect.Effect<StreamOutcome> =>
        Effect.succeed(
          error.reason._tag === "ConnectFailed" || error.reason._tag === "ExchangeEnded"
            ? { _tag: "Unavailable", cause: error.reason.cause, retryAfterMillis: undefined }
            : { _tag: "Refused", error }
        )
      )
    )

  /** Goes on with the stream of a request (SHS-07, SHS-19). The result is why there is no going on, if the response has not come. */
  const resume = Effect.fnUntraced(function*(
    method: string,
    reading: Reading,
    under: SessionRenewals.Identity,
    brokenOffBy: unknown
  ): Effect.fn.Return<TransportError.TransportError | undefined> {
    const { stream } = reading
    let cause = brokenOffBy
    let fruitless = 0
    let idle = 0
    let retryAfterMillis: number | undefined
    while (true) {
      const lastEventId = stream.lastEventId()
      if (lastEventId === undefined || stream.isDamaged() || identity !== under || fruitless >= reconnect.maxAttempts) {
        report({ _tag: "StreamLost", method, cause, retryAfterMillis: undefined })
        return endedBecause(cause)
      }
      const delayMillis = reconnect.millis({
        withoutEvent: fruitless,
        withoutMessage: idle,
        retryMillis: stream.retryMillis(),
        retryAfterMillis
      })
      report({ _tag: "StreamLost", method, cause, retryAfterMillis: delayMillis })
      yield* Effect.sleep(delayMillis)
      const [events, messages] = [stream.events(), stream.messages()]
      const outcome = yield* readStream(under, lastEventId, (answer) => {
        report({ _tag: "StreamResumed", method })
        return follow(reading, answer)
      })
      if (reading.isAnswered()) return undefined
      fruitless = stream.events() > events ? 0 : fruitless + 1
      idle = stream.messages() > messages ? 0 : idle + 1
      retryAfterMillis = undefined
      switch (outcome._tag) {
        case "Ended":
          cause = outcome.cause
          break
        case "Unavailable":
          cause = outcome.cause
          retryAfterMillis = outcome.retryAfterMillis
          break
        case "Refused":
          report({ _tag: "StreamLost", method, cause: outcome.error, retryAfterMillis: undefined })
          return endedBecause(outcome.error)
        case "Lost":
          report({ _tag: "StreamLost", method, cause, retryAfterMillis: undefined })
          return yield* Effect.match(renew(under), {
            onSuccess: () => endedBecause(new Error("the server knows nothing of the session any more")),
            onFailure: (error) => error
          })
      }
    }
  })

  /** The stream for what belongs to no request, for as long as this session lasts. */
  const keepStandalone = Effect.fnUntraced(function*(under: SessionRenewals.Identity): Effect.fn.Return<void> {
    const begin = () => SseReceiver.make({ limitBytes, limitNodes, deliver: (inbound) => deliver(inbound) })
    let stream = begin()
    const method = undefined
    let isOpened = false
    let fruitless = 0
    let idle = 0
    while (true) {
      const [events, messages] = [stream.events(), stream.messages()]
      const begun = yield* SessionRenewals.millisNow
      const lastEventId = stream.lastEventId()
      const outcome = yield* readStream(under, lastEventId, (answer) => {
        if (isOpened) report({ _tag: "StreamResumed", method })
        isOpened = true
        standaloneOffered = true
        return stream.read(answer)
      })
      if (outcome._tag === "Lost") {
        // Who has never opened such a stream may say 404 because there is none; messages will find out.
        if (!standaloneOffered) return
        report({ _tag: "StreamLost", method, cause: undefined, retryAfterMillis: undefined })
        return yield* Effect.ignore(renew(under))
      }
      if (outcome._tag === "Refused") {
        const { reason } = outcome.error
        // There is none (SHS-13).
        if (reason._tag === "Rejected" && reason.status === 405 && !isOpened) return
        // What the server has no more of cannot be gone on with, but there is more to come.
        if (reason._tag !== "Rejected" || lastEventId === undefined) {
          report({ _tag: "StreamLost", method, cause: outcome.error, retryAfterMillis: undefined })
          return
        }
      }
      // A stream on which nothing has to be said is not fruitless, but one that always ends at once is.
      const lasted = outcome._tag === "Ended" && (yield* SessionRenewals.millisNow) - begun >= reconnect.maxMillis
      fruitless = lasted || stream.events() > events ? 0 : fruitless + 1
      idle = lasted || stream.messages() > messages ? 0 : idle + 1
      const retryAfterMillis = reconnect.millis({
        withoutEvent: Math.max(0, fruitless - 1),
        withoutMessage: Math.max(0, idle - 1),
        retryMillis: stream.retryMillis(),
        retryAfterMillis: outcome._tag === "Unavailable" ? outcome.retryAfterMillis : undefined
      })
      const cause = outcome._tag === "Refused" ? outcome.error : outcome.cause
      report({ _tag: "StreamLost", method, cause, retryAfterMillis })
      if (outcome._tag === "Refused") stream = begin()
      yield* Effect.sleep(retryAfterMillis)
    }
  })

  const startStandalone = Effect.suspend(() => {
    if (!settings.standalone) return Effect.void
    const earlier = standalone
    standalone = undefined
    earlier?.interruptUnsafe()
    return Effect.map(Effect.forkIn(keepStandalone(identity), scope), (fiber) => {
      standalone = fiber
    })
  })

  // ---------------------------------------------------------------------------------------------------------------------
  // Sessions that are lost
  // ---------------------------------------------------------------------------------------------------------------------

  /** Opens a session in place of the lost one, once for each, whoever finds out first (SHS-27). */
  const renew = (under: SessionRenewals.Identity): Effect.Effect<void, TransportError.TransportError> =>
    // Whoever has begun it has also begun to do it, though it may not wait for it.
    Effect.uninterruptibleMask((restore) => {
      if (renewal?.lost === under) return restore(Deferred.await(renewal.done))
      if (identity !== under) return restore(ready)
      const begun: Renewal = { lost: under, done: Deferred.makeUnsafe() }
      renewal = begun
      const reopened = Effect.andThen(retire(under), reopenInTime).pipe(
        Effect.onExit((exit) =>
          Effect.sync(() => {
            if (Exit.isSuccess(exit)) {
              renewal = undefined
              report({ _tag: "SessionRenewed" })
              Deferred.doneUnsafe(begun.done, Exit.void)
            } else if (Exit.hasInterrupts(exit)) Deferred.doneUnsafe(begun.done, Exit.fail(peerEnded))
            else {
              Deferred.doneUnsafe(begun.done, exit)
              Deferred.doneUnsafe(lost, Exit.failCause(exit.cause))
            }
          })
        ),
        Effect.andThen(startStandalone)
      )
      return Effect.andThen(
        Effect.forkIn(Effect.interruptible(Effect.ignore(reopened)), scope),
        restore(Deferred.await(begun.done))
      )
    })

  const reopenInTime = Effect.suspend(() => Effect.scoped(reopen)).pipe(
    Effect.timeoutOrElse({
      duration: renewWithin,
      orElse: () => Effect.fail(SessionRenewals.lost("a new one could not be opened in time"))
    })
  )

  const reopen = Effect.gen(function*() {
    if (opening === undefined || revision === undefined) {
      return yield* SessionRenewals.lost("it was lost in the handshake")
    }
    const because = (error: TransportError.TransportError) =>
      error.reason._tag === "SessionLost"
        ? error
        : SessionRenewals.lost(`a new one could not be opened: ${error.message}`)
    const id = `renew-${++renewals}`
    const agreed = revision
    const anew: JsonRpc.Request = { ...opening, id }
    return yield* Effect.gen(function*() {
      const json = yield* OutgoingFrame.encoded(anew)
      endpoint.resetRedirects()
      const answer = yield* endpoint.post(json, { session: undefined, revision: undefined }, sessions.heardOut)
      if (!HttpCall.isAccepted(answer)) return yield* HttpErrorResponse.fail(answer)
      const renewed = yield* SessionRenewals.identity(SessionCleanup.sessionOf(answer), true)
      let response: object | undefined
      const take = (inbound: Transport.Inbound) => {
        const found = Result.isSuccess(inbound.frame) ? responseIn(inbound.frame.success, id) : undefined
        if (found === undefined) deliver(inbound)
        else response = found
      }
      const type = HttpCall.mediaType(answer)
      if (type === "application/json") yield* readJson(answer, take)
      else if (type === "text/event-stream") {
        const cause = yield* follow(readingOf(id, take), answer)
        if (response === undefined) return yield* endedBecause(cause)
      } else return yield* unexpected(answer)

      const said =
        Predicate.hasProperty(response, "result") && Predicate.hasProperty(response.result, "protocolVersion")
          ? response.result.protocolVersion
          : undefined
      if (said !== agreed) {
        return yield* SessionRenewals.lost(
          said === undefined ? "a new one was refused" : `a new one would be of revision ${String(said)}, not ${agreed}`
        )
      }
      const initialized = yield* OutgoingFrame.encoded(JsonRpc.notification("notifications/initialized"))
      const accepted = yield* endpoint.post(initialized, membership(renewed))
      if (!HttpCall.isAccepted(accepted)) return yield* HttpErrorResponse.fail(accepted)
      yield* ResponseBody.discard(accepted)
      identity = renewed
    }).pipe(Effect.mapError(because))
  })

  // ---------------------------------------------------------------------------------------------------------------------
  // The port
  // ---------------------------------------------------------------------------------------------------------------------

  const request = (message: JsonRpc.Request): Effect.Effect<void, TransportError.TransportError> =>
    owned(Effect.flatMap(OutgoingFrame.encoded(message), (json) => {
      if (message.method === "initialize") opening = message
      return exchange(message, json, false)
    }))

  /** Sends what expects no response. */
  const tell = (
    frame: JsonRpc.Frame,
    json: string,
    isRepeated: boolean
  ): Effect.Effect<void, TransportError.TransportError> =>
    Effect.scoped(Effect.gen(function*() {
      yield* ready
      const under = identity
      const answer = yield* endpoint.post(json, membership(under))
      if (HttpCall.isAccepted(answer)) {
        yield* ResponseBody.discard(answer)
        if (JsonRpc.isNotification(frame) && frame.method === "notifications/initialized") yield* startStandalone
        return
      }
      if (!saysLost(answer, under) || isRepeated) return yield* HttpErrorResponse.fail(answer)
      const refusal = yield* HttpErrorResponse.read(answer)
      yield* renew(under)
      // What answers a question of the lost session answers none of the new one.
      if (!JsonRpc.isNotification(frame)) return yield* HttpErrorResponse.error(refusal)
      return yield* tell(frame, json, true)
    }))

  // The fibers of this scope were added later, and so have ended before.
  yield* Scope.addFinalizer(scope, sessions.end)

  return {
    run: (deliverTo, hooks) =>
      Effect.suspend(() => {
        if (hooks !== undefined) report = hooks.report
        for (const inbound of kept.splice(0)) deliverTo(inbound)
        deliver = deliverTo
        return Deferred.await(lost)
      }).pipe(Effect.ensuring(Effect.sync(() => {
        deliver = () => {}
        report = () => {}
      }))),
    send: ({ message }) =>
      JsonRpc.isRequest(message)
        ? request(message)
        : owned(Effect.flatMap(OutgoingFrame.encoded(message), (json) => tell(message, json, false))),
    request,
    onHandshake: (profile: Profile.Profile) => {
      revision = profile.revision
    }
  }
})
