/**
 * The laws of every `TokenStore`. Each law is an effect, which any test runner can run. `TokenStoreSuite.suite` of the
 * entry `/vitest` makes a Vitest test of each.
 *
 * @stability unstable
 */
import type { TokenStore } from "@effect-mcp/auth"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as assert from "node:assert/strict"
import { inspect } from "node:util"
import { oneOf } from "../internal/arbitrary/generators.ts"
import { likeIds, newId, oddIds } from "../internal/laws/ids.ts"
import { holdsFor, lawOf } from "../internal/laws/Law.ts"
import type { Options, StoreLaw } from "./StoreLaw.ts"

type Store = TokenStore.TokenStore["Service"]
type Key = TokenStore.Key

/** The time after which a caller gives an operation up. */
const operationTimeout = "5 seconds"

/** A lease that no law outlives, in milliseconds. */
const longLease = 60_000

/** A lease that ends within a law, in milliseconds. */
const shortLease = 200

const tokensOf = (account: string): Key => ({
  _tag: "Tokens",
  issuer: "https://as.example",
  resource: "https://notes.example/mcp",
  client: "client",
  account
})

const registrationOf = (account: string): Key => ({ _tag: "Registration", issuer: "https://as.example", account })

/** Returns the text of a key. A store may list the members of a key in any order. */
const textOf = (key: Key): string =>
  JSON.stringify(Object.entries(key).toSorted(([one], [other]) => one < other ? -1 : 1))

/** Returns a key that no store has seen. */
const newKey: Effect.Effect<Key> = Effect.map(newId, tokensOf)

/** Keys that some stores may confuse: each part like that of another key, or moved to another part. */
const likeKeys: Effect.Effect<ReadonlyArray<Key>> = Effect.map(likeIds, (ids) => {
  const [id = "", ...others] = ids
  const key = { _tag: "Tokens", issuer: id, resource: id, client: id, account: id } as const
  const moved: ReadonlyArray<Key> = [
    { ...key, issuer: `${id}${id}`, resource: "" },
    { ...key, issuer: "", resource: `${id}${id}` },
    { ...key, client: `${id}","${id}`, account: "" },
    { ...key, client: id, account: `${id}","` },
    { ...key, account: "" },
    { _tag: "Registration", issuer: id, account: id },
    { _tag: "Registration", issuer: id, account: "" }
  ]
  return [
    key,
    ...others.flatMap((part, index): ReadonlyArray<Key> => [
      index % 2 === 0 ? { ...key, issuer: part } : { ...key, resource: part },
      index % 2 === 0 ? { ...key, client: part } : { ...key, account: part }
    ]),
    ...moved
  ]
})

const reveal = (entry: TokenStore.Entry | undefined) =>
  entry && { text: Redacted.value(entry.text), version: entry.version }

/** Returns whether an operation succeeded, or the kind of its error. */
const outcomeOf = <A>(operation: Effect.Effect<A, TokenStore.TokenStoreError>) =>
  Effect.map(Effect.result(operation), (result) => Result.isSuccess(result) ? "Done" : result.failure.reason._tag)

/** One of three. */
const one = Schema.Literals([0, 1, 2])

const Command = Schema.Union([
  Schema.TaggedStruct("Write", { key: one, expects: Schema.Literals(["none", "stored", "earlier"]) }),
  Schema.TaggedStruct("Remove", { key: one, expects: Schema.Literals(["stored", "earlier"]) }),
  Schema.TaggedStruct("Read", { key: one })
])

const commands = Arbitrary.array(Arbitrary.schema(Command), { maxLength: 40 })

/** The entry that is stored under a key, and the version before it. */
interface Remembered {
  readonly entry: { readonly text: string; readonly version: string } | undefined
  readonly earlier: string
}

const perform = Effect.fnUntraced(function*(
  store: Store,
  model: Map<Key, Remembered>,
  key: Key,
  command: typeof Command.Type,
  text: string
) {
  const { earlier, entry } = model.get(key) ?? { entry: undefined, earlier: "of no entry" }
  const expected = command._tag === "Read" || command.expects === "none"
    ? undefined
    : command.expects === "earlier"
    ? earlier
    : entry?.version ?? earlier
  switch (command._tag) {
    case "Write": {
      const written = yield* Effect.result(store.write(key, Redacted.make(text), expected))
      if (expected !== entry?.version) {
        assert.ok(Result.isFailure(written) && written.failure.reason._tag === "Conflict", "another version is written")
        break
      }
      const version = Result.getOrThrow(written)
      assert.notStrictEqual(version, entry?.version)
      assert.notStrictEqual(version, earlier)
      model.set(key, { entry: { text, version }, earlier: entry?.version ?? earlier })
      break
    }
    case "Remove": {
      const isRemoved = entry === undefined || entry.version === expected
      assert.strictEqual(yield* outcomeOf(store.remove(key, expected ?? "")), isRemoved ? "Done" : "Conflict")
      if (isRemoved) model.set(key, { entry: undefined, earlier: entry?.version ?? earlier })
    }
  }
  assert.deepStrictEqual(reveal(yield* store.read(key)), model.get(key)?.entry)
})

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

const anyText = oneOf("", "{}", "é漢🙂", "'\"\\\n", "undefined", "x".repeat(70_000))

/**
 * Returns the laws for a store. Each law uses a store of its own, which ends with it, and keys that did not exist
 * before. A store must have room for 200 entries, and must keep its leases for a minute.
 *
 * `make` may return a store whose operations run over several connections or processes, by turns.
 *
 * @example
 * ```ts
 * import { TokenStore } from "@effect-mcp/auth"
 * import { TokenStoreLaws } from "@effect-mcp/testing/laws"
 * import * as Effect from "effect/Effect"
 *
 * const laws = TokenStoreLaws.laws(TokenStore.makeMemory(), { runs: 10 })
 * export const kept = Effect.as(Effect.forEach(laws, ({ run }) => run), true) // => true
 * ```
 *
 * @category laws
 */
export const laws = (
  make: Effect.Effect<Store, unknown, Scope.Scope>,
  { runs = 100 }: Options = {}
): ReadonlyArray<StoreLaw> => {
  const law = lawOf(make)
  return [
    law("after any operations, a read returns the entry that was written last and not removed", function*(store) {
      yield* holdsFor(
        commands,
        Effect.fnUntraced(function*(commands) {
          const keys = yield* Effect.all([newKey, newKey, Effect.map(newId, registrationOf)])
          const model = new Map<Key, Remembered>()
          for (const [index, command] of commands.entries()) {
            yield* perform(store, model, keys[command.key], command, `text ${index}`)
          }
          for (const key of one.literals) yield* perform(store, model, keys[key], { _tag: "Read", key }, "")
        }),
        runs
      )
    }),

    law("a text is read unchanged, whatever it is", function*(store) {
      yield* holdsFor(
        anyText,
        Effect.fnUntraced(function*(text) {
          const key = yield* newKey
          const version = yield* store.write(key, Redacted.make(text), undefined)
          assert.deepStrictEqual(reveal(yield* store.read(key)), { text, version })
        }),
        runs
      )
    }),

    law("an entry that was not written does not exist, whatever its key", function*(store) {
      for (const id of [...oddIds, ...yield* likeIds]) {
        assert.strictEqual(yield* store.read(tokensOf(id)), undefined, id)
        assert.strictEqual(yield* store.read(registrationOf(id)), undefined, id)
        yield* store.remove(tokensOf(id), "1")
        yield* store.release(tokensOf(id), "owner")
      }
    }),

    law("[AUT-19] entries with similar keys are separate, and so are their leases", function*(store) {
      const keys = yield* likeKeys
      const versions = yield* Effect.forEach(
        keys,
        (key, index) => store.write(key, Redacted.make(`text ${index}`), undefined)
      )
      for (const [index, key] of keys.entries()) {
        assert.deepStrictEqual(reveal(yield* store.read(key)), { text: `text ${index}`, version: versions[index] })
        assert.ok(yield* store.acquire(key, `owner ${index}`, longLease), `no lease of ${inspect(key)}`)
      }
      for (const [index, key] of keys.entries()) {
        yield* store.remove(key, versions[index] ?? "")
        yield* store.release(key, `owner ${index}`)
        const next = keys[index + 1]
        if (next === undefined) continue
        assert.notStrictEqual(yield* store.read(next), undefined)
        assert.ok(!(yield* store.acquire(next, "another", longLease)), "the lease of another key is released")
      }
    }),

    law("the keys of all entries are listed once, and those of removed entries are not", function*(store) {
      const keys = yield* likeKeys
      const isOurs = new Set(keys.map(textOf))
      const listed = Effect.map(store.keys, (all) => all.map(textOf).filter((key) => isOurs.has(key)))
      assert.deepStrictEqual(yield* listed, [])
      const written = yield* Effect.forEach(keys, (key) => store.write(key, Redacted.make("first"), undefined))
      const versions = yield* Effect.forEach(
        keys,
        (key, index) => store.write(key, Redacted.make("second"), written[index])
      )
      assert.deepStrictEqual((yield* listed).toSorted(), Array.from(isOurs).toSorted())
      for (const [index, key] of keys.entries()) yield* store.remove(key, versions[index] ?? "")
      assert.deepStrictEqual(yield* listed, [])
    }),

    law("a write that expects another version fails with Conflict, and changes nothing", function*(store) {
      const key = yield* newKey
      const write = (text: string, expected: string | undefined) => store.write(key, Redacted.make(text), expected)
      assert.strictEqual(yield* outcomeOf(write("a", "1")), "Conflict")
      assert.strictEqual(yield* store.read(key), undefined)
      const first = yield* write("a", undefined)
      const second = yield* write("b", first)
      for (const expected of [undefined, first, "", `${second} `, "0"]) {
        assert.strictEqual(yield* outcomeOf(write("c", expected)), "Conflict", String(expected))
        assert.deepStrictEqual(reveal(yield* store.read(key)), { text: "b", version: second })
      }
    }),

    law("a removal that expects another version fails with Conflict, and changes nothing", function*(store) {
      const key = yield* newKey
      const first = yield* store.write(key, Redacted.make("a"), undefined)
      const second = yield* store.write(key, Redacted.make("b"), first)
      for (const expected of [first, "", "0"]) {
        assert.strictEqual(yield* outcomeOf(store.remove(key, expected)), "Conflict", expected)
        assert.deepStrictEqual(reveal(yield* store.read(key)), { text: "b", version: second })
      }
      yield* store.remove(key, second)
      assert.strictEqual(yield* store.read(key), undefined)
      yield* store.remove(key, second)
    }),

    law("no version comes twice, also after a removal and for the same text", function*(store) {
      const key = yield* newKey
      const versions = new Set<string>()
      for (const _ of numbers(5)) {
        const first = yield* store.write(key, Redacted.make("a"), undefined)
        const second = yield* store.write(key, Redacted.make("a"), first)
        versions.add(first).add(second)
        yield* store.remove(key, second)
        assert.strictEqual(yield* outcomeOf(store.write(key, Redacted.make("late"), second)), "Conflict")
      }
      assert.strictEqual(versions.size, 10)
    }),

    law("of writes that expect one version at the same time, one is stored completely", function*(store) {
      const key = yield* newKey
      let expected: string | undefined = undefined
      for (const round of numbers(10)) {
        const texts = numbers(10).map((index) => `${round} ${index} `.repeat(1000))
        const exits: ReadonlyArray<Exit.Exit<string, TokenStore.TokenStoreError>> = yield* Effect.forEach(
          texts,
          (text) => Effect.exit(Effect.suspend(() => store.write(key, Redacted.make(text), expected))),
          { concurrency: "unbounded" }
        )
        const written = texts.flatMap((text, index) => {
          const exit = exits[index]
          return exit !== undefined && Exit.isSuccess(exit) ? [{ text, version: exit.value }] : []
        })
        assert.strictEqual(written.length, 1, `${written.length} writes of one version succeeded`)
        assert.deepStrictEqual(reveal(yield* store.read(key)), written[0])
        expected = written[0]?.version
      }
    }),

    law("of a write and a removal at the same time, one succeeds", function*(store) {
      for (const round of numbers(10)) {
        const key = yield* newKey
        const version = yield* store.write(key, Redacted.make("a"), undefined)
        const write = Effect.suspend(() => Effect.asVoid(store.write(key, Redacted.make("b"), version)))
        const remove = Effect.suspend(() => store.remove(key, version))
        const both = round % 2 === 0 ? [write, remove] : [remove, write]
        const outcomes = yield* Effect.forEach(both, outcomeOf, { concurrency: "unbounded" })
        assert.deepStrictEqual(outcomes.toSorted(), ["Conflict", "Done"])
        const isWritten = outcomes[both.indexOf(write)] === "Done"
        assert.strictEqual(reveal(yield* store.read(key))?.text, isWritten ? "b" : undefined)
      }
    }),

    law("a lease has one owner, who prolongs it, until the owner releases it", function*(store) {
      const key = yield* newKey
      assert.ok(yield* store.acquire(key, "first", longLease))
      assert.ok(yield* store.acquire(key, "first", longLease), "the owner cannot prolong the lease")
      assert.ok(!(yield* store.acquire(key, "second", longLease)), "two owners have the lease")
      yield* store.release(key, "second")
      assert.ok(!(yield* store.acquire(key, "second", longLease)), "another owner has released the lease")
      yield* store.release(key, "first")
      assert.ok(yield* store.acquire(key, "second", longLease), "a released lease cannot be acquired")
      assert.ok(!(yield* store.acquire(key, "first", longLease)))
      yield* store.release(key, "second")
      yield* store.release(key, "second")
    }),

    law("of owners that acquire a lease at the same time, one has it", function*(store) {
      for (const _ of numbers(10)) {
        const key = yield* newKey
        const acquired = yield* Effect.forEach(
          numbers(10),
          (owner) => Effect.suspend(() => store.acquire(key, `owner ${owner}`, longLease)),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(acquired.filter((has) => has).length, 1)
      }
    }),

    law("a lease expires, and is then as good as none for its owner", function*(store) {
      const key = yield* newKey
      assert.ok(yield* store.acquire(key, "first", shortLease))
      assert.ok(!(yield* store.acquire(key, "second", longLease)), "the lease expires at once")
      yield* Effect.sleep(shortLease + 20)
      assert.ok(yield* store.acquire(key, "second", longLease), "the lease does not expire")
      assert.ok(!(yield* store.acquire(key, "first", longLease)), "the former owner prolongs the lease")
      yield* store.release(key, "first")
      assert.ok(!(yield* store.acquire(key, "third", longLease)), "the former owner releases the lease")
    }),

    law("a lease that is prolonged does not expire at its first time", function*(store) {
      const key = yield* newKey
      assert.ok(yield* store.acquire(key, "first", shortLease))
      assert.ok(yield* store.acquire(key, "first", longLease))
      yield* Effect.sleep(shortLease + 20)
      assert.ok(!(yield* store.acquire(key, "second", longLease)), "the lease has expired")
    }),

    law("a lease and its entry do not affect each other", function*(store) {
      const key = yield* newKey
      assert.ok(yield* store.acquire(key, "first", longLease))
      assert.strictEqual(yield* store.read(key), undefined)
      assert.ok(!(yield* store.keys).some((each) => JSON.stringify(each) === JSON.stringify(key)))
      const first = yield* store.write(key, Redacted.make("a"), undefined)
      const second = yield* store.write(key, Redacted.make("b"), first)
      yield* store.remove(key, second)
      assert.ok(!(yield* store.acquire(key, "second", longLease)), "the removal has released the lease")
      const third = yield* store.write(key, Redacted.make("c"), undefined)
      yield* store.release(key, "first")
      assert.deepStrictEqual(reveal(yield* store.read(key)), { text: "c", version: third })
    }),

    law("an interrupted operation blocks no other, and is completed or has no effect", function*(store) {
      for (const turns of numbers(5)) {
        const operations = [
          (key: Key, version: string) => store.write(key, Redacted.make("second"), version),
          (key: Key, version: string) => store.remove(key, version),
          (key: Key) => store.read(key),
          (key: Key) => store.acquire(key, "interrupted", 1),
          () => store.keys
        ]
        for (const operation of operations) {
          const key = yield* newKey
          const version = yield* store.write(key, Redacted.make("first"), undefined)
          const fiber = yield* Effect.forkChild(
            Effect.suspend<unknown, TokenStore.TokenStoreError, never>(() => operation(key, version)),
            { startImmediately: true }
          )
          for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow
          yield* Fiber.interrupt(fiber)
          const after = yield* Effect.timeoutOption(
            Effect.gen(function*() {
              const entry = yield* store.read(key)
              // The write may complete now.
              yield* outcomeOf(store.write(key, Redacted.make("third"), entry?.version))
              return [entry, yield* store.read(key)]
            }),
            operationTimeout
          )
          assert.ok(Option.isSome(after), `the store is blocked for ${operationTimeout} after that`)
          for (const entry of after.value) {
            const text = entry && Redacted.value(entry.text)
            assert.ok(text === undefined || ["first", "second", "third"].includes(text), `a part is stored: ${text}`)
          }
        }
      }
    }),

    law("[AUT-35] no error shows a text", function*(store) {
      const key = yield* newKey
      const secret = yield* newId
      const version = yield* store.write(key, Redacted.make(secret), undefined)
      const errors = yield* Effect.forEach(
        [
          store.write(key, Redacted.make(secret), undefined),
          store.write(key, Redacted.make(secret), `${version}-`),
          store.remove(key, `${version}-`)
        ],
        (operation) => Effect.flip(Effect.asVoid(operation))
      )
      const shown = [...errors, yield* store.read(key)].flatMap((value) => [
        inspect(value, { depth: 10, showHidden: true }),
        String(value),
        JSON.stringify(value)
      ])
      for (const text of shown) assert.ok(!text.includes(secret), "an error or an entry shows the text")
    })
  ]
}
