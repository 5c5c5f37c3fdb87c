/** The roots of one client: how they are read, and the changes that its servers learn of. */

import type { McpError, Roots } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type * as McpAnswers from "../../McpAnswers.ts"

type List = ReadonlyArray<Roots.Root>

/** The roots of one client. */
export interface RootsSource {
  readonly read: (question: McpAnswers.RootsQuestion) => Effect.Effect<List, McpError.McpError, unknown>
  /** The roots whose changes are sent, if there are such. */
  readonly followed: FollowedRoots | undefined
}

const isRef = (answer: McpAnswers.RootsAnswer<unknown>): answer is SubscriptionRef.SubscriptionRef<List> =>
  SubscriptionRef.isSubscriptionRef(answer)

const isList = (answer: McpAnswers.RootsAnswer<unknown>): answer is List => Array.isArray(answer)

/** Roots whose changes are sent to the servers. */
export class FollowedRoots {
  readonly #ref: SubscriptionRef.SubscriptionRef<List>
  #served: List | undefined

  constructor(ref: SubscriptionRef.SubscriptionRef<List>) {
    this.#ref = ref
  }

  /** Returns the roots, for the server. */
  get serve(): Effect.Effect<List> {
    return Effect.sync(() => {
      this.#served = SubscriptionRef.getUnsafe(this.#ref)
      return this.#served
    })
  }

  /** Returns whether the server has received other roots than the present ones. */
  get isOutdated(): boolean {
    return this.#served !== undefined && this.#served !== SubscriptionRef.getUnsafe(this.#ref)
  }

  /** Streams the later changes. A slow follower misses all but the last one. */
  get changes(): Stream.Stream<List> {
    return SubscriptionRef.changes(this.#ref).pipe(
      // The first element is the present value.
      Stream.drop(1),
      // The stream of the ref keeps all changes for a slow follower.
      Stream.buffer({ capacity: 1, strategy: "sliding" })
    )
  }
}

/** Returns the source of roots in any of their forms. */
export const make = (answer: McpAnswers.RootsAnswer<unknown>): RootsSource => {
  if (isList(answer)) return { read: () => Effect.succeed(answer), followed: undefined }
  if (isRef(answer)) {
    const followed = new FollowedRoots(answer)
    return { read: () => followed.serve, followed }
  }
  // A service is an effect and a function.
  return Effect.isEffect(answer) ? { read: () => answer, followed: undefined } : { read: answer, followed: undefined }
}
