/** One direction of a simulated connection. */

import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Choices from "./Choices.ts"

/** The faults of a wire. `Faults` of the package documents them. */
export interface WireFaults {
  readonly delay: number
  readonly split: boolean
  readonly merge: boolean
  readonly duplicate: boolean
  readonly drop: boolean
  readonly truncate: boolean
  readonly reorder: boolean
}

/** An outlet for bytes: that of the one stream of a connection, or of one stream of many. */
export interface Channel {
  readonly push: (chunk: Uint8Array) => void
}

/** One direction of a connection: the data in transit, and its faults. */
export interface SimulatedWire {
  /** Sends one message. */
  readonly write: (channel: Channel, bytes: Uint8Array) => void
  /** Runs an action after everything written to this channel so far has arrived or got lost. */
  readonly afterwards: (channel: Channel, action: () => void) => void
  /** Delivers data in transit, each piece at its time. It never ends. */
  readonly run: Effect.Effect<never>
}

/** Data in transit. */
interface Item {
  readonly due: number
  readonly channel: Channel
  readonly bytes: Uint8Array | undefined
  readonly action: (() => void) | undefined
}

/** The probability of a fault. */
const often = 0.1

/** The period in milliseconds whose data arrives in one chunk, if chunks are merged. */
const gathered = 20

const newline = 0x0a

const joined = (chunks: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [only, ...others] = chunks
  if (only !== undefined && others.length === 0) return only
  const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

export const make = (faults: WireFaults, choices: Choices.Choices, clock: Clock.Clock): SimulatedWire => {
  const items: Array<Item> = []
  const arrived = Latch.makeUnsafe(false)
  const everything = {}
  const latest = new WeakMap<object, number>()

  /** Returns the arrival time of data that is sent now: after earlier data, at least on its stream. */
  const dueOn = (channel: Channel): number => {
    const stream = faults.reorder ? channel : everything
    const soonest = clock.currentTimeMillisUnsafe() + choices.below(faults.delay + 1)
    const gatheredAt = faults.merge ? Math.ceil(soonest / gathered) * gathered : soonest
    const due = Math.max(gatheredAt, latest.get(stream) ?? 0)
    latest.set(stream, due)
    return due
  }

  const put = (channel: Channel, bytes: Uint8Array | undefined, action?: () => void) => {
    const item: Item = { due: dueOn(channel), channel, bytes, action }
    const previous = items.findLastIndex(({ due }) => due <= item.due)
    items.splice(previous + 1, 0, item)
    Latch.openUnsafe(arrived)
  }

  const piecesOf = (bytes: Uint8Array): ReadonlyArray<Uint8Array> => {
    if (!faults.split) return [bytes]
    const cuts = Array.from({ length: choices.below(4) }, () => choices.below(bytes.length)).toSorted((a, b) => a - b)
    return [0, ...cuts].map((from, index) => bytes.subarray(from, cuts[index]))
  }

  const writeOnce = (channel: Channel, bytes: Uint8Array) => {
    for (const piece of piecesOf(bytes)) if (piece.length > 0) put(channel, piece)
  }

  /** Takes the data that has arrived, in order, merged into chunks. */
  const take = () => {
    const now = clock.currentTimeMillisUnsafe()
    const later = items.findIndex(({ due }) => due > now)
    const come = items.splice(0, later === -1 ? items.length : later)
    let chunks: Array<Uint8Array> = []
    come.forEach(({ action, bytes, channel }, index) => {
      if (bytes !== undefined) chunks.push(bytes)
      const next = come[index + 1]
      if (chunks.length > 0 && (next?.channel !== channel || next.bytes === undefined)) {
        channel.push(joined(chunks))
        chunks = []
      }
      action?.()
    })
  }

  return {
    write: (channel, bytes) => {
      const drop = faults.drop && choices.chance(often)
      const twice = faults.duplicate && choices.chance(often)
      const cut = faults.truncate && choices.chance(often)
      if (drop) return
      // Only bytes of the message get lost, not the boundary to the next one.
      const sent = cut ? joined([bytes.subarray(0, choices.below(bytes.length)), Uint8Array.of(newline)]) : bytes
      writeOnce(channel, sent)
      if (twice) writeOnce(channel, sent)
    },
    afterwards: (channel, action) => put(channel, undefined, action),
    run: Effect.forever(
      Effect.suspend(() => {
        const [first] = items
        if (first === undefined) {
          Latch.closeUnsafe(arrived)
          return Latch.await(arrived)
        }
        const wait = first.due - clock.currentTimeMillisUnsafe()
        // A wait of less than the precision of the clock would never end.
        return wait > 0 ? Effect.sleep(Math.ceil(wait)) : Effect.sync(take)
      }),
      { disableYield: true }
    )
  }
}
