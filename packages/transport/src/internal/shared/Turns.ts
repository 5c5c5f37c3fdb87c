/** The turns in which input is read, so that other connections are served in between. */
import * as Effect from "effect/Effect"

/**
 * The most frames of one turn of the event loop. A frame that is not JSON takes about 10 microseconds, because
 * `JSON.parse` throws. The 32,768 of them in 64 KiB would block every other connection for a third of a second.
 */
const framesPerTurn = 256

const lineFeed = 0x0A
const carriageReturn = 0x0D

const find = (chunk: Uint8Array, byte: number, from: number): number => {
  const at = chunk.indexOf(byte, from)
  return at < 0 ? chunk.length : at
}

/** Returns a function that finds the end of each line of a chunk, and then that of the chunk. */
const lineEnds = (chunk: Uint8Array): () => number => {
  let feed = find(chunk, lineFeed, 0)
  let carriage = find(chunk, carriageReturn, 0)
  return () => {
    const end = Math.min(feed, carriage)
    if (feed === end) feed = find(chunk, lineFeed, end + 1)
    else carriage = find(chunk, carriageReturn, end + 1)
    return Math.min(end + 1, chunk.length)
  }
}

interface Cut {
  readonly turns: ReadonlyArray<ReadonlyArray<Uint8Array>>
  /** The lines that are left for the last turn. */
  readonly left: number
}

/** Cuts chunks into turns, with at most so many lines each. `leftBefore` lines are left for the first turn. */
const turnsOf = (chunks: ReadonlyArray<Uint8Array>, leftBefore: number): Cut => {
  let turn: Array<Uint8Array> = []
  const turns = [turn]
  let left = leftBefore
  const begin = () => {
    turn = []
    turns.push(turn)
    left = framesPerTurn
  }
  for (const chunk of chunks) {
    if (left <= 0) begin()
    const next = lineEnds(chunk)
    let begun = 0
    for (let end = next(); end < chunk.length; end = next()) {
      if (--left > 0) continue
      turn.push(chunk.subarray(begun, end))
      begin()
      begun = end
    }
    turn.push(begun === 0 ? chunk : chunk.subarray(begun))
    left--
  }
  return { turns, left }
}

const inTurns = <A>(turns: ReadonlyArray<ReadonlyArray<A>>, act: (item: A) => void): Effect.Effect<void> => {
  const go = (index: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      turns[index]?.forEach(act)
      return index + 1 < turns.length ? Effect.andThen(Effect.yieldNow, go(index + 1)) : Effect.void
    })
  return go(0)
}

/**
 * Creates a function that passes on bytes in which each line may end a frame, and yields between turns. It counts
 * across its calls, because several of them may be in one turn of the event loop.
 */
export const bytes = (push: (part: Uint8Array) => void): (chunks: ReadonlyArray<Uint8Array>) => Effect.Effect<void> => {
  let left = framesPerTurn
  return (chunks) =>
    Effect.suspend(() => {
      const cut = turnsOf(chunks, left)
      left = cut.left
      return inTurns(cut.turns, push)
    })
}

/**
 * Creates a function that passes on frames, and yields after each turn. It counts across its calls: a transport may
 * pass on each frame by itself, although many of them arrive in one turn of the event loop.
 *
 * `maxTurns` is the most turns for the frames of one call. A transport that cannot stop reading needs a bound, because
 * its frames would otherwise arrive faster than they are passed on.
 */
export const frames = <A>(
  take: (item: A) => void,
  maxTurns = Number.POSITIVE_INFINITY
): (items: ReadonlyArray<A>) => Effect.Effect<void> => {
  let left = framesPerTurn
  const go = (items: ReadonlyArray<A>, begin: number, perTurn: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      const end = Math.min(items.length, begin + left)
      left -= end - begin
      items.slice(begin, end).forEach(take)
      if (left > 0) return Effect.void
      left = perTurn
      return end < items.length ? Effect.andThen(Effect.yieldNow, go(items, end, perTurn)) : Effect.yieldNow
    })
  return (items) => {
    const perTurn = Math.max(framesPerTurn, Math.ceil(items.length / maxTurns))
    left = perTurn === framesPerTurn ? Math.min(left, perTurn) : perTurn
    return go(items, 0, perTurn)
  }
}
