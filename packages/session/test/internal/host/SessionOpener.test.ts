import { MemoryTransport, type Transport, TransportError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { HostFullError } from "../../../src/internal/host/SessionHostShape.ts"
import { SessionOpener } from "../../../src/internal/host/SessionOpener.ts"
import type { Full, Taken } from "../../../src/internal/host/SessionSlots.ts"
import * as ServerSessionImplementation from "../../../src/internal/server/ServerSessionImplementation.ts"
import { makeParts } from "../../support/hostParts.ts"
import { info, start } from "../../support/sessions.ts"

/** An opener whose slots answer with `slot`, and a record of the calls between the parts. */
const makeOpener = Effect.gen(function*() {
  const parts = yield* makeParts
  const { calls } = parts
  const state: { slot: Taken | Full; isDraining: boolean } = {
    slot: { _tag: "Taken", victim: undefined },
    isDraining: false
  }
  const opener = new SessionOpener({
    ...parts,
    owners: undefined,
    server: ServerSessionImplementation.prepare({}, { info, limits: { gracefulTimeout: 0 } }, { isShared: true }),
    slots: {
      take: () => {
        if (state.slot._tag === "Taken") calls.push("take")
        return state.slot
      },
      free: (principal) => void calls.push(`free ${principal?.id}`)
    },
    observe: undefined,
    draining: () => state.isDraining ? new HostFullError({ scope: "draining", limit: 0 }) : undefined,
    onOpened: () => void calls.push("opened"),
    onClosed: () => void calls.push("closed"),
    onNegotiated: () => void calls.push("negotiated")
  })
  const open = (id: string, transport: Transport.Transport["Service"]) =>
    opener.open(transport, { id, kind: "memory", principal: { id: "ada" } }, { openedAt: 0, epoch: 1, isOwned: false })
  return { ...parts, state, open }
})

const memory = Effect.map(MemoryTransport.make(), ({ server }) => server)

/** A transport whose connection waits for a gate. */
const gated = Effect.gen(function*() {
  const gate = yield* Deferred.make<void, TransportError.TransportError>()
  const { connect } = yield* memory
  return { gate, transport: { connect: Effect.andThen(Deferred.await(gate), connect) } }
})

describe("the opener of a host's sessions", () => {
  it.effect("takes the slot before it connects, and adds the session to the table after that", () =>
    Effect.gen(function*() {
      const { calls, open, table } = yield* makeOpener
      const { gate, transport } = yield* gated
      const opening = yield* start(open("a", transport))
      assert.deepStrictEqual(calls, ["take"])
      assert.strictEqual(table.all.size, 0)
      yield* Deferred.succeed(gate, undefined)
      const hosted = yield* Fiber.join(opening)
      assert.deepStrictEqual(calls, ["take", "opened"])
      assert.strictEqual(table.find("a"), hosted)
    }))

  it.effect("dies if the id belongs to another session that is open or is being opened, and takes no slot", () =>
    Effect.gen(function*() {
      const { calls, open } = yield* makeOpener
      const { gate, transport } = yield* gated
      const opening = yield* start(open("a", transport))
      assert.isTrue(Exit.hasDies(yield* Effect.exit(open("a", yield* memory))))
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(opening)
      assert.isTrue(Exit.hasDies(yield* Effect.exit(open("a", yield* memory))))
      assert.deepStrictEqual(calls, ["take", "opened"])
    }))

  it.effect("fails with HostFullError before it connects, and reserves nothing", () =>
    Effect.gen(function*() {
      const { calls, open, state } = yield* makeOpener
      state.slot = { _tag: "Full", scope: "host", limit: 1, retryAfterMillis: 2000 }
      const failure = yield* Effect.flip(open("a", { connect: Effect.die("connected") }))
      assert.deepStrictEqual(failure, new HostFullError({ scope: "host", limit: 1, retryAfterMillis: 2000 }))
      assert.deepStrictEqual(calls, [])
      state.slot = { _tag: "Taken", victim: undefined }
      yield* open("a", yield* memory)
    }))

  it.effect("frees the slot and the id if the transport cannot connect", () =>
    Effect.gen(function*() {
      const { calls, open } = yield* makeOpener
      const failure = TransportError.make({ _tag: "ConnectFailed", target: "nowhere", cause: "no" })
      assert.strictEqual(yield* Effect.flip(open("a", { connect: Effect.fail(failure) })), failure)
      assert.deepStrictEqual(calls, ["take", "free ada"])
      yield* open("a", yield* memory)
    }))

  it.effect("frees the slot and the id if the caller is interrupted while the transport connects", () =>
    Effect.gen(function*() {
      const { calls, open } = yield* makeOpener
      yield* Fiber.interrupt(yield* start(open("a", (yield* gated).transport)))
      assert.deepStrictEqual(calls, ["take", "free ada"])
      yield* open("a", yield* memory)
    }))

  it.effect("fails and frees the slot if the host begins to drain while the transport connects", () =>
    Effect.gen(function*() {
      const { calls, open, state, table } = yield* makeOpener
      const { gate, transport } = yield* gated
      const opening = yield* start(Effect.flip(open("a", transport)))
      state.isDraining = true
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Fiber.join(opening), new HostFullError({ scope: "draining", limit: 0 }))
      assert.deepStrictEqual(calls, ["take", "free ada"])
      assert.strictEqual(table.all.size, 0)
    }))

  it.effect("connects only after the evicted session has closed completely", () =>
    Effect.gen(function*() {
      const { calls, open, state, table } = yield* makeOpener
      const victim = yield* open("victim", yield* memory)
      state.slot = { _tag: "Taken", victim }
      victim.evicted = true
      calls.length = 0
      const { connect } = yield* memory
      yield* open("a", {
        connect: Effect.suspend(() => {
          calls.push(`connect, victim ${table.has(victim) ? "present" : "gone"}`)
          return connect
        })
      })
      assert.deepStrictEqual(calls, ["take", "closed", "delete victim", "empty", "connect, victim gone", "opened"])
    }))
})
