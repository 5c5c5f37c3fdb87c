/** Proofs of clients (DPoP) whose requests reach any process of a fleet. */
import { ResourceServer } from "@effect-mcp/auth"
import { type SessionOwners, UsedStates } from "@effect-mcp/session"
import { Authentication } from "@effect-mcp/transport/Authentication"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { makeStores, startProcess } from "../../../transport/test/support/fleet.ts"
import { exchange, initialize, type RequestOptions } from "../../../transport/test/support/httpClient.ts"
import { until } from "../../../transport/test/support/process.ts"
import { text, tools } from "../../../transport/test/support/server.ts"
import { makeKey } from "../fixtures/oidcProvider.mjs"
import * as Issuer from "../support/issuer.ts"
import { proofOf } from "../support/proofs.ts"
import { resource } from "../support/resourceServer.ts"
import * as ShiftedClock from "../support/shiftedClock.ts"

const forwarded = { "mcp-forwarded": "forged" }

const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "count" } }

/** Starts two processes that share their stores and the used proofs, and a session that the first of them owns. */
const start = Effect.fnUntraced(function*() {
  const issuer = yield* Issuer.start
  const key = yield* Effect.promise(() => makeKey())
  const atIssuer = yield* proofOf(key, "", { htu: `${issuer.url}/token`, ath: undefined })
  const token = yield* issuer.token({ resource }, { headers: { dpop: atIssuer } })
  const memory = UsedStates.makeMemory()
  const uses: Array<string> = []
  const usedProofs: UsedStates.UsedStates = {
    use: (id, ...rest) => {
      uses.push(id)
      return memory.use(id, ...rest)
    }
  }
  const stores = yield* makeStores
  const calls: Array<string> = []
  const startOne = Effect.fnUntraced(function*(
    name: string,
    ownerStore: SessionOwners.OwnerStore = stores.ownerStore,
    clock?: Clock.Clock
  ) {
    const auth = ResourceServer.layer({ resource, issuers: [issuer.url], dpop: {} }).pipe(
      Layer.provide(Layer.succeed(UsedStates.UsedStates, usedProofs))
    )
    const timed = clock === undefined ? auth : Layer.provide(auth, Layer.succeed(Clock.Clock, clock))
    const authentication = Context.get(yield* Layer.build(Layer.fresh(timed)), Authentication)
    const handlers = tools({
      count: Effect.sync(() => {
        calls.push(name)
        return text(name)
      })
    })
    return yield* startProcess({ ...stores, ownerStore }, handlers, { authentication, leaseTime: "10 seconds" })
  })
  const [one, two] = [yield* startOne("one"), yield* startOne("two")]
  let session: string | undefined
  const proof = (method = "POST") => proofOf(key, token, { htm: method })
  /** Sends a request of the session with this proof. */
  const present = (server: { readonly port: number }, dpop: string, options: RequestOptions = {}) =>
    exchange(server, {
      ...options,
      headers: {
        authorization: `DPoP ${token}`,
        dpop,
        "mcp-session-id": session,
        "mcp-protocol-version": session === undefined ? undefined : "2025-11-25",
        ...options.headers
      }
    })
  const opened = yield* present(one, yield* proof(), { body: initialize("2025-11-25") })
  const id = opened.headers["mcp-session-id"]
  if (typeof id !== "string") return yield* Effect.die(new Error(`${opened.status} ${opened.text}`))
  session = id
  const body = { jsonrpc: "2.0", method: "notifications/initialized" }
  assert.strictEqual((yield* present(two, yield* proof(), { body })).status, 202)
  return { calls, id, one, present, proof, startOne, stores, two, uses }
})

const isReplay = ({ headers, status }: { readonly status: number; readonly headers: object }) =>
  status === 401 && JSON.stringify(headers).includes("it was used already")

describe.concurrent("a proof in a fleet", () => {
  it.live("[AUX-07] is accepted at each process, and once in the fleet", () =>
    Effect.gen(function*() {
      const { calls, one, present, proof, two, uses } = yield* start()
      const before = uses.length
      const proofs: Array<string> = []
      for (const server of [one, two, two, one]) {
        const made = yield* proof()
        proofs.push(made)
        const response = yield* present(server, made, { body: call })
        assert.strictEqual(response.status, 200, response.text)
      }
      assert.strictEqual(uses.length - before, 4)
      assert.deepStrictEqual(calls, ["one", "one", "one", "one"])
      for (const made of proofs) {
        for (const server of [one, two]) {
          assert.isTrue(isReplay(yield* present(server, made, { body: call })))
          assert.isFalse((yield* present(server, made, { body: call, headers: forwarded })).status === 200)
          const opening = { body: initialize("2025-11-25"), headers: { "mcp-session-id": undefined, ...forwarded } }
          assert.isTrue(isReplay(yield* present(server, made, opening)))
        }
      }
      assert.strictEqual(calls.length, 4)
      const stream = yield* proof("GET")
      const ended = yield* proof("DELETE")
      assert.strictEqual((yield* present(two, ended, { method: "DELETE" })).status, 204)
      assert.isTrue(isReplay(yield* present(one, ended, { method: "DELETE" })))
      assert.strictEqual((yield* present(two, stream, { method: "GET" })).status, 404)
      assert.isTrue(isReplay(yield* present(one, stream, { method: "GET" })))
    }))

  it.live("[AUX-07] carries out one of many requests that are sent at once", () =>
    Effect.gen(function*() {
      const { calls, one, present, proof, two } = yield* start()
      const made = yield* proof()
      const responses = yield* Effect.forEach(
        [one, two, one, two, one, two, two, two],
        (server, at) => present(server, made, { body: call, headers: at === 6 ? forwarded : {} }),
        { concurrency: "unbounded" }
      )
      const statuses = responses.map(({ status }) => status).toSorted((a, b) => a - b)
      assert.deepStrictEqual(statuses, [200, 401, 401, 401, 401, 401, 401, 421])
      assert.strictEqual(calls.length, 1)
    }))

  it.live("[AUX-07] is left to the process that carries the request out, whatever the forwarding header says", () =>
    Effect.gen(function*() {
      const { calls, one, present, proof, two } = yield* start()
      const made = yield* proof()
      // This process forwards no request that was forwarded, and another process can still carry it out.
      assert.strictEqual((yield* present(two, made, { body: call, headers: forwarded })).status, 421)
      assert.strictEqual((yield* present(one, made, { body: call, headers: forwarded })).status, 200)
      assert.isTrue(isReplay(yield* present(one, made, { body: call, headers: forwarded })))
      assert.isTrue(isReplay(yield* present(two, made, { body: call })))
      assert.strictEqual(calls.length, 1)
    }))

  it.live("[AUX-07] is used by a request that a process rejects itself", () =>
    Effect.gen(function*() {
      const { calls, id, one, present, proof, startOne, stores, two } = yield* start()
      // 404 of a session that does not exist.
      const lost = yield* proof()
      const unknown = { body: call, headers: { "mcp-session-id": "00000000-0000-0000-0000-000000000000" } }
      assert.strictEqual((yield* present(two, lost, unknown)).status, 404)
      assert.isTrue(isReplay(yield* present(one, lost, { body: call })))
      // 503 of a process that cannot know the owner.
      let isAway = false
      const third = yield* startOne("three", {
        ...stores.ownerStore,
        locate: (session) => isAway ? Effect.die(new Error("away")) : stores.ownerStore.locate(session)
      })
      isAway = true
      const waiting = yield* proof()
      const response = yield* present(third, waiting, { body: call })
      assert.strictEqual(response.status, 503, response.text)
      assert.isTrue(isReplay(yield* present(one, waiting, { body: call })))
      assert.deepStrictEqual([calls, one.host.find(id) === undefined], [[], false])
    }))

  it.live("[AUX-07] is too old if it is used after the time for which used ones are remembered", () =>
    Effect.gen(function*() {
      const { calls, one, present, proof, startOne, stores } = yield* start()
      yield* one.stop
      const clock = yield* ShiftedClock.make
      const [asked, mayAnswer] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const third = yield* startOne("three", {
        ...stores.ownerStore,
        locate: (session) =>
          Deferred.succeed(asked, undefined).pipe(
            Effect.andThen(Deferred.await(mayAnswer)),
            Effect.andThen(Effect.suspend(() => stores.ownerStore.locate(session)))
          )
      }, clock)
      const waiting = yield* Effect.forkChild(present(third, yield* proof(), { body: call }))
      yield* Deferred.await(asked)
      clock.shift(150_000)
      yield* Deferred.succeed(mayAnswer, undefined)
      const { headers, status } = yield* Fiber.join(waiting)
      assert.strictEqual(status, 401)
      assert.include(JSON.stringify(headers), "too old")
      assert.deepStrictEqual(calls, [])
    }))

  it.live("[AUX-07] is accepted by the process that takes a session over", () =>
    Effect.gen(function*() {
      const { calls, id, one, present, proof, two } = yield* start()
      yield* one.stop
      const made = yield* proof()
      const response = yield* present(two, made, { body: call })
      assert.strictEqual(response.status, 200, response.text)
      yield* until(() => two.host.find(id) !== undefined)
      assert.isTrue(isReplay(yield* present(two, made, { body: call })))
      assert.deepStrictEqual(calls, ["two"])
    }))
})
