/** The reply to one frame without a session, or the collected replies to a batch. */

import { JsonRpc } from "@effect-mcp/protocol"
import type { Limits } from "../../Limits.ts"
import type * as MemoryBudget from "../../MemoryBudget.ts"
import type { StreamOrigin } from "../../Transport.ts"
import * as Batch from "../engine/Batch.ts"
import * as RequestRejections from "../engine/RequestRejections.ts"
import type { ReplySink } from "../engine/RequestServer.ts"
import * as Weight from "../engine/Weight.ts"

/** The reply to a frame, if it has one. */
export type Reply = JsonRpc.Response | ReadonlyArray<JsonRpc.Response> | undefined

/** The bounds of collected replies. */
export interface StatelessRepliesDependencies {
  readonly limits: Pick<Limits, "maxOutgoingBytes">
  readonly budget: MemoryBudget.MemoryBudget
}

/** Collects the replies to one frame, and calls `done` in the step in which the last reply is decided. */
export class StatelessReplies implements ReplySink {
  readonly #dependencies: StatelessRepliesDependencies
  readonly #done: (reply: Reply) => void
  /** The memory account of the replies that wait for the rest of their batch. */
  #account: MemoryBudget.Account | undefined

  constructor(dependencies: StatelessRepliesDependencies, done: (reply: Reply) => void) {
    this.#dependencies = dependencies
    this.#done = done
  }

  reply(response: JsonRpc.Response, origin: StreamOrigin | undefined, handed?: (isLost: boolean) => void): void {
    if (Batch.isBatch(origin)) return this.#end(origin, { response, handed })
    handed?.(false)
    this.#done(response)
  }

  settle(origin: StreamOrigin | undefined): void {
    if (Batch.isBatch(origin)) this.#end(origin)
    else this.#done(undefined)
  }

  reject(origin: StreamOrigin | undefined): void {
    this.settle(origin)
  }

  #end(batch: Batch.Batch, reply?: Batch.Reply): void {
    const replies = batch.end(reply === undefined ? undefined : this.#collect(batch, reply))
    if (replies === undefined) return
    this.#account?.release(this.#account.heldBytes)
    for (const { handed } of replies) handed?.(false)
    this.#done(replies.length === 0 ? undefined : replies.map(({ response }) => response))
  }

  /** Returns the reply, or an error in its place if the other replies take too much memory already. */
  #collect(batch: Batch.Batch, reply: Batch.Reply): Batch.Reply {
    const { budget, limits: { maxOutgoingBytes } } = this.#dependencies
    const account = this.#account ??= budget.open({ isUnread: true, yields: () => this.#yield(batch) })
    const weight = Weight.outgoing(reply.response, maxOutgoingBytes)
    if (batch.weight >= maxOutgoingBytes || !account.take(weight)) return withoutResult(reply, maxOutgoingBytes)
    batch.weight += weight
    return reply
  }

  /** Frees the memory of the collected replies, because the memory budget is exhausted and this batch is large. */
  #yield(batch: Batch.Batch): void {
    batch.replace((reply) => withoutResult(reply, this.#dependencies.limits.maxOutgoingBytes))
    this.#account?.release(this.#account.heldBytes)
  }
}

/** Returns an error in the place of a reply that takes too much memory. */
const withoutResult = ({ handed, response }: Batch.Reply, maxOutgoingBytes: number): Batch.Reply => ({
  response: JsonRpc.failure(
    response.id,
    RequestRejections.overloaded(
      `the replies of a batch take more than ${maxOutgoingBytes} bytes of memory, or more than the server has left`
    )
  ),
  handed
})
