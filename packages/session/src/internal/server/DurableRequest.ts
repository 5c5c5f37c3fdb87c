/** The request of a client that goes on at the next owner of its session, as the tasks of a server use it. */

import { CloseReason, type RequestId } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type { RequestContext } from "../../RequestContext.ts"
import type { RequestError } from "../../RequestError.ts"
import type { EarlierMessages, MovableRequest } from "../../Transport.ts"
import type { ServerRow } from "../engine/ClientQuestion.ts"
import type { IncomingRequest, ReplyOutcome } from "../engine/IncomingRequests.ts"
import type { MovableQuestion } from "../engine/PendingRequests.ts"
import { ServerSessionMembers } from "./ServerSessionMembers.ts"

/** The session that serves the request. */
type Owner = Pick<ServerSessionMembers, "runtime" | "sender">

/** A request of a session that may move to another process. */
export class DurableRequest {
  readonly #owner: Owner
  readonly #incoming: IncomingRequest
  readonly #place: MovableRequest

  private constructor(owner: Owner, incoming: IncomingRequest, place: MovableRequest) {
    this.#owner = owner
    this.#incoming = incoming
    this.#place = place
  }

  /** Returns the request of a context; `undefined` if its session never moves, or if it belongs to a batch. */
  static of({ id, session }: Pick<RequestContext["Service"], "id" | "session">): DurableRequest | undefined {
    if (!(session instanceof ServerSessionMembers)) return undefined
    const { connection, inflight } = session.runtime
    const incoming = inflight.find(id)
    const place = incoming?.origin === undefined ? undefined : connection.movable?.(incoming.origin)
    return incoming === undefined || place === undefined ? undefined : new DurableRequest(session, incoming, place)
  }

  /** The id of the session. */
  get session(): string {
    return this.#place.session
  }

  /** The number of the owner of the session. */
  get epoch(): number {
    return this.#place.epoch
  }

  /** The messages that an earlier owner has sent; `undefined` for a request that begins here. */
  get earlier(): EarlierMessages | undefined {
    return this.#place.earlier
  }

  /** Whether the session goes on at another process. */
  get hasMoved(): boolean {
    const state = this.#owner.runtime.state()
    return "reason" in state && CloseReason.goesOnElsewhere(state.reason)
  }

  /** Whether this process stops, and hands the session on by itself. */
  get isHandedOn(): boolean {
    const state = this.#owner.runtime.state()
    return this.hasMoved && "reason" in state && state.reason._tag === "Requested"
  }

  /** Begins a run of the request, which is stored: the next owner of the session goes on with it. */
  begin(): void {
    this.#incoming.movesOn = () => this.canResume
    const { earlier } = this.#place
    // Steps of progress that an earlier owner has sent are not sent again.
    if (earlier?.progress !== undefined) this.#incoming.highest = earlier.progress
    this.#place.keep(true)
  }

  /** Lets the request end with its process, because it is no longer stored. */
  leave(): void {
    this.#incoming.movesOn = undefined
    this.#incoming.storeCancellation = undefined
    this.#place.keep(false)
  }

  /** Has cancellations of the client stored before they are acknowledged. */
  onCancel(store: (acknowledge: (isStored: boolean) => void) => void): void {
    this.#incoming.storeCancellation = store
  }

  /** Hands the request on if the session has moved meanwhile, and the client can resume the stream. */
  handOn(): void {
    if (this.hasMoved) this.#owner.runtime.inflight.handOn()
  }

  /** Whether the client can resume the stream of the request. */
  get canResume(): boolean {
    return this.#place.canResume()
  }

  /** Whether this process certainly has the session. One that stops has it until its calls have ended. */
  get isOwned(): boolean {
    return (!this.hasMoved || this.isHandedOn) && this.#place.isOwned()
  }

  /** Whether the session has begun to end. */
  get isEnding(): boolean {
    return "reason" in this.#owner.runtime.state()
  }

  /** Calls a function after the end of the handler, with what became of the reply. */
  afterReply(action: (reply: ReplyOutcome) => void): void {
    this.#incoming.afterReply = action
  }

  /** Returns an id for a question. */
  nextId(): RequestId.RequestId {
    return this.#owner.runtime.exchanges.nextId()
  }

  /** Asks the client a question under an id that is stored, or waits for the answer to one that was sent. */
  ask(
    row: ServerRow,
    params: object,
    options: { readonly timeout: number; readonly movable: MovableQuestion }
  ): Effect.Effect<unknown, RequestError> {
    return this.#owner.sender.request(row, params, { ...options, replyTo: this.#incoming.origin })
  }
}
