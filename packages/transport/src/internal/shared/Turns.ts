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

/** Cuts chunks into turns, with at most so many lines each. */
const turnsOf = (chunks: ReadonlyArray<Uint8Array>): ReadonlyArray<ReadonlyArray<Uint8Array>> => {
  let turn: Array<Uint8Array> = []
  const turns = [turn]
  let left = framesPerTurn
  for (const chunk of chunks) {
    const next = lineEnds(chunk)
    let begun = 0
    for (let end = next(); end < chunk.length; end = next()) {
      if (--left > 0) continue
      turn.push(chunk.subarray(begun, end))
      turn = []
      turns.push(turn)
      begun = end
      left = framesPerTurn
    }
    turn.push(begun === 0 ? chunk : chunk.subarray(begun))
    left--
  }
  return turns
}

const inTurns = <A>(turns: ReadonlyArray<ReadonlyArray<A>>, act: (item: A) => void): Effect.Effect<void> => {
  const go = (index: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      turns[index]?.forEach(act)
      return index + 1 < turns.length ? Effect.andThen(Effect.yieldNow, go(index + 1)) : Effect.void
    })
  return go(0)
}

/** Passes on bytes in which each line may end a frame, and yields between turns. */
export const bytes = (
  chunks: ReadonlyArray<Uint8Array>,
  push: (part: Uint8Array) => void
): Effect.Effect<void> => Effect.suspend(() => inTurns(turnsOf(chunks), push))

/** Passes on frames, and yields between turns. */
export const frames = <A>(items: ReadonlyArray<A>, take: (item: A) => void): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (items.length <= framesPerTurn) return inTurns([items], take)
    const count = Math.ceil(items.length / framesPerTurn)
    return inTurns(
      Array.from({ length: count }, (_, turn) => items.slice(turn * framesPerTurn, (turn + 1) * framesPerTurn)),
      take
    )
  })
