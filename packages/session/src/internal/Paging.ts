import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as RequestError from "../RequestError.ts"

/** One page of a list. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | undefined
}

/**
 * All pages of a list, fetched as they are wanted. Cursors are opaque, an empty one included (PAG-02, PAG-04); one that comes
 * twice would lead in a circle, and fails.
 */
export const stream = <A, R>(
  method: string,
  fetch: (cursor: string | undefined) => Effect.Effect<Page<A>, RequestError.RequestError, R>
): Stream.Stream<A, RequestError.RequestError, R> =>
  Stream.suspend(() => {
    const seen = new Set<string>()
    const first: string | undefined = undefined
    return Stream.paginate<string | undefined, A, RequestError.RequestError, R>(first, (cursor) =>
      Effect.flatMap(fetch(cursor), ({ items, nextCursor }) => {
        if (nextCursor === undefined) {
          return Effect.succeed([items, Option.none()] as const)
        }
        if (seen.has(nextCursor)) {
          const problem = `the cursor ${JSON.stringify(nextCursor)} came twice`
          return Effect.fail(RequestError.make(method, { _tag: "InvalidResult", problem }))
        }
        seen.add(nextCursor)
        return Effect.succeed([items, Option.some(nextCursor)] as const)
      }))
  })
