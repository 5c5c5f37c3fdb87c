/**
 * The laws of every `SessionStore`. Each law is an effect, which any test runner can run. `SessionStoreSuite.suite` of
 * the entry `/vitest` makes a Vitest test of each.
 *
 * @stability unstable
 */
import { JsonRpc, Revision } from "@effect-mcp/protocol"
import type { SessionStore } from "@effect-mcp/session"
import * as Arbitrary from "effect/Arbitrary"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as assert from "node:assert/strict"
import * as ValidMessages from "../arbitrary/ValidMessages.ts"
import { oneOf } from "../internal/arbitrary/generators.ts"
import { likeIds, newId, oddIds } from "../internal/laws/ids.ts"
import { holdsFor, lawOf } from "../internal/laws/Law.ts"
import type { Options, StoreLaw } from "./StoreLaw.ts"

type Store = SessionStore.SessionStore["Service"]
type StoredSession = SessionStore.StoredSession

/** The greatest delay of the stored time of last use, in milliseconds. */
const lag = 60_000

/** The time limit of a host for one operation, after which the host interrupts it. */
const operationTimeout = "5 seconds"

const initialize = (mark: number): JsonRpc.Request =>
  JsonRpc.request(0, "initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "law-client", version: String(mark) }
  })

/** Returns a session that was opened now. The mark distinguishes it from others. */
const sessionOf = (id: string, mark = 0): Effect.Effect<StoredSession> =>
  Effect.map(Clock.currentTimeMillis, (now) => ({
    id,
    principal: `principal ${mark}`,
    handshakeMessages: [initialize(mark)],
    openedAt: now + mark,
    usedAt: now + mark,
    epoch: 1
  }))

/** Returns the part of a session that JSON preserves, without the time of last use. */
const essence = (session: StoredSession): unknown => ({
  id: session.id,
  principal: session.principal,
  handshakeMessages: JSON.parse(JSON.stringify(session.handshakeMessages)),
  openedAt: session.openedAt
})

const whole = (session: StoredSession | undefined): unknown =>
  session && { session: essence(session), usedAt: session.usedAt }

/**
 * Checks that a loaded session equals the saved one, and that its time of last use is right, except for the permitted
 * delay.
 */
const agree = (loaded: StoredSession | undefined, saved: StoredSession | undefined, usedAt: number): void => {
  assert.deepStrictEqual(loaded && essence(loaded), saved && essence(saved))
  if (loaded === undefined || saved === undefined) return
  const from = Math.max(saved.usedAt, usedAt - lag)
  assert.ok(
    from <= loaded.usedAt && loaded.usedAt <= usedAt,
    `last used at ${loaded.usedAt}, which should be from ${from} to ${usedAt}`
  )
}

const any = Arbitrary.all({
  principal: oneOf(undefined, "", "undefined", "null", "a b", "é漢🙂", "'\"\\", "x".repeat(300)),
  handshakeMessages: Arbitrary.flatMap(oneOf(...Revision.legacy), (revision) =>
    Arbitrary.all([
      ValidMessages.request("initialize", revision),
      ValidMessages.notification("notifications/initialized", revision)
    ])),
  isReady: oneOf(true, false)
})

/** One of three. */
const one = Schema.Literals([0, 1, 2])

const Command = Schema.Union([
  Schema.TaggedStruct("Save", { session: one, mark: Schema.Literals([0, 1, 100_000, 200_000]) }),
  Schema.TaggedStruct("Load", { session: one }),
  Schema.TaggedStruct("Touch", { session: one, after: Schema.Literals([0, 1, 30_000, 100_000, 3_600_000, -100_000]) }),
  Schema.TaggedStruct("Remove", { session: one })
])

const commands = Arbitrary.array(Arbitrary.schema(Command), { maxLength: 40 })

/** The session that is stored under an id, and its latest reported use. */
interface Remembered {
  readonly session: StoredSession
  readonly usedAt: number
}

const perform = Effect.fnUntraced(function*(
  store: Store,
  model: Map<string, Remembered>,
  id: string,
  command: typeof Command.Type
) {
  const known = model.get(id)
  switch (command._tag) {
    case "Save": {
      const session = yield* sessionOf(id, command.mark)
      yield* store.create(session)
      model.set(id, { session, usedAt: session.usedAt })
      break
    }
    case "Touch": {
      const usedAt = (yield* Clock.currentTimeMillis) + command.after
      yield* store.touch(id, 1, usedAt)
      if (known !== undefined) model.set(id, { ...known, usedAt: Math.max(known.usedAt, usedAt) })
      break
    }
    case "Remove":
      yield* store.remove(id, 1)
      model.delete(id)
  }
  const expected = model.get(id)
  agree(yield* store.load(id), expected?.session, expected?.usedAt ?? 0)
})

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

/**
 * Returns the laws for a store. Each law uses a store of its own, which ends with it, and sessions that did not exist
 * before. A store must have room for 100 sessions, and must keep an unused one for some seconds.
 *
 * @example
 * ```ts
 * import { SessionStore } from "@effect-mcp/session"
 * import { SessionStoreLaws } from "@effect-mcp/testing/laws"
 * import * as Clock from "effect/Clock"
 * import * as Effect from "effect/Effect"
 *
 * const laws = SessionStoreLaws.laws(SessionStore.makeMemory(), { runs: 10 })
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
    law("after any operations, a load returns the session that was saved last and not removed", function*(store) {
      yield* holdsFor(
        commands,
        Effect.fnUntraced(function*(commands) {
          const ids = yield* Effect.all([newId, newId, newId])
          const model = new Map<string, Remembered>()
          for (const command of commands) yield* perform(store, model, ids[command.session], command)
          for (const session of one.literals) yield* perform(store, model, ids[session], { _tag: "Load", session })
        }),
        runs
      )
    }),

    law("a session is loaded unchanged, whatever its handshake messages", function*(store) {
      yield* holdsFor(
        any,
        Effect.fnUntraced(function*({ isReady, handshakeMessages, principal }) {
          const id = yield* newId
          const now = yield* Clock.currentTimeMillis
          const session: StoredSession = {
            id,
            principal,
            handshakeMessages: isReady ? handshakeMessages : handshakeMessages.slice(0, 1),
            openedAt: now - 1,
            usedAt: now,
            epoch: 1
          }
          yield* store.create(session)
          assert.deepStrictEqual(whole(yield* store.load(id)), whole(session))
        }),
        runs
      )
    }),

    law("a session that was not saved is unknown, whatever its id", function*(store) {
      for (const id of [...oddIds, ...yield* likeIds]) assert.strictEqual(yield* store.load(id), undefined, id)
    }),

    law("sessions with similar ids are separate", function*(store) {
      const sessions = yield* Effect.forEach(yield* likeIds, sessionOf)
      for (const session of sessions) yield* store.create(session)
      for (const session of sessions) assert.deepStrictEqual(whole(yield* store.load(session.id)), whole(session))
      for (const [index, { id, usedAt }] of sessions.entries()) {
        yield* store.touch(id, 1, usedAt + 10 * lag)
        yield* store.remove(id, 1)
        for (const other of sessions.slice(index + 1)) {
          assert.deepStrictEqual(whole(yield* store.load(other.id)), whole(other))
        }
      }
    }),

    law("a session that is saved again replaces the stored one, its time of last use included", function*(store) {
      const id = yield* newId
      const first = yield* sessionOf(id, 1_000_000)
      const second = { ...yield* sessionOf(id, 1), principal: undefined }
      yield* store.create(first)
      yield* store.touch(id, 1, first.usedAt + 10 * lag)
      yield* store.create(second)
      assert.deepStrictEqual(whole(yield* store.load(id)), whole(second))
    }),

    law("a use is stored, at most a minute late, and changes nothing else", function*(store) {
      const session = yield* sessionOf(yield* newId)
      yield* store.create(session)
      for (const minutes of [1, 5, 5, 60]) {
        const usedAt = session.usedAt + minutes * 60_000
        yield* store.touch(session.id, 1, usedAt)
        agree(yield* store.load(session.id), session, usedAt)
      }
    }),

    law("a use that is reported late does not set the time back", function*(store) {
      const session = yield* sessionOf(yield* newId)
      yield* store.create(session)
      for (const minutes of [60, 30, -60]) yield* store.touch(session.id, 1, session.usedAt + minutes * 60_000)
      agree(yield* store.load(session.id), session, session.usedAt + 60 * 60_000)
    }),

    law("touching or removing an unknown session does nothing", function*(store) {
      const id = yield* newId
      const now = yield* Clock.currentTimeMillis
      yield* store.touch(id, 1, now)
      assert.strictEqual(yield* store.load(id), undefined)
      yield* store.remove(id, 1)
      assert.strictEqual(yield* store.load(id), undefined)
    }),

    law("a removed session is unknown, and a use does not restore it", function*(store) {
      const session = yield* sessionOf(yield* newId)
      yield* store.create(session)
      yield* store.remove(session.id, 1)
      assert.strictEqual(yield* store.load(session.id), undefined)
      yield* store.touch(session.id, 1, session.usedAt + 10 * lag)
      assert.strictEqual(yield* store.load(session.id), undefined)
      yield* store.remove(session.id, 1)
      yield* store.create(session)
      assert.deepStrictEqual(whole(yield* store.load(session.id)), whole(session))
    }),

    law("of sessions saved concurrently with one id, one is stored completely", function*(store) {
      const id = yield* newId
      const sessions = yield* Effect.forEach(numbers(20), (mark) => sessionOf(id, mark))
      yield* Effect.forEach(sessions, (session) => Effect.suspend(() => store.create(session)), {
        concurrency: "unbounded"
      })
      const loaded = yield* store.load(id)
      const saved = sessions.find(({ openedAt }) => openedAt === loaded?.openedAt)
      assert.deepStrictEqual(whole(loaded), whole(saved))
      assert.notStrictEqual(loaded, undefined)
    }),

    law("of uses that are reported concurrently, the latest counts", function*(store) {
      const session = yield* sessionOf(yield* newId)
      yield* store.create(session)
      // The latest use is in the middle.
      const uses = [1, 3, 5, 7, 9, 10, 8, 6, 4, 2].map((each) => session.usedAt + each * 10 * lag)
      yield* Effect.forEach(uses, (usedAt) => Effect.suspend(() => store.touch(session.id, 1, usedAt)), {
        concurrency: "unbounded"
      })
      agree(yield* store.load(session.id), session, Math.max(...uses))
    }),

    law("a session that is removed while it is used stays removed", function*(store) {
      const sessions = yield* Effect.forEach(numbers(20), () => Effect.flatMap(newId, (id) => sessionOf(id)))
      for (const session of sessions) yield* store.create(session)
      yield* Effect.forEach(sessions, ({ id, usedAt }) => {
        const touch = Effect.suspend(() => store.touch(id, 1, usedAt + 10 * lag))
        const remove = Effect.suspend(() => store.remove(id, 1))
        return Effect.all([touch, touch, remove, touch, touch], { concurrency: "unbounded" })
      }, { concurrency: "unbounded" })
      for (const { id } of sessions) assert.strictEqual(yield* store.load(id), undefined)
    }),

    law("an interrupted operation blocks no other, and is completed or has no effect", function*(store) {
      for (const turns of numbers(5)) {
        const id = yield* newId
        const first = yield* sessionOf(id, 1)
        const second = yield* sessionOf(id, 2)
        const operations = [
          () => store.save(second),
          () => store.touch(id, 1, second.usedAt + 10 * lag),
          () => store.remove(id, 1),
          () => store.load(id)
        ]
        for (const operation of operations) {
          yield* store.create(first)
          const fiber = yield* Effect.forkChild(Effect.suspend<unknown, unknown, never>(operation), {
            startImmediately: true
          })
          for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow
          yield* Fiber.interrupt(fiber)
          const loaded = yield* Effect.timeoutOption(Effect.suspend(() => store.load(id)), operationTimeout)
          assert.ok(Option.isSome(loaded), `no session is loaded within ${operationTimeout} after that`)
          const session = loaded.value
          if (session === undefined) continue
          const saved = session.openedAt === first.openedAt ? first : second
          assert.deepStrictEqual(essence(session), essence(saved))
        }
      }
    }),

    law("a session that is saved replaces the stored one, and an unknown one stays unknown", function*(store) {
      const id = yield* newId
      const first = yield* sessionOf(id, 1)
      yield* store.save(first)
      assert.strictEqual(yield* store.load(id), undefined)
      yield* store.create(first)
      const second = { ...yield* sessionOf(id, 2), epoch: 2 }
      yield* store.save(second)
      assert.deepStrictEqual(whole(yield* store.load(id)), whole(second))
      yield* store.remove(id, 2)
      yield* store.save(second)
      assert.strictEqual(yield* store.load(id), undefined)
    }),

    law("the log level and the subscriptions of a session are loaded unchanged", function*(store) {
      const session = yield* sessionOf(yield* newId)
      const all = [
        { logLevel: "warning" as const },
        { subscriptions: ["file:///é漢🙂", "", "'\"\\ %_"] },
        { logLevel: "debug" as const, subscriptions: Array.from(numbers(500), (number) => `test://${number}`) },
        {}
      ]
      yield* store.create(session)
      for (const facts of all) {
        yield* store.save({ ...session, ...facts })
        const { logLevel, subscriptions } = (yield* store.load(session.id)) ?? session
        assert.deepStrictEqual(
          [logLevel, subscriptions ?? []],
          ["logLevel" in facts ? facts.logLevel : undefined, "subscriptions" in facts ? facts.subscriptions : []]
        )
      }
    }),

    law("no write of an earlier epoch changes a session", function*(store) {
      const session = { ...yield* sessionOf(yield* newId, 3), epoch: 3 }
      const { id } = session
      yield* store.create({ ...session, epoch: 2 })
      yield* store.create(session)
      for (const epoch of [1, 2]) {
        const late = { ...yield* sessionOf(id, 9), epoch }
        const writes = [
          () => store.create(late),
          () => store.save(late),
          () => store.touch(id, epoch, session.usedAt + 10 * lag),
          () => store.remove(id, epoch)
        ]
        for (const write of writes) {
          const error = yield* Effect.flip(Effect.suspend(write))
          assert.deepStrictEqual([error._tag, "epoch" in error && error.epoch], ["SupersededError", epoch])
          const loaded = yield* store.load(id)
          assert.deepStrictEqual([whole(loaded), loaded?.epoch], [whole(session), 3])
        }
      }
      const next = { ...session, epoch: 4 }
      yield* store.save(next)
      assert.strictEqual((yield* store.load(id))?.epoch, 4)
      yield* store.remove(id, 4)
      assert.strictEqual(yield* store.load(id), undefined)
    }),

    law("all sessions of one principal are deleted, and none of another", function*(store) {
      if (store.removeAllOf === undefined) return
      const { removeAllOf } = store
      const principal = yield* newId
      const others = [undefined, "", principal.toUpperCase(), `${principal} `]
      const own: Array<StoredSession> = []
      for (const epoch of [1, 2, 7]) own.push({ ...yield* sessionOf(yield* newId), principal, epoch })
      const foreign: Array<StoredSession> = []
      for (const other of others) foreign.push({ ...yield* sessionOf(yield* newId), principal: other })
      yield* Effect.forEach([...own, ...foreign], (session) => store.create(session))
      yield* removeAllOf(principal)
      for (const { id } of own) assert.strictEqual(yield* store.load(id), undefined)
      for (const session of foreign) assert.deepStrictEqual(whole(yield* store.load(session.id)), whole(session))
      // A late use does not bring a session back.
      for (const { epoch, id, usedAt } of own) yield* store.touch(id, epoch, usedAt + lag)
      for (const { id } of own) assert.strictEqual(yield* store.load(id), undefined)
      yield* removeAllOf(principal)
      yield* removeAllOf(yield* newId)
    })
  ]
}
