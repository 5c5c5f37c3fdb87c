/** The transport with three mistakes, and the laws that find them (`naiveSocketTransport.ts`). */
import { type TransportLaw, TransportLaws } from "@effect-mcp/testing/laws"
import { assert, it } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as NaiveSocketTransport from "../src/naiveSocketTransport.ts"
import { subject } from "./support/socketSubject.ts"

/** The laws that each mistake breaks in both eras, by their names without requirements and era. */
const brokenLaws = {
  "it parses each chunk as whole lines": [
    "a megabyte of every kind of character is carried unchanged",
    "law 7: lines that are not JSON affect only themselves, in the same chunk as messages",
    "law 7: messages in any chunks arrive completely and in order",
    "a message may arrive byte by byte",
    "laws 7 and 12: a line of more than 4194304 bytes costs only itself"
  ],
  "it handles only a normal end": [
    "law 1: if it breaks before the first message, opening the session fails with a reason",
    "law 1: if it breaks at the first message, opening the session fails, or the session ends",
    "law 1: with nothing in flight the session ends, and later calls fail with its close reason",
    "law 1: every call in flight ends once, with the close reason",
    "law 1: a call during whose question it breaks ends with the close reason",
    "law 2: nothing is left of a session whose connection broke",
    "law 10: the session of another connection continues"
  ],
  "a message counts as sent at once": [
    "laws 8 and 12: a request that waits for the transport is withdrawn without a message",
    "laws 1 and 12: a session with a peer that reads nothing for too long ends, and every call with its close reason"
  ]
}

/** Returns the name of a law without its requirements and its era. */
const propertyOf = ({ name }: TransportLaw.TransportLaw): string =>
  name.replaceAll(/\[[A-Z]+-\d+\] | \(2026-07-28\)$/g, "")

/** The laws that hold or not, depending on the chunks in which the system delivers their many lines. */
const lawsByChance: ReadonlySet<string> = new Set([
  "law 4: every step is delivered, in order, before the result",
  "law 8: waiting messages are sent in their order, so that no cancellation arrives before its request"
])

/** Returns the laws that the transport breaks, or the others, within this time limit. */
const laws = (timeout: Duration.Input, areBroken: boolean): ReadonlyArray<TransportLaw.TransportLaw> =>
  TransportLaws.laws({ ...subject(NaiveSocketTransport.over), timeout }).filter((law) =>
    Object.values(brokenLaws).flat().includes(propertyOf(law)) === areBroken
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
    for (const era of ["legacy", "modern"]) {
      assert.sameMembers(
        laws("2 seconds", true).filter((law) => law.era === era).map(propertyOf),
        Object.values(brokenLaws).flat()
      )
    }
  }), 120_000)

for (const law of laws("Infinity", false)) {
  if (!lawsByChance.has(propertyOf(law))) it.live(`keeps ${law.name}`, () => law.run)
}
