import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as RequestError from "../../RequestError.ts"

/** One page of a list. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | undefined
}

/** The longest cursor that is sent back, in characters. */
const cursorCharacters = 65_536

/** How many characters of cursors are remembered of one list. */
const rememberedCharacters = 4 * cursorCharacters

/** How much of a cursor is shown in an error, in characters. */
const shownCharacters = 100

const shown = (cursor: string): string =>
  JSON.stringify(cursor.length > shownCharacters ? `${cursor.slice(0, shownCharacters)}…` : cursor)

/**
 * The cursors of one list that came before. The newest are remembered, so that a loop of theirs is found at once. A
 * longer loop is found by Brent's algorithm: one cursor is held on to, for twice as many pages each time.
 */
export class SeenCursors {
  readonly #newest = new Set<string>()
  #characters = 0
  #held: string | undefined
  #since = 0
  #holdFor = 1

  /** How many characters are remembered. */
  get characters(): number {
    return this.#characters
  }

  /** Takes the next cursor; `false` if it is known to have come before. */
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
      if (this.#characters <= rememberedCharacters) break
      this.#newest.delete(oldest)
      this.#characters -= oldest.length
    }
    return true
  }
}

/**
 * All pages of a list, fetched as they are wanted. Cursors are opaque, an empty one included (PAG-02, PAG-04). A cursor
 * that came before would lead in a circle, and fails; so do one that is too long, and one after the last page that is
 * allowed.
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
      if (cursor.length > cursorCharacters) {
        return `the cursor ${shown(cursor)} has ${cursor.length} characters; at most ${cursorCharacters} are sent back`
      }
      if (!seen.add(cursor)) return `the cursor ${shown(cursor)} came twice`
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
