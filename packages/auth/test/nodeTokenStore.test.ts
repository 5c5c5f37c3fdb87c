/** Files of tokens that are damaged, readable by others, or not writable, and what is on the disk. */
import type { TokenStore } from "@effect-mcp/auth"
import * as NodeTokenStore from "@effect-mcp/auth/NodeTokenStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as fs from "node:fs"
import * as path from "node:path"
import { run, unprivileged } from "./support/tokenStoreProcesses.ts"
import { filesIn, key, newDirectory } from "./support/tokenStores.ts"

const secret = "the-secret-token"

const reasonOf = <A>(operation: Effect.Effect<A, TokenStore.TokenStoreError>) =>
  Effect.map(Effect.result(operation), (result) => Result.isFailure(result) ? result.failure.reason : undefined)

const tagOf = <A>(operation: Effect.Effect<A, TokenStore.TokenStoreError>) =>
  Effect.map(reasonOf(operation), (reason) => reason?._tag)

/** Returns all files below a directory. */
const filesBelow = (directory: string): ReadonlyArray<string> =>
  fs.readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))

const contentOf = (directory: string): string =>
  filesBelow(directory).map((file) => fs.readFileSync(file, "utf8")).join("\n")

/** Returns the file with the newest text of an entry. */
const entryFile = (directory: string): string => {
  const newest = filesBelow(directory).filter((file) => path.basename(file).startsWith("entry.")).toSorted().at(-1)
  if (newest === undefined) throw new Error("there is no entry")
  return newest
}

const modeOf = (file: string): string => (fs.statSync(file).mode & 0o777).toString(8)

/** Makes a directory with an entry. */
const written = Effect.gen(function*() {
  const directory = yield* newDirectory
  const store = filesIn(directory)
  const version = yield* store.write(key, Redacted.make(secret), undefined)
  return { directory, store, version }
})

describe("token files", () => {
  it.live("nothing is created before the first write, and the store is empty", () =>
    Effect.gen(function*() {
      const directory = yield* newDirectory
      const store = filesIn(directory)
      assert.isUndefined(yield* store.read(key))
      assert.deepStrictEqual(yield* store.keys, [])
      yield* store.remove(key, "1")
      yield* store.release(key, "owner")
      assert.isFalse(fs.existsSync(directory))
    }))

  it.live("[AUT-35] files have mode 600 and folders mode 700, whatever the umask", () =>
    Effect.gen(function*() {
      const umask = process.umask(0)
      const { directory, store } = yield* Effect.ensuring(written, Effect.sync(() => process.umask(umask)))
      yield* store.acquire(key, "owner", 1000)
      for (const file of filesBelow(directory)) assert.strictEqual(modeOf(file), "600", file)
      assert.strictEqual(modeOf(directory), "700")
      assert.strictEqual(modeOf(path.dirname(entryFile(directory))), "700")
    }))

  it.live("[AUT-35] a text is on the disk only if the program asks for no encryption", () =>
    Effect.gen(function*() {
      const { directory } = yield* written
      assert.notInclude(contentOf(directory), secret)
      const plain = yield* newDirectory
      const store = NodeTokenStore.make({ directory: plain, encryption: "none" })
      const version = yield* store.write(key, Redacted.make(secret), undefined)
      assert.include(contentOf(plain), secret)
      // A replaced text and a removed one are gone.
      const second = yield* store.write(key, Redacted.make("other"), version)
      assert.notInclude(contentOf(plain), secret)
      yield* store.remove(key, second)
      assert.notInclude(contentOf(plain), "other")
    }))

  it.live("many writes leave few files", () =>
    Effect.gen(function*() {
      const { directory, store, version } = yield* written
      // The names of replaced texts stay for a minute. These are older.
      let expected = version
      for (let count = 0; count < 20; count++) {
        expected = yield* store.write(key, Redacted.make(String(count)), expected)
        for (const file of filesBelow(directory)) fs.utimesSync(file, 1, 1)
      }
      assert.isAtMost(filesBelow(directory).length, 3)
    }))

  it.live("a writer that was suspended for long does not take the place of a newer text", () =>
    Effect.gen(function*() {
      const { directory, store, version } = yield* written
      const second = yield* store.write(key, Redacted.make("second"), version)
      const third = yield* store.write(key, Redacted.make("third"), second)
      assert.strictEqual(yield* tagOf(store.write(key, Redacted.make("late"), version)), "Conflict")
      // The names of the texts before are gone, so that the number of the second one is free again.
      for (const file of filesBelow(directory)) if (file !== entryFile(directory)) fs.rmSync(file)
      assert.strictEqual(yield* tagOf(store.write(key, Redacted.make("late"), version)), "Conflict")
      assert.strictEqual((yield* store.read(key))?.version, third)
    }))

  it.live("a damaged entry is Corrupt, and nothing overwrites it", () =>
    Effect.gen(function*() {
      const whole = yield* written
      const text = fs.readFileSync(entryFile(whole.directory), "utf8")
      const damages: ReadonlyArray<string> = [
        "",
        text.slice(0, -20),
        "{}",
        "[]",
        "null",
        `${text.slice(0, 1)}"format":1}`,
        // The first character of the ciphertext, and the last one of the nonce.
        text.replace(/\.([^."]*)"/, (_, rest: string) => `.${rest.startsWith("A") ? "B" : "A"}${rest.slice(1)}"`),
        text.replace(/(.)\.([^."]*)"/, (_, last: string, rest: string) => `${last === "A" ? "B" : "A"}.${rest}"`),
        text.replace(/"text":"[^"]*"/, "\"text\":1"),
        text.replace("aes-256-gcm-1.", ""),
        text.replace("notes.example", "other.example")
      ]
      for (const damage of damages) {
        const { directory, store, version } = yield* written
        fs.writeFileSync(entryFile(directory), damage)
        assert.strictEqual(yield* tagOf(store.read(key)), "Corrupt", damage)
        for (const expected of [undefined, version]) {
          const reason = yield* tagOf(store.write(key, Redacted.make("new"), expected))
          // Only the key of encryption can tell that the ciphertext is damaged.
          if (reason !== "Corrupt") assert.include(["Conflict", undefined], reason, damage)
          if (expected === undefined) {
            assert.isDefined(reason)
            assert.strictEqual(fs.readFileSync(entryFile(directory), "utf8"), damage)
          }
        }
      }
    }))

  it.live("an entry that cannot be read does not keep the program from the others", () =>
    Effect.gen(function*() {
      const { directory, store } = yield* written
      const damaged = entryFile(directory)
      const other: TokenStore.Key = { ...key, resource: "https://other.example/mcp" }
      yield* store.write(other, Redacted.make("other"), undefined)
      fs.writeFileSync(damaged, "{}")
      assert.deepStrictEqual(yield* store.keys, [other])
      const entry = yield* store.read(other)
      assert.strictEqual(entry && Redacted.value(entry.text), "other")
      assert.strictEqual(yield* tagOf(store.read(key)), "Corrupt")
    }))

  it.live("an entry of another key of encryption is Corrupt, unless the key is a previous one", () =>
    Effect.gen(function*() {
      const { directory } = yield* written
      const other = Redacted.make(new Uint8Array(32).fill(8))
      const wrong = NodeTokenStore.make({ directory, encryption: { key: other } })
      const reason = yield* reasonOf(wrong.read(key))
      assert.deepStrictEqual(reason, {
        _tag: "Corrupt",
        problem: "it was encrypted with another key, or is damaged"
      })
      const rotated = NodeTokenStore.make({
        directory,
        encryption: { key: other, previousKeys: [Redacted.make(new Uint8Array(32).fill(7))] }
      })
      const entry = yield* rotated.read(key)
      assert.strictEqual(entry && Redacted.value(entry.text), secret)
      yield* rotated.write(key, Redacted.make("new"), entry?.version)
      const newer = yield* wrong.read(key)
      assert.strictEqual(newer && Redacted.value(newer.text), "new")
    }))

  it.live("the text of another entry is Corrupt in the place of an entry", () =>
    Effect.gen(function*() {
      const { directory, store } = yield* written
      const other: TokenStore.Key = { ...key, resource: "https://other.example/mcp" }
      yield* store.write(other, Redacted.make("other"), undefined)
      const [one = "", two = ""] = filesBelow(directory)
      fs.copyFileSync(one, two)
      assert.strictEqual(
        (yield* Effect.forEach([key, other], (each) => tagOf(store.read(each)))).filter((tag) => tag === "Corrupt")
          .length,
        1
      )
    }))

  it.live("an entry of a newer version is Newer, and nothing overwrites it", () =>
    Effect.gen(function*() {
      for (const change of [["\"format\":1", "\"format\":2"], ["aes-256-gcm-1.", "aes-256-gcm-2."]] as const) {
        const { directory, store, version } = yield* written
        const file = entryFile(directory)
        const text = fs.readFileSync(file, "utf8").replace(change[0], change[1])
        fs.writeFileSync(file, text)
        assert.strictEqual(yield* tagOf(store.read(key)), "Newer")
        assert.isDefined(yield* tagOf(store.write(key, Redacted.make("new"), undefined)))
        assert.strictEqual(fs.readFileSync(entryFile(directory), "utf8"), text)
        if (change[0] !== "\"format\":1") continue
        assert.strictEqual(yield* tagOf(store.write(key, Redacted.make("new"), version)), "Newer")
        assert.strictEqual(yield* tagOf(store.remove(key, version)), "Newer")
        assert.deepStrictEqual(yield* store.keys, [])
        assert.strictEqual(fs.readFileSync(entryFile(directory), "utf8"), text)
      }
    }))

  it.live("a directory that other users reach is Unavailable, and gets no token", () =>
    Effect.gen(function*() {
      const { directory, store } = yield* written
      for (const mode of [0o755, 0o770, 0o701]) {
        fs.chmodSync(directory, mode)
        const operations: ReadonlyArray<Effect.Effect<unknown, TokenStore.TokenStoreError>> = [
          store.read(key),
          store.keys,
          store.write(key, Redacted.make("new"), undefined),
          store.acquire(key, "owner", 1)
        ]
        const reasons = yield* Effect.forEach(operations, reasonOf)
        for (const reason of reasons) {
          assert.strictEqual(reason?._tag, "Unavailable")
          assert.match(
            String(reason?._tag === "Unavailable" ? reason.cause : ""),
            new RegExp(`has mode ${mode.toString(8)}, .*; set mode 700`)
          )
        }
      }
    }))

  // Only the superuser can use the directory of another user, and give it away.
  it.live.skipIf(process.getuid?.() !== 0)(
    "a directory that another user owns, or a link leads to, is Unavailable, and gets no token",
    () =>
      Effect.gen(function*() {
        const { directory } = yield* written
        const link = `${directory}-link`
        fs.symlinkSync(directory, link)
        fs.chownSync(directory, 1_234, 1_234)
        for (const place of [directory, link]) {
          const store = filesIn(place)
          const operations: ReadonlyArray<Effect.Effect<unknown, TokenStore.TokenStoreError>> = [
            store.read(key),
            store.keys,
            store.write(key, Redacted.make("new"), undefined),
            store.acquire(key, "owner", 1)
          ]
          for (const reason of yield* Effect.forEach(operations, reasonOf)) {
            assert.include(String(reason?._tag === "Unavailable" ? reason.cause : ""), "belongs to the user 1234")
          }
        }
        fs.unlinkSync(link)
      })
  )

  it.live("a place that cannot be a directory, and one that cannot be written, are Unavailable", () =>
    Effect.gen(function*() {
      const { directory } = yield* written
      for (const place of [entryFile(directory), path.join(entryFile(directory), "tokens"), "/proc/tokens"]) {
        const store = filesIn(place)
        assert.strictEqual(yield* tagOf(store.write(key, Redacted.make("new"), undefined)), "Unavailable", place)
        assert.strictEqual(yield* tagOf(store.acquire(key, "owner", 1000)), "Unavailable", place)
      }
    }))

  // The superuser writes everywhere.
  it.live.skipIf(process.platform === "win32")(
    "a read-only directory can be read, and fails to be written",
    () =>
      Effect.gen(function*() {
        const { directory } = yield* written
        const folder = path.dirname(entryFile(directory))
        for (const place of [folder, directory]) fs.chmodSync(place, 0o500)
        const before = contentOf(directory)
        if (process.getuid?.() === 0) {
          for (const place of [path.dirname(directory), directory, folder, ...filesBelow(directory)]) {
            fs.chownSync(place, unprivileged, unprivileged)
          }
        }
        const { lines } = yield* run(["files", directory, "unprivileged"])
        for (const place of [directory, folder]) fs.chmodSync(place, 0o700)
        assert.deepStrictEqual(lines, [secret, "Unavailable", "Unavailable", "Unavailable"])
        assert.strictEqual(contentOf(directory), before)
      })
  )

  it("a key of encryption that is not 32 bytes long is rejected", () => {
    for (const length of [0, 16, 31, 33]) {
      const encryption = { key: Redacted.make(new Uint8Array(length)) }
      assert.throws(
        () => NodeTokenStore.make({ directory: "tokens", encryption }),
        `${length} bytes`
      )
    }
  })
})
