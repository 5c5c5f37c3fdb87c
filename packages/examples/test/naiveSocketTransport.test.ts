/** The transport with three mistakes, and the laws that find them (`naiveSocketTransport.ts`). */
import { type TransportLaw, TransportLaws } from "@effect-mcp/testing/laws"
import { assert, it } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as NaiveSocketTransport from "../src/naiveSocketTransport.ts"
import { subject } from "./support/socketSubject.ts"

/** The laws that each mistake breaks. */
const brokenLaws = {
  "it parses each chunk as whole lines": [
    "[MSG-02] a megabyte of every kind of character is carried unchanged",
    "[STD-02] law 7: lines that are not JSON affect only themselves, in the same chunk as messages",
    "[TRN-01] [STD-02] law 7: messages in any chunks arrive completely and in order",
    "[TRN-01] [STD-02] a message may arrive byte by byte",
    "[STD-02] laws 7 and 12: a line of more than 4194304 bytes costs only itself"
  ],
  "it handles only a normal end": [
    "[INIT-16] law 1: if it breaks before the first message, the handshake fails with a reason",
    "[INIT-16] law 1: if it breaks during the handshake, the handshake fails or the session ends",
    "law 1: with nothing in flight the session ends, and later calls fail with its close reason",
    "law 1: every call in flight ends once, with the close reason",
    "law 2: nothing is left of a session whose connection broke",
    "law 10: the session of another connection continues"
  ],
  "a message counts as sent at once": [
    "[CAN-01] laws 8 and 12: a request that waits for the transport is withdrawn without a message",
    "laws 1 and 12: a session with a peer that reads nothing for too long ends, and every call with its close reason"
  ]
}

/** A law that holds or not, depending on the chunks in which the system delivers its many lines. */
const lawByChance = "[PRG-03] [PRG-04] law 4: every step is delivered, in order, before the result"

/** Returns the laws that the transport breaks, or the others, within this time limit. */
const laws = (timeout: Duration.Input, areBroken: boolean): ReadonlyArray<TransportLaw.TransportLaw> =>
  TransportLaws.laws({ ...subject(NaiveSocketTransport.over), timeout }).filter(({ name }) =>
    Object.values(brokenLaws).flat().includes(name) === areBroken
  )

// Some of these laws hang. A short time limit is enough, because a broken law does not hold later either.
it.live("breaks the laws that the table lists", () =>
  Effect.gen(function*() {
    const kept = yield* Effect.forEach(
      laws("2 seconds", true),
      ({ name, run }) => Effect.map(Effect.exit(run), (exit) => Exit.isSuccess(exit) ? [name] : []),
      { concurrency: 8 }
    )
    assert.deepStrictEqual(kept.flat(), [])
    assert.sameMembers(laws("2 seconds", true).map(({ name }) => name), Object.values(brokenLaws).flat())
  }), 120_000)

for (const { name, run } of laws("Infinity", false)) {
  if (name !== lawByChance) it.live(`keeps ${name}`, () => run)
}
