/** Processes that are killed with SIGKILL at each step of an operation on files. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as path from "node:path"
import { run } from "./support/tokenStoreProcesses.ts"
import { filesIn, key, newFolder } from "./support/tokenStores.ts"

/** Runs a process that is killed at a step, and checks what it leaves. Returns whether it was killed. */
type Killing = (directory: string, step: number) => Effect.Effect<boolean, unknown>

const text = (directory: string) =>
  Effect.map(filesIn(directory).read(key), (entry) => entry && Redacted.value(entry.text))

/** Kills a process at each step, two at a time, until one reaches its end. Returns the number of steps. */
const killAtEach = (killing: Killing) =>
  Effect.gen(function*() {
    const folder = yield* newFolder
    for (let step = 1;; step += 2) {
      const killed = yield* Effect.forEach(
        [step, step + 1],
        (each) => killing(path.join(folder, `tokens-${each}`), each),
        { concurrency: 2 }
      )
      if (killed.includes(false)) return step
    }
  })

describe("a process that is killed at any step of an operation on files", () => {
  it.live("leaves the old entry or the new one, and blocks no other process", () =>
    Effect.gen(function*() {
      const left = new Set<string | undefined>()
      const steps = yield* killAtEach(Effect.fnUntraced(function*(directory, killAt) {
        const store = filesIn(directory)
        const version = yield* store.write(key, Redacted.make("old"), undefined)
        const { lines, signal } = yield* run(["files", directory, "write", "new"], { killAt })
        const stored = yield* text(directory)
        left.add(stored)
        assert.include(lines.includes("new") ? ["new"] : ["old", "new"], stored, `step ${killAt}`)
        const entry = yield* store.read(key)
        assert.strictEqual(entry?.version === version, stored === "old")
        yield* store.write(key, Redacted.make("newest"), entry?.version)
        assert.strictEqual(yield* text(directory), "newest")
        yield* store.remove(key, (yield* store.read(key))?.version ?? "")
        return signal === "SIGKILL"
      }))
      assert.isAbove(steps, 10)
      assert.deepStrictEqual(left, new Set(["old", "new"]))
    }), 300_000)

  it.live("leaves a lease that expires, or none", () =>
    Effect.gen(function*() {
      const steps = yield* killAtEach(Effect.fnUntraced(function*(directory, killAt) {
        const store = filesIn(directory)
        yield* store.acquire(key, "former", 1)
        const { signal } = yield* run(["files", directory, "lease", "300"], {
          killAt,
          onLine: (_, kill) => kill()
        })
        yield* Effect.sleep(310)
        assert.isTrue(yield* store.acquire(key, "parent", 60_000), `step ${killAt}`)
        assert.isFalse(yield* store.acquire(key, "another", 60_000), `step ${killAt}`)
        // The process that reaches its end is killed as well.
        return signal === "SIGKILL" && killAt < 16
      }))
      assert.isAbove(steps, 10)
    }), 300_000)
})
