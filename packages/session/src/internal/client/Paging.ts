/** The pages of a list as one stream, and the checks of their cursors. */

import type { MethodDefinition, Pagination } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as RequestError from "../../RequestError.ts"
import type { Sender } from "../engine/Sender.ts"

/** One page of a list. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | undefined
}

/** The greatest length of a cursor that a client sends back, in characters. */
const maxCursorCharacters = 65_536

/** The characters of the stored cursors of one list. */
const maxStoredCharacters = 4 * maxCursorCharacters

/** The characters of a cursor that an error message shows. */
const maxShownCharacters = 100

const shown = (cursor: string): string =>
  JSON.stringify(cursor.length > maxShownCharacters ? `${cursor.slice(0, maxShownCharacters)}…` : cursor)

/**
 * The earlier cursors of one list. The newest are stored, so that a short cycle is found at its first repetition. A
 * longer cycle is found by Brent's algorithm: one cursor is held, each time for twice as many pages.
 */
export class SeenCursors {
  readonly #newest = new Set<string>()
  #characters = 0
  #held: string | undefined
  #since = 0
  #holdFor = 1

  /** The number of stored characters. */
  get characters(): number {
    return this.#characters
  }

  /** Adds the next cursor. Returns `false` if it is known to be a repetition. */
  add(cursor: string): boolean {
    if (this.#newest.has(cursor) || cursor === this.#held) return false
    if (this.#since++ === 0) this.#held = cursor
    if (this.#since === this.#holdFor) {
      this.#since = 0
      this.#holdFor *= 2
    }
    this.#newest.add(cursor)
    this.#characters += cursor.length
    for (const oldest of this.#newest) {
      if (this.#characters <= maxStoredCharacters) break
      this.#newest.delete(oldest)
      this.#characters -= oldest.length
    }
    return true
  }
}

/**
 * Streams the items of all pages of a list, and fetches each page on demand. Cursors are opaque, an empty one included
 * (PAG-02, PAG-04). Fails if a cursor is repeated, because the pages would repeat as well, if a cursor is too long, and
 * if there are more pages than the limit.
 */
export const stream = <A, R>(
  method: string,
  limits: { readonly maxPages: number },
  fetch: (cursor: string | undefined) => Effect.Effect<Page<A>, RequestError.RequestError, R>
): Stream.Stream<A, RequestError.RequestError, R> =>
  Stream.suspend(() => {
    const seen = new SeenCursors()
    let pages = 0

    const problemOf = (cursor: string): string | undefined => {
      if (cursor.length > maxCursorCharacters) {
        return `the cursor ${
          shown(cursor)
        } has ${cursor.length} characters; at most ${maxCursorCharacters} are sent back`
      }
      if (!seen.add(cursor)) return `the cursor ${shown(cursor)} was repeated`
      if (++pages < limits.maxPages) return undefined
      return `the list has more than ${limits.maxPages} pages; set \`maxPages\` to read more`
    }

    const first: string | undefined = undefined
    return Stream.paginate<string | undefined, A, RequestError.RequestError, R>(first, (cursor) =>
      Effect.flatMap(fetch(cursor), ({ items, nextCursor }) => {
        if (nextCursor === undefined) {
          return Effect.succeed([items, Option.none()] as const)
        }
        const problem = problemOf(nextCursor)
        return problem === undefined
          ? Effect.succeed([items, Option.some(nextCursor)] as const)
          : Effect.fail(RequestError.make(method, { _tag: "InvalidResult", problem }))
      }))
  })

/** The row of a list. */
type ListRow<Result> = MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Pagination.ListParams, Result>

/** Streams the items of all pages of a list of the peer. */
export const list = <Result extends { readonly nextCursor?: string }, A>(
  sender: Pick<Sender, "request">,
  limits: { readonly maxPages: number },
  row: ListRow<Result>,
  itemsOf: (page: Result) => ReadonlyArray<A>
): Stream.Stream<A, RequestError.RequestError> =>
  stream(row.name, limits, (cursor) =>
    Effect.map(
      sender.request(row, cursor === undefined ? {} : { cursor }),
      (page) => ({ items: itemsOf(page), nextCursor: page.nextCursor })
    ))
