/** A host whose clients finish a handshake, send requests that carry their client, or do both on one connection. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { endOf, makeHost, openOperating, openSession } from "./support/hosts.ts"
import { request } from "./support/rounds.ts"
import { initialize, initialized, names, performHandshake, settled } from "./support/sessions.ts"

type Client = Effect.Success<ReturnType<typeof openSession>>

/** Sends a request that carries its client, and receives the reply. */
const discover = ({ raw }: Client) => Effect.andThen(raw.send(request("discover", "server/discover")), raw.response)

const handshake = ({ raw }: Client) => Effect.andThen(performHandshake(raw), settled)

const orders = [
  { name: "a handshake and then requests of 2026-07-28", steps: [handshake, discover] },
  { name: "requests of 2026-07-28 and then a handshake", steps: [discover, handshake] }
] as const

describe("a host with a client of both eras", () => {
  for (const { name, steps } of orders) {
    it.effect(`counts a connection once that has ${name}`, () =>
      Effect.gen(function*() {
        const host = yield* makeHost()
        const handshaking = Effect.map(host.health, (health) => health.handshaking)
        const client = yield* openSession(host)
        yield* openSession(host)
        assert.strictEqual(yield* handshaking, 2)
        for (const step of steps) {
          yield* step(client)
          assert.strictEqual(yield* handshaking, 1)
        }
        yield* client.hosted.close({ _tag: "Requested" })
        assert.strictEqual(yield* handshaking, 1)
      }))

    it.effect(`gives a client no rights over others for connections with ${name}`, () =>
      Effect.gen(function*() {
        const host = yield* makeHost({}, { sessions: { max: 41 } })
        const used = yield* Effect.forEach(Array.from({ length: 40 }), () => openSession(host, { client: "hostile" }))
        for (const client of used) yield* Effect.forEach(steps, (step) => step(client))
        const other = yield* openSession(host, { client: "other" })
        // The grace of the other client is not over, so a newcomer finds no room.
        const rejected = yield* Effect.flip(openSession(host, { client: "hostile" }))
        assert.strictEqual(rejected._tag, "HostFullError")
        assert.isUndefined(yield* endOf(other.hosted))
      }))
  }

  it.effect("closes a connection that is idle after its request, and not for a missing handshake", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, {
        sessions: { handshakeTimeout: "40 seconds", idleTimeout: "5 minutes" },
        limits: { initializeTimeout: "30 seconds" }
      })
      const used = yield* openSession(host)
      const unused = yield* openSession(host)
      yield* discover(used)
      yield* TestClock.adjust("2 minutes")
      assert.isUndefined(yield* endOf(used.hosted))
      assert.strictEqual((yield* endOf(unused.hosted))?._tag, "HandshakeTimeout")
      yield* TestClock.adjust("4 minutes")
      assert.deepInclude(yield* endOf(used.hosted), { _tag: "Expired", of: "idle" })
    }))

  it.effect("broadcasts to a client only after its notifications/initialized", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { capabilities: { tools: { listChanged: true } } })
      const broadcast = Effect.map(host.broadcast(({ session }) => session.toolListChanged), ({ sent }) => sent)
      const client = yield* openSession(host)
      const older = yield* openOperating(host)
      yield* discover(client)
      yield* discover(older)
      assert.strictEqual(yield* broadcast, 1)
      yield* client.raw.send(initialize())
      yield* client.raw.response
      assert.strictEqual(yield* broadcast, 1)
      yield* settled
      assert.deepStrictEqual(names(yield* client.raw.pending), [])
      yield* client.raw.send(initialized)
      yield* settled
      assert.strictEqual(yield* broadcast, 2)
      yield* settled
      assert.deepStrictEqual(names(yield* client.raw.pending), ["notifications/tools/list_changed"])
    }))
})
