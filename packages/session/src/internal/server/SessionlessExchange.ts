import { JsonRpc, MethodTable, type Profile, Revision } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"
import type { Dispatch } from "../../Dispatch.ts"
import type { Limits } from "../../Limits.ts"
import type * as MemoryBudget from "../../MemoryBudget.ts"
import type { Principal } from "../../Principal.ts"
import { RequestContext } from "../../RequestContext.ts"
import * as RequestError from "../../RequestError.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import * as TransportError from "../../TransportError.ts"
import * as Batch from "../engine/Batch.ts"
import * as HandlerFiber from "../engine/HandlerFiber.ts"
import * as IncomingRequests from "../engine/IncomingRequests.ts"
import * as Outbox from "../engine/Outbox.ts"
import * as Outgoing from "../engine/Outgoing.ts"
import type { RateLimit } from "../engine/RateLimit.ts"
import * as RequestRejections from "../engine/RequestRejections.ts"
import type { Sender } from "../engine/Sender.ts"
import { validate } from "../engine/validation.ts"
import * as Weight from "../engine/Weight.ts"
import { trust } from "../trust.ts"
import type { FairCapacity } from "./FairCapacity.ts"
import * as InitializeResponder from "./InitializeResponder.ts"
import * as ServerRequestContext from "./ServerRequestContext.ts"

/** What all frames of one server have in common. */
export interface Server {
  readonly introduction: InitializeResponder.InitializeResponder
  readonly limits: Limits
  readonly dispatch: Dispatch<unknown>
  /** The services of the handlers. */
  readonly context: Context.Context<never>
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly emit: (event: SessionEvent) => void
  readonly timer: { readonly now: () => number }
  readonly budget: MemoryBudget.MemoryBudget
  readonly capacity: FairCapacity
  readonly warnings: RateLimit
}

/** Who asks, and how. */
export interface Asked {
  readonly revision: Revision.Revision
  readonly principal?: Principal | undefined
  readonly client?: string | undefined
  readonly bytes?: number | undefined
  readonly say?: ((message: JsonRpc.Notification) => Effect.Effect<void, TransportError.TransportError>) | undefined
}

/** What a frame is answered with, if it is. */
export type Reply = JsonRpc.Response | ReadonlyArray<JsonRpc.Response> | undefined

/** A notification, and what is to be done about it. */
interface Heard {
  readonly method: string
  readonly bytes: number
  readonly handle: Effect.Effect<void>
}

/** Nothing is known of clients that are not remembered. */
const profiles: ReadonlyMap<Revision.Revision, Profile.ClientProfile> = new Map(
  Revision.supported.map((revision) => [revision, { revision, capabilities: {}, info: undefined }])
)

const profileOf = (revision: Revision.Revision): Profile.ClientProfile =>
  profiles.get(revision) ?? { revision, capabilities: {}, info: undefined }

/**
 * One frame of a client that has no session, and all that is done about it: what a session is to its client, this is to a frame. What
 * is in it is served as a session in the state `Sessionless` serves it, and gone with it.
 */
export class SessionlessExchange {
  readonly #server: Server
  readonly #asked: Asked
  readonly #profile: Profile.ClientProfile
  readonly #done: (reply: Reply) => void
  #inflight: IncomingRequests.IncomingRequests | undefined
  readonly #heard: Array<Heard> = []
  #listening: Fiber.Fiber<void> | undefined
  /** The account of the replies that wait for the rest of their batch. */
  #keeping: MemoryBudget.Account | undefined
  #saying: Semaphore.Semaphore | undefined
  #contexts: ServerRequestContext.AskingParts | undefined

  /** `done` is told the reply when every request has one, in the step in which the last has it. */
  constructor(server: Server, asked: Asked, done: (reply: Reply) => void) {
    this.#server = server
    this.#asked = asked
    this.#profile = profileOf(asked.revision)
    this.#done = done
  }

  // ===================================================================================================================
  // How messages end
  // ===================================================================================================================

  #reply(response: JsonRpc.Response, batch: Batch.Batch | undefined, handed?: () => void): void {
    if (batch !== undefined) return this.#end(batch, { response, handed })
    handed?.()
    this.#done(response)
  }

  /** It ended without a reply. */
  #settle(batch: Batch.Batch | undefined): void {
    if (batch === undefined) this.#done(undefined)
    else this.#end(batch)
  }

  #end(batch: Batch.Batch, reply?: Batch.Reply): void {
    const replies = batch.end(reply === undefined ? undefined : this.#kept(batch, reply))
    if (replies === undefined) return
    this.#keeping?.release(this.#keeping.heldBytes)
    for (const { handed } of replies) handed?.()
    this.#done(replies.length === 0 ? undefined : replies.map(({ response }) => response))
  }

  /**
   * A reply is kept for the rest of its batch. If the others take too much memory already, it makes room for an error.
   */
  #kept(batch: Batch.Batch, reply: Batch.Reply): Batch.Reply {
    const { budget, limits: { maxOutgoingBytes } } = this.#server
    const keeping = this.#keeping ??= budget.open({ isUnread: true, yields: () => this.#yieldKept(batch) })
    const weight = Weight.outgoing(reply.response, maxOutgoingBytes)
    if (batch.weight >= maxOutgoingBytes || !keeping.take(weight)) return withoutResult(reply, maxOutgoingBytes)
    batch.weight += weight
    return reply
  }

  /** The process is short of memory, and this batch keeps most of what is not read. */
  #yieldKept(batch: Batch.Batch): void {
    batch.replace((reply) => withoutResult(reply, this.#server.limits.maxOutgoingBytes))
    this.#keeping?.release(this.#keeping.heldBytes)
  }

  #refuse(
    { id, method }: Pick<JsonRpc.Request, "id" | "method">,
    error: JsonRpc.ErrorObject,
    batch: Batch.Batch | undefined
  ): void {
    this.#server.emit({ _tag: "Refused", method, id, code: error.code })
    this.#reply(JsonRpc.failure(id, error), batch)
  }

  #ignored(method: string, problem: string): void {
    this.#server.emit({ _tag: "NotificationIgnored", method, problem })
  }

  // ===================================================================================================================
  // What comes in
  // ===================================================================================================================

  /** Begins to serve it. */
  begin(frame: unknown): void {
    this.#receive(frame, undefined)
    this.#listen()
  }

  #receive(frame: unknown, batch: Batch.Batch | undefined): void {
    const classified = JsonRpc.classify(frame)
    switch (classified._tag) {
      case "Request":
        return this.#request(classified.message, batch)
      case "Notification":
        this.#notification(classified.message)
        return this.#settle(batch)
      case "Response":
        this.#response(classified.message)
        return this.#settle(batch)
      case "Batch":
        return this.#batch(classified.frames, batch)
      case "Malformed":
        return this.#malformed(classified.malformed, batch)
    }
  }

  #weigh(message: JsonRpc.Message): number {
    return Weight.received(message, this.#asked.bytes)
  }

  #batch(frames: ReadonlyArray<unknown>, batch: Batch.Batch | undefined): void {
    const opened = Batch.open(frames.length, batch, this.#asked.revision, this.#server.limits)
    if (Result.isFailure(opened)) return this.#malformed(opened.failure, batch)
    for (const frame of frames) this.#receive(frame, opened.success)
  }

  #malformed({ answerable, id, problem }: JsonRpc.Malformed, batch: Batch.Batch | undefined): void {
    this.#server.emit({ _tag: "Malformed", problem })
    if (!answerable) return this.#settle(batch)
    this.#reply(RequestRejections.response(RequestRejections.malformed(problem), id, this.#asked.revision), batch)
  }

  /** Nothing is ever asked, so this answers nothing. */
  #response(message: JsonRpc.Response): void {
    const { emit, fork, warnings } = this.#server
    const kind = message.id === undefined || message.id === null ? "NoId" : "Unknown"
    emit({ _tag: "UnmatchedResponse", kind, response: message })
    if (kind === "Unknown" && warnings.take(this.#server.timer.now())) {
      fork(Effect.logWarning("a response to a server without sessions, which asks nothing", { id: message.id }))
    }
  }

  // ===================================================================================================================
  // Requests
  // ===================================================================================================================

  #request(message: JsonRpc.Request, batch: Batch.Batch | undefined): void {
    switch (message.method) {
      case "ping":
        return this.#ping(message, batch)
      case "initialize":
        return this.#initialize(message, batch)
      default:
        return this.#serve(message, batch)
    }
  }

  /** The server is full, and the client of this frame has most in flight. */
  #yieldRequest(): void {
    const served = this.#inflight?.claimLargest()
    if (served === undefined) return
    IncomingRequests.interrupt(served)
    this.#refuse(served, RequestRejections.displaced, served.origin instanceof Batch.Batch ? served.origin : undefined)
  }

  #isTaken(id: JsonRpc.Request["id"]): boolean {
    return this.#inflight?.isTaken(id) === true
  }

  #ping(message: JsonRpc.Request, batch: Batch.Batch | undefined): void {
    if (this.#isTaken(message.id)) return this.#refuse(message, RequestRejections.duplicate, batch)
    const params = validate(MethodTable.requests.ping.params)(message.params ?? {})
    return Result.isFailure(params)
      ? this.#refuse(message, RequestRejections.invalidParams(params.failure), batch)
      : this.#reply(JsonRpc.success(message.id, {}), batch)
  }

  #initialize(message: JsonRpc.Request, batch: Batch.Batch | undefined): void {
    if (batch !== undefined) return this.#refuse(message, InitializeResponder.notInBatch, batch)
    const { introduction } = this.#server
    const params = InitializeResponder.params(message)
    if (Result.isFailure(params)) return this.#refuse(message, params.failure, batch)
    const revision = InitializeResponder.agreed(introduction, params.success.protocolVersion)
    this.#reply(InitializeResponder.answer(introduction, message.id, revision), batch)
  }

  #serve(message: JsonRpc.Request, batch: Batch.Batch | undefined): void {
    const { context, dispatch } = this.#server
    if (this.#isTaken(message.id)) return this.#refuse(message, RequestRejections.duplicate, batch)
    const prepared = dispatch.prepare(message, this.#profile)
    if (Result.isFailure(prepared)) return this.#refuse(message, prepared.failure, batch)
    const inflight = this.#inflight ??= new IncomingRequests.IncomingRequests(
      this.#server.capacity.roomOf(this.#asked, () => this.#yieldRequest())
    )
    const served = IncomingRequests.entry(message, {
      origin: batch,
      bytes: this.#weigh(message),
      principal: this.#asked.principal
    })
    const full = inflight.open(served)
    if (full !== undefined) return this.#refuse(message, RequestRejections.overloaded(full), batch)
    const asking = new ServerRequestContext.ServerRequestContext(this.#parts, served, message, this.#profile)
    served.fiber = HandlerFiber.start(
      prepared.success,
      // The services of the handlers were captured when the server was made.
      trust<Context.Context<unknown>>(Context.add(context, RequestContext, asking)),
      this.#server,
      (ending) => this.#finish(inflight, served, batch, ending)
    )
    if (served.ended) served.fiber.interruptUnsafe()
  }

  #finish(
    inflight: IncomingRequests.IncomingRequests,
    served: IncomingRequests.Served,
    batch: Batch.Batch | undefined,
    ending: HandlerFiber.Ending
  ): void {
    const { emit, fork } = this.#server
    const claimed = inflight.answer(served)
    served.ended = true
    const cause = HandlerFiber.failureOf(ending, claimed)
    if (cause !== undefined) {
      emit({ _tag: "HandlerFailed", method: served.method, cause })
      fork(Effect.logError(`the handler of ${served.method} failed`, cause))
    }
    if (!claimed) return inflight.release(served)
    HandlerFiber.handOver(
      served,
      this.#server,
      () => this.#reply(HandlerFiber.response(served.id, ending), batch, () => inflight.release(served))
    )
  }

  // ===================================================================================================================
  // Notifications
  // ===================================================================================================================

  #notification(message: JsonRpc.Notification): void {
    switch (message.method) {
      case "notifications/cancelled":
        return this.#cancelled(message)
      case "notifications/progress":
        return this.#server.emit({ _tag: "ProgressDropped", reason: "UnknownToken" })
      case "notifications/initialized":
        return this.#ignored(message.method, "not expected while Sessionless")
      default:
        return this.#deliver(message)
    }
  }

  /** Ids are known within their frame only: what is in another may be another client's. */
  #cancelled(message: JsonRpc.Notification): void {
    const { emit } = this.#server
    const params = validate(MethodTable.notifications["notifications/cancelled"].params)(message.params ?? {})
    if (Result.isFailure(params)) return this.#ignored(message.method, params.failure)
    const { reason, requestId } = params.success
    const served = requestId === undefined ? undefined : this.#inflight?.find(requestId)
    if (served === undefined || this.#inflight?.claim(served) !== true) {
      return emit({ _tag: "CancelIgnored", id: requestId })
    }
    emit({ _tag: "Cancelled", method: served.method, id: served.id, reason })
    this.#drop(served)
  }

  /** One that is claimed, and will have no reply. */
  #drop(served: IncomingRequests.Served): void {
    IncomingRequests.interrupt(served)
    this.#settle(served.origin instanceof Batch.Batch ? served.origin : undefined)
  }

  #deliver(message: JsonRpc.Notification): void {
    const { context, dispatch, emit } = this.#server
    const { method } = message
    const handling = dispatch.notify(message, this.#profile)
    if (Result.isFailure(handling)) return this.#ignored(method, handling.failure)
    if (handling.success === undefined) return this.#ignored(method, "no handler")
    const services = trust<Context.Context<unknown>>(context)
    const handle = Effect.catchCause(
      Effect.provideContext(Effect.scoped(handling.success), services),
      (cause) => {
        emit({ _tag: "HandlerFailed", method, cause })
        return Effect.logError(`the handler of ${method} failed`, cause)
      }
    )
    this.#heard.push({ method, bytes: this.#weigh(message), handle })
  }

  /** Handles the notifications of the frame, one after another. Together they count as one request. */
  #listen(): void {
    const heard = this.#heard
    if (heard.length === 0) return
    const { fork } = this.#server
    const bytes = heard.reduce((sum, { bytes }) => sum + bytes, 0)
    const room = this.#server.capacity.roomOf(this.#asked)
    const full = room.take(bytes)
    if (full !== undefined) {
      for (const { method } of heard) this.#ignored(method, full)
      return
    }
    this.#listening = fork(Effect.forEach(heard, ({ handle }) => handle, { discard: true }))
    this.#listening.addObserver(() => room.release(bytes))
  }

  // ===================================================================================================================
  // What handlers say
  // ===================================================================================================================

  get #parts(): ServerRequestContext.AskingParts {
    return this.#contexts ??= {
      core: this.#server,
      sender: { notify: (row, params) => this.#notify(row, params), request },
      release: undefined,
      // Nobody can have set a level that is remembered.
      logVia: (message) => this.#notify(MethodTable.notifications["notifications/message"], message)
    }
  }

  #notify(row: Outgoing.Gate, params: object): Effect.Effect<void, RequestError.RequestError> {
    return Effect.suspend(() => {
      const { capabilities, projection } = this.#server.introduction
      const message = Outgoing.notification(row, params, this.#profile, { declared: capabilities, projection })
      return Result.isFailure(message)
        ? Effect.fail(RequestError.make(row.name, message.failure))
        : this.#say(message.success)
    })
  }

  /** Says one thing after another, in the order in which handlers said them. */
  #say(message: JsonRpc.Notification): Effect.Effect<void, RequestError.RequestError> {
    const { say } = this.#asked
    const saying = this.#saying ??= Semaphore.makeUnsafe(1)
    const said = Effect.suspend(() => say === undefined ? noRoute(message.method) : say(message))
    return Effect.catchCause(saying.withPermit(said), (cause) => {
      const error = Outbox.errorIn(cause)
      this.#server.emit({ _tag: "SendFailed", method: message.method, error })
      return Effect.fail(RequestError.make(message.method, { _tag: "SendFailed", error }))
    })
  }

  // ===================================================================================================================
  // Its end
  // ===================================================================================================================

  /** Waits until all that was said is on its way, and what was told to this side is handled. */
  get settled(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const said = this.#saying === undefined ? Effect.void : this.#saying.withPermit(Effect.void)
      return this.#listening === undefined ? said : Effect.andThen(Fiber.await(this.#listening), said)
    })
  }

  /** Nobody waits for it any more: interrupts its handlers, and waits until they have ended. */
  get abandon(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { emit } = this.#server
      const inflight = this.#inflight
      for (const served of inflight?.interruptAll() ?? []) {
        emit({ _tag: "Abandoned", method: served.method, id: served.id })
        this.#settle(served.origin instanceof Batch.Batch ? served.origin : undefined)
      }
      const drained = inflight === undefined ? Effect.void : inflight.drained
      return this.#listening === undefined ? drained : Effect.andThen(Fiber.interrupt(this.#listening), drained)
    })
  }
}

const request: Sender["request"] = (row) =>
  Effect.fail(RequestError.make(row.name, { _tag: "StatelessModeNotSupported" }))

/** An error instead of a reply that would take too much memory. */
const withoutResult = ({ handed, response }: Batch.Reply, maxOutgoingBytes: number): Batch.Reply => ({
  response: JsonRpc.failure(
    response.id,
    RequestRejections.overloaded(
      `the replies of a batch may take ${maxOutgoingBytes} bytes of memory, and less if the server has less`
    )
  ),
  handed
})

const noRoute = (method: string) => Effect.fail(TransportError.make({ _tag: "NoRoute", method }))
