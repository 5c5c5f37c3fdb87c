/** The stores of a bundle over one connection to Redis. */
import type * as EventStore from "@effect-mcp/session/EventStore"
import type * as SessionOwners from "@effect-mcp/session/SessionOwners"
import type * as SessionStore from "@effect-mcp/session/SessionStore"
import type * as UsedStates from "@effect-mcp/session/UsedStates"
import type * as Redis from "effect/persistence/Redis"
import * as Connection from "./Connection.ts"
import * as EventsRedis from "./EventsRedis.ts"
import * as Lua from "./Lua.ts"
import * as OwnersRedis from "./OwnersRedis.ts"
import * as SessionsRedis from "./SessionsRedis.ts"
import * as UsedStatesRedis from "./UsedStatesRedis.ts"

/** Options of the stores, with their defaults. Times are milliseconds. */
export interface Options {
  readonly prefix: string
  readonly timeout: number
  readonly sessions: {
    readonly maxSessions: number
    readonly maxSessionsPerPrincipal: number
    readonly maxBytes: number
    readonly maxBytesPerSession: number
    readonly idleTimeout: number
  }
  readonly events: {
    readonly maxEventsPerStream: number
    readonly maxBytesPerStream: number
    readonly maxBytesPerSession: number
    readonly maxBytesPerPrincipal: number
    readonly maxBytes: number
    readonly endedStreamTimeout: number
    readonly unusedStreamTimeout: number
  }
  /** The number of used states. */
  readonly capacity: number
  /** The time of a lease. */
  readonly leaseMillis: number
}

/** The stores. */
export interface Stores {
  /** Redis with a deadline for each command, for the stores of Effect. */
  readonly redis: Redis.Redis["Service"]
  /** Begins the keys of the rates. */
  readonly ratePrefix: string
  readonly sessions: SessionStore.SessionStore["Service"]
  readonly events: EventStore.EventStore["Service"]
  readonly owners: SessionOwners.OwnerStore
  readonly usedStates: UsedStates.UsedStates
}

const millisOf = (millis: number): number => Math.ceil(Math.min(millis, Lua.maxMillis))

/** Returns a limit as a number that a script can read. */
const limitOf = (limit: number): number => Math.min(limit, Number.MAX_SAFE_INTEGER)

/** Makes the stores. */
export const make = (
  redis: Redis.Redis["Service"],
  { capacity, events, leaseMillis, prefix, sessions, timeout }: Options
): Stores => {
  const connection = Connection.make(redis, prefix, timeout)
  const idleMillis = millisOf(sessions.idleTimeout)
  return {
    redis: connection.redis,
    ratePrefix: connection.key("rate:"),
    sessions: SessionsRedis.make(connection, {
      maxSessions: limitOf(sessions.maxSessions),
      maxSessionsPerPrincipal: limitOf(sessions.maxSessionsPerPrincipal),
      maxBytes: limitOf(sessions.maxBytes),
      maxBytesPerSession: limitOf(sessions.maxBytesPerSession),
      idleMillis,
      leaseMillis: Math.ceil(leaseMillis)
    }),
    events: EventsRedis.make(connection, {
      maxEventsPerStream: limitOf(events.maxEventsPerStream),
      maxBytesPerStream: limitOf(events.maxBytesPerStream),
      maxBytesPerSession: limitOf(events.maxBytesPerSession),
      maxBytesPerPrincipal: limitOf(events.maxBytesPerPrincipal),
      maxBytes: limitOf(events.maxBytes),
      endedMillis: millisOf(events.endedStreamTimeout),
      idleMillis: millisOf(events.unusedStreamTimeout)
    }),
    owners: OwnersRedis.make(connection, { idleMillis }),
    usedStates: UsedStatesRedis.make(connection, limitOf(capacity))
  }
}
