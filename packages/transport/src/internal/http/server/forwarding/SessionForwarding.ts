/** The requests to sessions that other processes own: each goes to the owner of its session, unchanged. */
import { JsonRpc, McpError, Revision } from "@effect-mcp/protocol"
import { FairCapacity, monotonicMillis } from "@effect-mcp/session/internal"
import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import * as Metrics from "@effect-mcp/session/Metrics"
import type * as SessionHost from "@effect-mcp/session/SessionHost"
import { SessionOwners } from "@effect-mcp/session/SessionOwners"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as HttpTraceContext from "effect/http/HttpTraceContext"
import * as Latch from "effect/Latch"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as ClientAddress from "../../../shared/ClientAddress.ts"
import * as FrameText from "../../../shared/FrameText.ts"
import { LimitedLog } from "../../../shared/LimitedLog.ts"
import type { Deferring } from "../Authenticator.ts"
import type { HttpGuard, Place as Placing, Route, Sender } from "../HttpGuard.ts"
import * as HttpResponses from "../HttpResponses.ts"
import { isDone } from "../isDone.ts"
import * as AnnouncedAddress from "./AnnouncedAddress.ts"
import * as ForwardedHeaders from "./ForwardedHeaders.ts"
import { Forwarder, type ForwardError } from "./Forwarder.ts"
import * as RequestBody from "./RequestBody.ts"

type Elsewhere = Extract<SessionHost.SessionPlace, { readonly _tag: "Elsewhere" }>

/** The place of a session, as a request needs it: this process serves it, or another one does. */
type Place = { readonly _tag: "Here" } | Elsewhere

/** The time in which a request that was not processed finds its owner, in milliseconds. */
const searchMillis = 5000

/** The bounds of the time between two attempts. Many requests may look for the same owner. */
const minBackOffMillis = 20
const maxBackOffMillis = 100

/** The most bytes of a body that are kept, so that the request can be sent again. */
const maxKeptBytes = 64 * 1024

/** The time between two looks at the owner of a session that has not begun its response. */
const watchMillis = 1000

/** The number of looks in a row that find no owner. After an outage of the store, an owner renews its lease sooner. */
const maxFree = 3

/**
 * The number of intervals in which an owner sends a comment in a silent stream, and after which its silent response is
 * broken off.
 */
const maxSilentIntervals = 3

/** The time after which a client tries again. */
const retryMillis = 1000

/** The ends of forwarding: the process replied, it may have processed the request, or no process has processed it. */
type Outcome = "answered" | "unknown" | "unavailable" | "rejected"

const here: Place = { _tag: "Here" }

const isHere: Exit.Exit<Place> = Exit.succeed(here)

const unreachable = (message: string): HttpServerResponse =>
  HttpResponses.unavailable(message, { retryAfterMillis: retryMillis })

const noTarget = HttpResponses.error(400, "The request target must begin with a slash, or be an absolute URL")

const invalid = HttpResponses.error(
  400,
  "The request target or a header has a character that HTTP/1.1 does not allow, so the request cannot be forwarded"
)

const noOwner = unreachable(
  `The process that has the session was not reached within ${searchMillis} ms; the request was not processed`
)

const tooLong = unreachable(
  "The process that has the session was not reached, and the request is too long to be sent again; it was not processed"
)

const shuttingDown = unreachable("The server is shutting down")

const noForwarder = unreachable("Another process has the session, and this one cannot forward requests")

const outcomeUnknown = McpError.outcomeUnknown(
  "The process that has the session did not reply, and may have processed the request"
)

/** Restores a session here, unless another process has it. */
export type Restore = (sender: Sender, id: string) => Effect.Effect<SessionHost.RestoreOutcome, HttpServerResponse>

/** The bounds of the forwarding of a server. */
export interface Settings {
  /** The time in which a body must arrive, in milliseconds. */
  readonly bodyMillis: number
  readonly maxMessageNodes: number
  /** The most requests that are forwarded at a time. */
  readonly maxForwardedRequests: number
  /** The time in which the response of the owner must begin, in milliseconds. */
  readonly headersMillis: number
  /** The time between two comments in a silent stream of any process, in milliseconds. */
  readonly keepAliveMillis: number
}

/** The parts of the forwarding of a server. */
interface Options extends Settings {
  readonly host: SessionHost.SessionHostShape
  readonly owners: SessionOwners["Service"]
  readonly restore: Restore
  readonly forwarder: Forwarder["Service"] | undefined
  readonly budget: MemoryBudget
  readonly clock: Clock.Clock
  readonly receive: HttpGuard["receive"]
}

/** Forwards the requests of one server. */
export class SessionForwarding {
  readonly #options: Options
  readonly #log: LimitedLog
  readonly #capacity: FairCapacity
  /** Open while no request is being forwarded. */
  readonly #idle = Latch.makeUnsafe(true)
  #active = 0
  /** The functions that end the responses whose clients only wait for messages. */
  readonly #waiting = new Set<() => void>()
  #isDraining = false

  constructor(options: Options) {
    this.#options = options
    this.#capacity = new FairCapacity(
      { maxIncomingRequests: options.maxForwardedRequests, maxIncomingBytes: Number.POSITIVE_INFINITY },
      options.budget
    )
    this.#log = new LimitedLog(options.clock)
  }

  /**
   * Ends the streams that only wait for messages, because their clients open them again at another process, and waits
   * for the other requests. Without this, they would keep the listener open.
   */
  readonly drain: Effect.Effect<void> = Effect.suspend(() => {
    this.#isDraining = true
    for (const end of this.#waiting) end()
    return Effect.asVoid(Latch.await(this.#idle))
  })

  /** Serves the requests to the sessions of this process, and forwards those to the sessions of the others. */
  readonly place: Placing = (sender, serve, single) => {
    const { headers } = sender.request
    const id = headers["mcp-session-id"]
    const version = headers["mcp-protocol-version"]
    // A revision without sessions ignores the header.
    if (id === undefined || (version !== undefined && Revision.isModern(version))) return serve(sender)
    return Effect.flatMapEager(this.#belongs(sender, id), (isOwn) =>
      isOwn
        ? Effect.flatMapEager(
          this.#locate(sender, id),
          (place) => place._tag === "Here" ? serve(sender) : this.#forward({ sender, id, serve, single }, place)
        )
        : serve({ ...sender, hasNoSession: true }))
  }

  /**
   * Returns whether the sender has a session with this id. The place of a session of another principal is not looked
   * up: its client would learn from a wait, or from 503, that the session exists.
   */
  #belongs({ principal, request }: Sender, id: string): Effect.Effect<boolean, HttpServerResponse> {
    const belongs = this.#options.host.belongs(id, principal, () => ClientAddress.of(request))
    return isDone(belongs)
      ? Exit.succeed(belongs.value)
      : Effect.mapError(belongs, () => HttpResponses.storeFailed(undefined))
  }

  /** Returns where a session is. One that no process owns is restored here. */
  #locate(sender: Sender, id: string): Effect.Effect<Place, HttpServerResponse> {
    const { host } = this.#options
    const hosted = host.find(id)
    if (hosted === undefined) return this.#seek(sender, id)
    const ready = host.ready(hosted)
    if (Exit.isExit(ready) && Exit.isSuccess(ready) && ready.value) return isHere
    return Effect.flatMap(
      Effect.mapError(ready, (error) => HttpResponses.ownerUnknown(error, undefined)),
      (isReady) => isReady ? isHere : this.#seek(sender, id)
    )
  }

  readonly #seek = Effect.fnUntraced(function*(
    this: SessionForwarding,
    sender: Sender,
    id: string
  ): Effect.fn.Return<Place, HttpServerResponse> {
    const { host, owners, restore } = this.#options
    const isForwarded = isForwardedRequest(sender)
    // The place that this process remembers may be old. A session must not be claimed, or sent away, because of it.
    if (isForwarded) owners.invalidate(id)
    const place = yield* Effect.mapError(
      this.#placeOf(sender, id),
      (error) => HttpResponses.ownerUnknown(error, undefined)
    )
    if (place._tag !== "Unowned") return place
    // The process that has forwarded the request claims the session itself.
    if (isForwarded && (yield* host.health).draining) return yield* Effect.fail(HttpResponses.misdirected)
    const outcome = yield* restore(sender, id)
    return outcome._tag === "Elsewhere" ? outcome : here
  })

  #placeOf({ principal, request }: Sender, id: string) {
    return this.#options.host.locate(id, principal, () => ClientAddress.of(request))
  }

  /**
   * Forwards a request, as long as no process has processed it. The answer to a question is sent again also if a
   * process may have processed it, because the second one changes nothing. Many clients do not send an answer again. An
   * answer with something that is valid once is sent once: the process has used it up, whatever its reply.
   */
  readonly #forward = Effect.fnUntraced(function*(
    this: SessionForwarding,
    asked: Asked,
    first: Elsewhere
  ): Effect.fn.Return<HttpServerResponse, HttpServerResponse> {
    const { bodyMillis, budget, forwarder, maxForwardedRequests, receive } = this.#options
    const { sender, single } = asked
    const { request } = sender
    if (isForwardedRequest(sender)) return yield* Effect.fail(HttpResponses.misdirected)
    if (forwarder === undefined) {
      yield* this.#log.warn(
        "another process has a session, and this server has no HTTP client to forward its requests: " +
          "use StreamableHttpServer of @effect-mcp/transport/node",
        first.address
      )
      return yield* this.#end("rejected", noForwarder)
    }
    const path = ForwardedHeaders.targetOf(request)
    if (path === undefined) return yield* Effect.fail(noTarget)
    if (this.#isDraining && request.method === "GET") return yield* this.#end("rejected", shuttingDown)
    const room = this.#capacity.roomOf({ principal: sender.principal, client: ClientAddress.of(request) })
    const full = room.take(0)
    if (full !== undefined) {
      return yield* this.#end(
        "rejected",
        unreachable(`the request is not forwarded: ${full} (maxForwardedRequests: ${maxForwardedRequests})`)
      )
    }
    let holds = 1
    if (this.#active++ === 0) Latch.closeUnsafe(this.#idle)
    const release = () => {
      if (--holds > 0) return
      room.release(0)
      if (--this.#active === 0) Latch.openUnsafe(this.#idle)
    }
    const forwarded = Effect.gen({ self: this }, function*() {
      const body = request.method === "POST"
        ? yield* RequestBody.receive(request, { bodyMillis, maxKeptBytes, receive })
        : RequestBody.none
      const kept = body._tag === "Kept" ? body.bytes.length : maxKeptBytes
      if (body._tag !== "None" && !budget.take(kept)) {
        return yield* Effect.mapError(
          this.#end("rejected", unreachable("The process is short of memory")),
          (response) => RequestBody.closingUnread(response, body)
        )
      }
      // Parsed only if a process does not take the request.
      const isAnswer = () => !single.hasUse() && body._tag === "Kept" && this.#parse(body.bytes)?._tag === "Response"
      const attempts = this.#attempts({ ...asked, path, body, isAnswer, forwarder }, first, () => {
        holds++
        return release
      })
      return yield* body._tag === "None" ? attempts : attempts.pipe(
        Effect.ensuring(Effect.sync(() => budget.release(kept))),
        Effect.mapError((response) => RequestBody.closingUnread(response, body))
      )
    })
    return yield* Effect.ensuring(forwarded, Effect.sync(release))
  })

  readonly #attempts = Effect.fnUntraced(function*(
    this: SessionForwarding,
    attempt: Attempt,
    first: Elsewhere,
    hold: () => () => void
  ): Effect.fn.Return<HttpServerResponse, HttpServerResponse> {
    const { clock, owners } = this.#options
    const { body, id, sender, serve } = attempt
    const until = monotonicMillis(clock) + searchMillis
    let place: Place = first
    for (;;) {
      if (place._tag === "Here") {
        const request = RequestBody.withKept(sender.request, body)
        return yield* serve({ ...sender, request })
      }
      const sent = yield* Effect.result(Effect.raceFirst(this.#send(attempt, place, hold), this.#lost(attempt, place)))
      if (Result.isSuccess(sent)) return yield* Effect.as(this.#count("answered"), sent.success)
      const { cause, isInvalid, mayBeProcessed } = sent.failure
      if (isInvalid === true) return yield* this.#end("rejected", invalid)
      owners.invalidate(id)
      if (mayBeProcessed && !attempt.isAnswer()) {
        yield* this.#log.warn("a forwarded request got no response, and may have been processed", cause)
        return yield* this.#end("unknown", this.#unknown(attempt))
      }
      if (body._tag === "Streamed" && body.isSent) return yield* this.#end("unavailable", tooLong)
      const share = yield* Random.next
      const pause = minBackOffMillis + share * (maxBackOffMillis - minBackOffMillis)
      const left = until - monotonicMillis(clock) - pause
      if (left <= 0) {
        yield* this.#log.warn("the owner of a session was not reached", cause)
        return yield* this.#end("unavailable", noOwner)
      }
      yield* Effect.sleep(Duration.millis(pause))
      place = yield* Effect.timeoutOrElse(this.#locate(sender, id), {
        duration: Duration.millis(left),
        orElse: () => this.#end("unavailable", noOwner)
      })
      // The beginning of a streamed body is read, and the rest is not: this process cannot parse it.
      if (place._tag === "Here" && body._tag === "Streamed") return yield* this.#end("unavailable", tooLong)
    }
  })

  /**
   * Fails when the owner of a session has lost it, so that its response may never come: its process may be paused, or
   * its machine may be gone, and the connection stays open.
   */
  readonly #lost = Effect.fnUntraced(function*(
    this: SessionForwarding,
    { id, sender }: Asked,
    { process }: Elsewhere
  ): Effect.fn.Return<never, Unusable> {
    let free = 0
    for (;;) {
      yield* Effect.sleep(watchMillis)
      const place = Option.getOrUndefined(yield* Effect.option(this.#placeOf(sender, id)))
      // The store is away, and the owner may be well.
      if (place === undefined) continue
      if (place._tag === "Unowned") {
        if (++free >= maxFree) break
      } else if (place._tag === "Elsewhere" && place.process === process) free = 0
      else break
    }
    return yield* Effect.fail({ mayBeProcessed: true, cause: new Error("the process has lost the session") })
  })

  /** Sends a request once, in a span of its own. */
  #send(
    { body, forwarder, isAnswer, path, sender: { request } }: Attempt,
    { address, process }: Elsewhere,
    begin: () => () => void
  ): Effect.Effect<HttpServerResponse, ForwardError | Unusable> {
    const { bodyMillis, headersMillis, keepAliveMillis, owners } = this.#options
    const target = ForwardedHeaders.addressOf(address)
    if (target === undefined) {
      return Effect.fail({ mayBeProcessed: false, cause: new Error(`not an address of HTTP: ${address}`) })
    }
    let end: (() => void) | undefined
    const attributes = {
      "http.request.method": request.method,
      "server.address": target.hostname,
      "server.port": Number(target.port) || (target.protocol === "https:" ? 443 : 80),
      "mcp.process.id": process
    }
    return Effect.useSpan(`forward ${request.method}`, { kind: "client", attributes }, (span) =>
      Effect.tap(
        Effect.suspend(() =>
          forwarder.send({
            address: target,
            method: request.method,
            path,
            headers: ForwardedHeaders.ofRequest(request, {
              ...HttpTraceContext.toHeaders(span),
              // A length that differs from that of the body would make a part of the next request its rest.
              "content-length": body._tag === "Kept" ? String(body.bytes.length) : undefined,
              [ForwardedHeaders.forwardedBy]: owners.process
            }),
            body,
            of: request,
            isAnswer,
            bodyMillis,
            headersMillis,
            silenceMillis: maxSilentIntervals * keepAliveMillis,
            hasBegun: (made) => {
              if (request.method !== "GET") return
              end = made
              this.#waiting.add(made)
              if (this.#isDraining) made()
            },
            begin: () => {
              const close = begin()
              return () => {
                if (end !== undefined) this.#waiting.delete(end)
                close()
              }
            }
          })
        ),
        ({ status }) => Effect.sync(() => span.attribute("http.response.status_code", status))
      ))
  }

  /** Returns the response to a request that the owner may have processed. */
  #unknown({ body, sender: { request } }: Attempt): HttpServerResponse {
    const { code, data, message } = outcomeUnknown
    if (request.method === "GET") return unreachable("The process that has the session did not reply")
    const error = { code, data, message }
    const ids = body._tag === "Kept" ? idsIn(this.#parse(body.bytes)) : []
    const replies = ids.map((id) => JsonRpc.failure(id, error))
    return HttpResponses.json(
      502,
      JSON.stringify(replies.length > 1 ? replies : replies[0] ?? JsonRpc.failure(undefined, error)),
      {}
    )
  }

  /** Returns the message in a body; `undefined` if it is none. */
  #parse(bytes: Uint8Array): JsonRpc.Classified | undefined {
    const frame = FrameText.parseBytes(bytes, this.#options.maxMessageNodes)
    return Result.isFailure(frame) ? undefined : JsonRpc.classify(frame.success)
  }

  #count(outcome: Outcome): Effect.Effect<void> {
    return Metric.update(
      Metric.withAttributes(Metrics.serverRequestsForwarded, { "mcp.forward.outcome": outcome }),
      1
    )
  }

  #end(outcome: Outcome, response: HttpServerResponse): Effect.Effect<never, HttpServerResponse> {
    return Effect.andThen(this.#count(outcome), Effect.fail(response))
  }
}

/** Makes the forwarding of a server, if sessions have owners. The server announces its address to the others. */
export const make = Effect.fnUntraced(function*(
  host: SessionHost.SessionHostShape,
  restore: Restore,
  { receive }: HttpGuard,
  settings: Settings
): Effect.fn.Return<SessionForwarding | undefined, never, Scope.Scope> {
  const owners = Option.getOrUndefined(yield* Effect.serviceOption(SessionOwners))
  if (owners === undefined) return undefined
  yield* AnnouncedAddress.announce(owners)
  const forwarding = new SessionForwarding({
    ...settings,
    host,
    owners,
    restore,
    receive,
    forwarder: Option.getOrUndefined(yield* Effect.serviceOption(Forwarder)),
    budget: yield* MemoryBudget,
    clock: yield* Clock.Clock
  })
  yield* host.onDrain(forwarding.drain)
  return forwarding
})

/** A failure without the HTTP client: the address is none, or the process has lost the session. */
interface Unusable extends Pick<ForwardError, "isInvalid"> {
  readonly mayBeProcessed: boolean
  readonly cause: unknown
}

/** A request to a session. */
interface Asked {
  readonly sender: Sender
  readonly id: string
  /** Serves the request here. */
  readonly serve: Route
  /** The parts of the request that are valid once. The process that serves it uses them up. */
  readonly single: Deferring
}

/** A request that is being forwarded. */
interface Attempt extends Asked {
  readonly path: string
  readonly body: RequestBody.RequestBody
  /** Returns whether the body is the answer to a question of the server, and can be sent again. */
  readonly isAnswer: () => boolean
  readonly forwarder: Forwarder["Service"]
}

/** Returns whether a process has forwarded this request, or its client says so. Then it is never forwarded again. */
const isForwardedRequest = ({ request: { headers } }: Sender): boolean =>
  headers[ForwardedHeaders.forwardedBy] !== undefined

/** Returns the ids of the requests in a message. */
const idsIn = (message: JsonRpc.Classified | undefined): ReadonlyArray<JsonRpc.Request["id"]> => {
  if (message?._tag === "Batch") {
    return JsonRpc.messages(message.frames).flatMap((inner) => JsonRpc.isRequest(inner) ? [inner.id] : [])
  }
  return message?._tag === "Request" ? [message.message.id] : []
}
