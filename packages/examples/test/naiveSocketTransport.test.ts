/** A transport with three mistakes, and the laws that find them out. */
import { TransportLaws } from "@effect-mcp/testing"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as NaiveSocketTransport from "../src/naiveSocketTransport.ts"
import { subject } from "./support/socketSubject.ts"

/** By mistake, the laws that do not hold because of it. */
const broken = {
  "it takes each chunk for whole lines": [
    "[MSG-02] a megabyte of every kind of character comes back as it went",
    "[STD-02] law 7: lines that are no JSON cost only themselves, in the same chunk as messages",
    "[TRN-01] [STD-02] law 7: wherever a stream of messages is cut, they come whole and in order",
    "[TRN-01] [STD-02] a message may come byte by byte",
    "[STD-02] laws 7 and 12: a line of more than 4194304 bytes costs only itself"
  ],
  "it knows one way to end": [
    "[INIT-16] law 1: before the first word there is no session, and a reason",
    "[INIT-16] law 1: amid the handshake there is no session, or one that ends",
    "law 1: with nothing in flight the session ends, and later calls have its reason",
    "law 1: every call in flight ends once, with the reason of the session's end",
    "law 2: nothing is left of a session whose connection has broken off",
    "law 10: the session of another connection goes on"
  ],
  "it says that everything has been sent": [
    "[CAN-01] laws 8 and 12: what the transport had no room for is taken back without a word",
    "laws 1 and 12: a peer that takes nothing for too long is given up, and every call ends with that reason"
  ]
}

it.live("the laws that a naive transport breaks are those, and it keeps the others", () =>
  Effect.gen(function*() {
    // What hangs is given up; nothing that works takes nearly as long.
    const laws = TransportLaws.laws({ ...subject(NaiveSocketTransport.over), patience: "10 seconds" })
    const verdicts = yield* Effect.forEach(laws, ({ name, run }) =>
      Effect.map(Effect.exit(run), (exit) => ({ name, holds: Exit.isSuccess(exit) })), { concurrency: 8 })
    const found = verdicts.filter(({ holds }) =>
      !holds
    ).map(({ name }) => name)
    assert.sameMembers(found, Object.values(broken).flat())
  }), 120_000)
