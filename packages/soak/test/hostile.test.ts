import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ClientTrials from "../src/hostile/clientTrials.ts"
import * as ServerTrials from "../src/hostile/serverTrials.ts"
import { complaint, type Trial } from "../src/hostile/Trial.ts"
import { none } from "../src/hostile/Vitals.ts"

const terms = { seconds: 1, heapMebibytes: 512 }

/** The victim lives, and its bystander was served. How fast is for the soak to measure, not for a test. */
const assertUnharmed = ({ death, vitals }: Trial) => {
  assert.isUndefined(death)
  assert.deepStrictEqual([vitals.failed, vitals.lastFailure], [0, undefined])
  assert.isAbove(vitals.served, 0)
}

describe("a hostile peer", () => {
  it.live("that pings with ids of 4 MB and reads nothing leaves a server alive and its other clients served", () =>
    Effect.gen(function*() {
      const trial = yield* ServerTrials.run("unix", "pings with ids of 4 MB, unread", terms)
      assertUnharmed(trial)
      assert.isAbove(trial.newcomers?.served ?? 0, 0)
    }))

  it.live("that forgets its sessions leaves a client alive and its other sessions served", () =>
    Effect.gen(function*() {
      assertUnharmed(yield* ClientTrials.run("http", "forgets its sessions", terms))
    }))
})

describe("a complaint is made of", () => {
  const trial: Trial = {
    side: "server",
    transport: "http",
    attack: "x",
    vitals: { ...none, served: 10 },
    death: undefined,
    newcomers: undefined
  }

  it("nothing, where the victim lives and its bystanders were served", () => {
    assert.isUndefined(complaint(trial))
  })

  for (
    const [what, change] of [
      ["a victim that died", { death: "SIGABRT" }],
      ["bystanders that were never served", { vitals: none }],
      ["a client over stdio whose other session was never served", {
        side: "client",
        transport: "stdio",
        vitals: none
      }],
      ["a call that failed", { vitals: { ...none, served: 10, failed: 1 } }],
      ["an event loop that stood still", { vitals: { ...none, served: 10, loopMillis: 3001 } }]
    ] as const
  ) {
    it(what, () => assert.isDefined(complaint({ ...trial, ...change })))
  }
})
