/** Token stores of several processes, which are killed with SIGKILL. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as path from "node:path"
import { run, start } from "./support/tokenStoreProcesses.ts"
import { key, newFolder, storeAt } from "./support/tokenStores.ts"

const placeIn = (folder: string, kind: string) => path.join(folder, kind === "files" ? "tokens" : "tokens.db")

for (const kind of ["files", "sqlite"]) {
  describe(`token stores of several processes: ${kind}`, () => {
    it.live("of three processes that replace one entry, each version is written by one", () =>
      Effect.gen(function*() {
        const place = placeIn(yield* newFolder, kind)
        const times = 15
        const processes = Array.from({ length: 3 }, () => run([kind, place, "count", String(times)]))
        const ended = yield* Effect.all(processes, { concurrency: "unbounded" })
        const written = ended.flatMap(({ lines }) => lines.map(Number)).toSorted((one, other) => one - other)
        assert.deepStrictEqual(written, Array.from({ length: 3 * times }, (_, index) => index + 1))
      }))

    it.live("a process that is killed while it writes leaves a complete entry, and blocks no other", () =>
      Effect.gen(function*() {
        const place = placeIn(yield* newFolder, kind)
        const store = yield* storeAt(kind, place)
        for (const lines of [3, 8]) {
          let seen = 0
          const onLine = (_: string, kill: () => void) => {
            if (++seen === lines) kill()
          }
          const ended = yield* run([kind, place, "count", "100000"], { onLine })
          assert.strictEqual(ended.signal, "SIGKILL")
          const entry = yield* store.read(key)
          const stored = Number(entry && Redacted.value(entry.text))
          // The process may have written again before the signal arrived.
          assert.isAtLeast(stored, Number(ended.lines.at(-1)))
          yield* store.write(key, Redacted.make(String(stored + 1)), entry?.version)
        }
      }))

    it.live("the lease of a process that is killed expires, and not before", () =>
      Effect.gen(function*() {
        const place = placeIn(yield* newFolder, kind)
        const store = yield* storeAt(kind, place)
        const millis = 1500
        const kill = yield* start([kind, place, "lease", String(millis)])
        // The process prolongs the lease.
        yield* Effect.sleep(millis + 200)
        assert.isFalse(yield* store.acquire(key, "parent", millis))
        yield* kill
        assert.isFalse(yield* store.acquire(key, "parent", millis))
        yield* Effect.sleep(millis)
        assert.isTrue(yield* store.acquire(key, "parent", millis))
      }))
  })
}
