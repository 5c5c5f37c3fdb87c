/** The channel of changes in Redis. */
import { ChangeBus } from "@effect-mcp/session"
import { ChangeBusSuite } from "@effect-mcp/testing/vitest"
import * as NodeRedis from "@effect/platform-node/NodeRedis"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redis from "effect/persistence/Redis"
import { randomBytes } from "node:crypto"
import * as ChangesRedis from "../src/internal/bus/ChangesRedis.ts"
import { areSeen, gapsOf, survivesSilence, until } from "./support/changes.ts"
import { isRunning } from "./support/services.ts"
import * as SilentProxy from "./support/silentProxy.ts"

const isRedisRunning = isRunning("Redis", "the changes of @effect-mcp/cluster in Redis")

const client = (name: string, port = 6379) =>
  Effect.map(
    Layer.build(Layer.fresh(Layer.orDie(NodeRedis.layer({ url: `redis://127.0.0.1:${port}`, name })))),
    (context) => Context.get(context, Redis.Redis)
  )

const channel = Effect.gen(function*() {
  const name = `test-${randomBytes(6).toString("hex")}`
  const key = `${name}:changes`
  const redis = yield* client("test")
  yield* Effect.addFinalizer(() => Effect.ignore(redis.send("UNLINK", key)))
  const interrupt = Effect.gen(function*() {
    const clients = yield* redis.send<string>("CLIENT", "LIST")
    const ids = [...clients.matchAll(new RegExp(`^id=(\\d+) .*name=${name} `, "gm"))].map(([, id = ""]) => id)
    assert.isNotEmpty(ids)
    yield* Effect.forEach(ids, (id) => redis.send("CLIENT", "KILL", "ID", id))
  })
  const connection = Effect.map(client(name), (redis) => ChangesRedis.connection(redis, key))
  return { bus: Effect.flatMap(connection, ChangeBus.make), interrupt, redis, key, connection }
})

describe.runIf(isRedisRunning)("changes in Redis", () => {
  ChangeBusSuite.suite("Redis", channel)

  it.live("changes are seen by another process", () =>
    Effect.flatMap(channel, ({ bus }) => areSeen("Redis", bus, 50, 70)).pipe(Effect.scoped))

  it.live("a message that no bus has written is a gap", () =>
    Effect.gen(function*() {
      const { bus, key, redis } = yield* channel
      const heard = yield* gapsOf(yield* bus, "s")
      yield* redis.send("XADD", key, "*", "a", "b")
      yield* until(() => heard.gaps === 1)
    }).pipe(Effect.scoped))

  it.live("a connection that falls silent, and stays open, is a gap", () =>
    Effect.gen(function*() {
      const { connection, key } = yield* channel
      const proxy = yield* SilentProxy.make(6379)
      const bus = yield* ChangeBus.make(
        ChangesRedis.connection(yield* client("silent", proxy.port), key, { block: 300, lost: 300 })
      )
      const other = yield* ChangeBus.make(yield* connection)
      yield* survivesSilence(proxy.silence, bus, (key) => other.publish({ scope: "s", kind: "k", key }))
    }).pipe(Effect.scoped))

  it.live("the stream expires, also one that is only read, and a process that missed it learns of a gap", () =>
    Effect.gen(function*() {
      const { key, redis } = yield* channel
      const reader = ChangesRedis.connection(redis, key, { block: 50, lost: 1_000 })
      const bus = yield* ChangeBus.make(reader)
      const heard = yield* gapsOf(bus, "s")
      const message = `{"version":1,"from":"x","lost":[],"changes":[["s","k","first"]]}`
      yield* reader.send(message)
      yield* until(() => heard.keys.length === 1)
      const hour = 3_600_000
      assert.isAbove(yield* redis.send<number>("PTTL", key), hour - 10_000)
      yield* redis.send("PEXPIRE", key, "10000")
      yield* Effect.sleep("200 millis")
      assert.isAbove(yield* redis.send<number>("PTTL", key), hour - 10_000)
      assert.strictEqual(heard.gaps, 0)
      // As if the stream had expired while the process was stopped.
      yield* redis.send("DEL", key)
      yield* reader.send(message)
      yield* until(() => heard.gaps === 1)
    }).pipe(Effect.scoped))

  it.live("the stream keeps about 1,000 messages, and a process that has missed more learns of a gap", () =>
    Effect.gen(function*() {
      const { bus, connection, key, redis } = yield* channel
      const heard = yield* gapsOf(yield* bus, "s")
      const other = yield* connection
      const message = `{"version":1,"from":"x","lost":[],"changes":[["s","k","first"]]}`
      yield* other.send(message)
      yield* until(() => heard.keys.length === 1)
      // One transaction, so that the reader sees all of them at once.
      yield* redis.send(
        "EVAL",
        "for i = 1, 5000 do redis.call('XADD', KEYS[1], 'MAXLEN', '~', '1000', '*', 'message', ARGV[1]) end",
        "1",
        key,
        message
      )
      yield* until(() => heard.gaps === 1)
      assert.isBelow(yield* redis.send<number>("XLEN", key), 1_300)
      yield* other.send(message.replace("first", "last"))
      yield* until(() => heard.keys.includes("last"))
    }).pipe(Effect.scoped))
})
