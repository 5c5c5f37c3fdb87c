/** Requests of this side that become tasks of the peer: the access of `RemoteTasks` to a session or a handler. */

import { type MethodDefinition, type Profile, type RequestId, Revision } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { Limits } from "../../Limits.ts"
import type { MemoryBudget } from "../../MemoryBudget.ts"
import * as RequestError from "../../RequestError.ts"
import type { RequestOptions } from "../../RequestOptions.ts"
import type { OwnErrors } from "./OwnErrors.ts"
import type { PendingRequests } from "./PendingRequests.ts"

/** Options of a request that becomes a task, or is about one. */
export interface TaskRequestOptions<R> extends RequestOptions<R> {
  /** Called with the id of the request, before it is sent. */
  readonly onOpen?: ((id: RequestId.RequestId) => void) | undefined
  /** Whether the request may become a task, although the result of its row is no task. */
  readonly isTask?: boolean
}

/** Sends requests that become tasks. */
export interface TaskRequests {
  readonly request: <Params extends object, Result, R = never>(
    row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
    params: Params,
    options?: TaskRequestOptions<R>
  ) => Effect.Effect<Result, RequestError.RequestError, R>
  /** Waits until the session has ended. */
  readonly closed: Effect.Effect<unknown>
  /** The parts that receive progress; `undefined` if no progress can reach this side. */
  readonly receiver: ProgressReceiver | undefined
  /** The errors of the requests of a handler. `undefined` outside of handlers. */
  readonly errors?: OwnErrors | undefined
  /**
   * Whether `request` itself cancels a task whose caller has stopped waiting for its id. Default: no, so that the
   * caller has to.
   */
  readonly cancelsCreated?: boolean
}

/** The parts of a session that receive progress. */
export interface ProgressReceiver {
  readonly budget: MemoryBudget
  readonly exchanges: Pick<PendingRequests, "follow" | "unfollow">
  readonly limits: Limits
}

/** Requests that cannot become tasks of this client, because it has no session of revision 2025-11-25. */
export const none = ({ revision }: Profile.ClientProfile): TaskRequests => {
  const reason: RequestError.RequestErrorReason = Revision.isModern(revision)
    ? { _tag: "NotInRevision", revision, since: Revision.latestLegacy, until: Revision.latestLegacy }
    : { _tag: "StatelessModeNotSupported" }
  return {
    request: (row) => Effect.fail(RequestError.make(row.name, reason)),
    closed: Effect.never,
    receiver: undefined
  }
}
