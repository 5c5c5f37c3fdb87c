import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { taskAttacks } from "../src/hostile/applications/taskAttacks.ts"
import * as ClientTrials from "../src/hostile/clientTrials.ts"
import * as ProxyTrials from "../src/hostile/proxyTrials.ts"
import * as ServerTrials from "../src/hostile/serverTrials.ts"
import { problemOf, type Trial } from "../src/hostile/Trial.ts"
import * as VictimLog from "../src/hostile/VictimLog.ts"
import { none } from "../src/hostile/Vitals.ts"

const options = { seconds: 1, heapMebibytes: 512 }

/** Asserts that the victim kept running and served its bystander. `pnpm hostile` measures the times, not this test. */
const assertUnharmed = ({ exit, vitals }: Trial) => {
  assert.isUndefined(exit)
  assert.deepStrictEqual([vitals.failed, vitals.lastFailure], [0, undefined])
  assert.isAbove(vitals.served, 0)
}

/** The time of one trial on a busy machine: it starts two or three processes, and prepares its attack. */
const timeout = 120_000

describe("a hostile peer", { timeout }, () => {
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
      const trial = yield* ServerTrials.run("http-stateless", "calls that ask, and are never repeated", options)
      assertUnharmed(trial)
      assert.isAbove(trial.newClients?.served ?? 0, 0)
    }))

  it.live("that asks in each round, with a long state: the client keeps running and its other sessions work", () =>
    Effect.gen(function*() {
      assertUnharmed(yield* ClientTrials.run("unix", "rounds of 200 questions with states of 1 MB", options))
    }))

  it.live(
    "that runs tasks as ten principals: the server keeps running and serves other clients",
    () =>
      Effect.gen(function*() {
        const attack = "running tasks of ten principals with 290 KB of nested arrays (2026-07-28)"
        const trial = yield* ServerTrials.run("http-application", attack, options)
        assertUnharmed(trial)
        assert.isAbove(trial.newClients?.served ?? 0, 0)
      })
  )

  it.live(
    "that opens many sessions of a gateway: the proxied server serves other principals",
    () =>
      Effect.gen(function*() {
        const trial = yield* ServerTrials.run("http-gateway", "as many sessions of one principal as possible", {
          ...options,
          seconds: 5
        })
        assertUnharmed(trial)
        assert.strictEqual(trial.newClients?.failed, 0)
      })
  )

  it.live(
    "that a gateway proxies, and that answers no request: the gateway's log has few and short lines",
    () =>
      Effect.gen(function*() {
        const attack = "responses to no request, with ids of 1 MB of lines and escapes"
        const trial = yield* ProxyTrials.run("stdio", attack, { ...options, seconds: 5 })
        assertUnharmed(trial)
        assert.isFalse(trial.log.isForged)
        assert.isAbove(trial.log.bytes, 0)
        assert.isBelow(trial.log.bytes, 100_000)
      })
  )

  it("attacks tasks in both eras", () => {
    const eras = Object.keys(taskAttacks).map((name) => /\((.*)\)$/.exec(name)?.[1])
    assert.deepStrictEqual(new Set(eras), new Set(["2025-11-25", "2026-07-28"]))
  })
})

describe("a trial reports", () => {
  const trial: Trial = {
    side: "server",
    transport: "http",
    attack: "x",
    vitals: { ...none, served: 10 },
    exit: undefined,
    log: VictimLog.none(),
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
      ["a long log", { log: { bytes: 1024 * 1024 + 1, isForged: false } }],
      ["a log with a line of a peer", { log: { bytes: 100, isForged: true } }],
      ["a blocked event loop", { vitals: { ...none, served: 10, loopMillis: 3001 } }],
      ["a delay longer than that of small requests", {
        longestDelay: 1000,
        vitals: { ...none, served: 10, loopMillis: 1001 }
      }]
    ] as const
  ) {
    it(name, () => assert.isDefined(problemOf({ ...trial, ...change })))
  }
})
