/** Reads of lists with bounds. A server decides how many pages a list has, and how much is in them. */
import type * as RequestError from "@effect-mcp/session/RequestError"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

/** The bounds of one list. */
export interface Bounds {
  readonly maxMembers: number
  /** The characters of all names and texts in the members, and a few for each value. */
  readonly maxCharacters: number
  /** The time to read all pages. */
  readonly listTimeout: Duration.Input
}

/** The part of a list that was read. */
export interface Reading<A> {
  readonly members: ReadonlyArray<A>
  /** The reason why further members are missing, if some are. */
  readonly problem: string | undefined
}

/** Returns about the length of the value as JSON. `JSON.stringify` would fail for a value that is nested deeply. */
const charactersOf = (value: unknown): number => {
  const pending = [value]
  let characters = 0
  while (pending.length > 0) {
    const one = pending.pop()
    if (typeof one === "string") characters += one.length + 2
    else if (Array.isArray(one)) {
      characters += one.length + 2
      for (const item of one) pending.push(item)
    } else if (typeof one === "object" && one !== null) {
      characters += 2
      for (const [name, member] of Object.entries(one)) {
        characters += name.length + 4
        pending.push(member)
      }
    } else characters += 4
  }
  return characters
}

/**
 * Reads a list up to its bounds. The members that arrived until then are returned with the `problem`, and so are those
 * of a server that breaks the rules of pages later. Fails with an error of the first page, and with a rejected cursor.
 */
export const read = <A>(
  members: Stream.Stream<A, RequestError.RequestError>,
  { listTimeout, maxCharacters, maxMembers }: Bounds
): Effect.Effect<Reading<A>, RequestError.RequestError> =>
  Effect.suspend(() => {
    const items: Array<A> = []
    let characters = 0
    let problem: string | undefined
    return Stream.runForEachWhile(members, (item) =>
      Effect.sync(() => {
        characters += charactersOf(item)
        if (items.length >= maxMembers) problem = `it has more than ${maxMembers} members; set maxMembers to read more`
        if (characters > maxCharacters) {
          problem = `it has more than ${maxCharacters} characters; set maxCharacters to read more`
        }
        if (problem !== undefined) return false
        items.push(item)
        return true
      })).pipe(
        Effect.catchIf(
          ({ reason }) => reason._tag === "InvalidResult" && items.length > 0,
          ({ message }) => Effect.sync(() => void (problem = message))
        ),
        Effect.timeoutOption(listTimeout),
        Effect.map((finished): Reading<A> => ({
          members: items,
          problem: Option.isNone(finished) ? "it did not end in time; set listTimeout to allow more" : problem
        }))
      )
  })
