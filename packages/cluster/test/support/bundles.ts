/** Properties of a bundle of stores that two processes share. */
import type { McpStores } from "@effect-mcp/cluster"
import { ChangeBus, EventStore, SessionOwners, SessionStore, UsedStates } from "@effect-mcp/session"
import type { TaskStore } from "@effect-mcp/tasks"
import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as RateLimiter from "effect/persistence/RateLimiter"
import { sessionOf, streamOf } from "./limits.ts"

type Bundle = Layer.Layer<
  McpStores.Shared | RateLimiter.RateLimiterStore | Exclude<McpStores.Stores, TaskStore.TaskStore>,
  unknown
>

const servicesOf = (bundle: Bundle) =>
  Effect.map(Layer.build(Layer.fresh(bundle)), (context) => ({
    owners: Context.get(context, SessionOwners.SessionOwners),
    sessions: Context.get(context, SessionStore.SessionStore),
    events: Context.get(context, EventStore.EventStore),
    bus: Context.get(context, ChangeBus.ChangeBus),
    states: Context.get(context, UsedStates.UsedStates)
  }))

/**
 * A session goes from one process to another: the claim alone stops the writes of the first one, a change reaches the
 * other process, and a state that one has used is used for both.
 */
export const areShared = (bundle: (address: string) => Bundle) =>
  Effect.scoped(Effect.gen(function*() {
    const one = yield* servicesOf(bundle("http://one.test"))
    const other = yield* servicesOf(bundle("http://other.test"))
    yield* Effect.all([one.owners.awaitLease, other.owners.awaitLease])
    assert.strictEqual(yield* one.owners.claim("s", 0), 1)
    yield* one.sessions.create(sessionOf("s", "ada"))
    const id = yield* one.events.append(streamOf("s", "a"), "1")
    const place = yield* other.owners.locate("s")
    assert.strictEqual("address" in place && place.address, "http://one.test")
    assert.isUndefined(yield* other.owners.claim("s", 1))
    yield* one.owners.release("s", 1)
    assert.strictEqual(yield* other.owners.claim("s", 1), 2)
    const late = [
      Effect.flip(one.events.append(streamOf("s", "a"), "2")),
      Effect.flip(one.events.end(streamOf("s", "a"))),
      Effect.flip(one.sessions.save(sessionOf("s", "bob"))),
      Effect.flip(one.sessions.remove("s", 1))
    ]
    for (const error of yield* Effect.all(late)) assert.strictEqual(error._tag, "SupersededError")
    assert.deepStrictEqual(yield* other.events.takeOver("s", 2), [
      { stream: "a", requests: ["a"], events: [{ id, data: "1" }] }
    ])
    assert.strictEqual((yield* other.sessions.load("s"))?.principal, "ada")

    assert.isTrue(yield* one.states.use("state", Date.now() + 60_000, "ada"))
    assert.isFalse(yield* other.states.use("state", Date.now() + 60_000, "ada"))

    const received = yield* Deferred.make<string>()
    yield* other.bus.subscribe({
      scope: "test",
      onChange: ({ key }) => Deferred.doneUnsafe(received, Effect.succeed(key)),
      onGap: () => {}
    })
    const publish = Effect.andThen(
      one.bus.publish({ scope: "test", kind: "k", key: "changed" }),
      Effect.sleep("100 millis")
    )
    const key = yield* Effect.raceFirst(Deferred.await(received), Effect.forever(publish))
    assert.strictEqual(key, "changed")
  }))
