import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ClientTrials from "../src/hostile/clientTrials.ts"
import * as ServerTrials from "../src/hostile/serverTrials.ts"
import { problemOf, type Trial } from "../src/hostile/Trial.ts"
import { none } from "../src/hostile/Vitals.ts"

const options = { seconds: 1, heapMebibytes: 512 }

/** Asserts that the victim kept running and served its bystander. `pnpm hostile` measures the times, not this test. */
const assertUnharmed = ({ exit, vitals }: Trial) => {
  assert.isUndefined(exit)
  assert.deepStrictEqual([vitals.failed, vitals.lastFailure], [0, undefined])
  assert.isAbove(vitals.served, 0)
}

describe("a hostile peer", () => {
  it.live("that sends pings with ids of 4 MB, unread: the server keeps running and serves other clients", () =>
    Effect.gen(function*() {
      const trial = yield* ServerTrials.run("unix", "pings with ids of 4 MB, unread", options)
      assertUnharmed(trial)
      assert.isAbove(trial.newClients?.served ?? 0, 0)
    }))

  it.live("that loses its sessions: the client keeps running and its other sessions work", () =>
    Effect.gen(function*() {
      assertUnharmed(yield* ClientTrials.run("http", "loses its sessions", options))
    }))

  it.live("that opens streams of changing resources, unread: the server keeps running and serves other clients", () =>
    Effect.gen(function*() {
      const trial = yield* ServerTrials.run("http", "streams of 2,000 changing resources, unread", options)
      assertUnharmed(trial)
      assert.isAbove(trial.newClients?.served ?? 0, 0)
    }))

  it.live("that never answers questions: the server keeps running and serves other clients", () =>
    Effect.gen(function*() {
      const trial = yield* ServerTrials.run("http-sessionless", "calls that ask, and are never repeated", options)
      assertUnharmed(trial)
      assert.isAbove(trial.newClients?.served ?? 0, 0)
    }))

  it.live("that asks in each round, with a long state: the client keeps running and its other sessions work", () =>
    Effect.gen(function*() {
      assertUnharmed(yield* ClientTrials.run("unix", "rounds of 200 questions with states of 1 MB", options))
    }))
})

describe("a trial reports", () => {
  const trial: Trial = {
    side: "server",
    transport: "http",
    attack: "x",
    vitals: { ...none, served: 10 },
    exit: undefined,
    newClients: undefined
  }

  it("nothing if the victim kept running and its bystanders were served", () => {
    assert.isUndefined(problemOf(trial))
  })

  for (
    const [name, change] of [
      ["a victim that exited", { exit: "SIGABRT" }],
      ["bystanders that were never served", { vitals: none }],
      ["a client over stdio whose bystander was never served", {
        side: "client",
        transport: "stdio",
        vitals: none
      }],
      ["a call that failed", { vitals: { ...none, served: 10, failed: 1 } }],
      ["a blocked event loop", { vitals: { ...none, served: 10, loopMillis: 3001 } }]
    ] as const
  ) {
    it(name, () => assert.isDefined(problemOf({ ...trial, ...change })))
  }
})
