/** Redis for tests: keys of the server of this machine with a prefix of their own, which are deleted. */
import { McpStores } from "@effect-mcp/cluster"
import * as NodeRedis from "@effect/platform-node/NodeRedis"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redis from "effect/persistence/Redis"
import { randomBytes } from "node:crypto"
import * as RedisStores from "../../src/internal/redis/RedisStores.ts"

/** Provides a client of the server of this machine, or of one at another port. */
export const redisAt = (port = 6379): Layer.Layer<Redis.Redis | NodeRedis.NodeRedis> =>
  Layer.orDie(NodeRedis.layer({ url: `redis://127.0.0.1:${port}`, ...McpStores.redisClientOptions }))

/** Provides a client of the server of this machine. */
export const redis = redisAt()

/** Returns all keys with a prefix. */
export const keysOf = (prefix: string) =>
  Effect.flatMap(Redis.Redis, ({ send }) => send<ReadonlyArray<string>>("KEYS", `${prefix}*`))

/** Returns a prefix whose keys are deleted with the scope. */
export const newPrefix = Effect.acquireRelease(
  Effect.sync(() => `test-${randomBytes(6).toString("hex")}:`),
  (prefix) =>
    Effect.gen(function*() {
      const { send } = yield* Redis.Redis
      const keys = yield* keysOf(prefix)
      if (keys.length > 0) yield* send("UNLINK", ...keys)
    }).pipe(Effect.provide(redis), Effect.orDie)
)

/** The options of the stores, with the defaults of `McpStores.layerRedis`. */
interface StoreOptions {
  readonly prefix?: string
  readonly timeout?: number
  readonly capacity?: number
  readonly leaseMillis?: number
  readonly sessions?: Partial<RedisStores.Options["sessions"]>
  readonly events?: Partial<RedisStores.Options["events"]>
}

/** Makes the stores over the client that is provided. */
export const storesOf = (
  { capacity = 100_000, events, leaseMillis = 2_000, prefix = "mcp:", sessions, timeout = 5_000 }: StoreOptions
) =>
  Effect.map(Redis.Redis, (service) =>
    RedisStores.make(service, {
      prefix,
      timeout,
      leaseMillis,
      capacity,
      sessions: {
        maxSessions: 100_000,
        maxSessionsPerPrincipal: 10_000,
        maxBytes: 2 ** 29,
        maxBytesPerSession: 2 ** 20,
        idleTimeout: 7 * 86_400_000,
        ...sessions
      },
      events: {
        maxEventsPerStream: 1_000,
        maxBytesPerStream: 2 ** 22,
        maxBytesPerSession: 2 ** 23,
        maxBytesPerPrincipal: 2 ** 26,
        maxBytes: 2 ** 29,
        endedStreamTimeout: 60_000,
        unusedStreamTimeout: 86_400_000,
        ...events
      }
    }))

/** Makes the stores with keys of their own, which are deleted with the scope. */
export const newStores = Effect.fnUntraced(function*(options: StoreOptions = {}) {
  const prefix = yield* newPrefix
  const context = yield* Layer.build(Layer.fresh(redis))
  return { prefix, ...yield* Effect.provide(storesOf({ prefix, ...options }), context) }
})
