/** The sessions of hosts in Redis. */
import { ExactJson } from "@effect-mcp/protocol"
import * as SessionStore from "@effect-mcp/session/SessionStore"
import { SupersededError } from "@effect-mcp/session/SupersededError"
import * as Effect from "effect/Effect"
import * as Digest from "../Digest.ts"
import * as Principal from "../Principal.ts"
import { trust } from "../trust.ts"
import type { Connection } from "./Connection.ts"
import * as Lua from "./Lua.ts"

/** The approximate memory of a session without its text: its row, and its places in three indexes. */
const sessionBytes = 1_024

/**
 * Defines `forget`, which deletes what is stored of a session, and keeps its owner. The row may have expired: its bytes
 * are in an index, and the index of its principal is swept by time.
 */
export const forgetting = `
local function forget(session)
  local row = prefix .. 'session:' .. session
  local weight = redis.call('HGET', prefix .. 'sessions:weights', session)
  if weight then
    redis.call('HDEL', prefix .. 'sessions:weights', session)
    redis.call('DECRBY', prefix .. 'sessions:bytes', weight)
  end
  redis.call('ZREM', prefix .. 'sessions', session)
  local known = redis.call('HMGET', row, 'p', 'o')
  if known[1] then redis.call('ZREM', prefix .. 'principal:' .. known[1], session) end
  if known[2] then redis.call('HDEL', row, 'j', 'u', 'p') else redis.call('DEL', row) end
end
`

/**
 * Defines `bound`, which deletes sessions of an index while it is too full: one of the least recently used ones that no
 * process serves, or the first one if all are served. A session that is served stays with its owner, and ends with it.
 *
 * After an outage, the leases of all processes are over. So a process whose own lease has not stood for one lease time
 * deletes only sessions without an owner. Until then, an index may be too full.
 */
const evicting = `
${Lua.runs}
local isOld
-- Whether the lease of this process has stood for one lease time. A program without owners has no leases.
local function mayDelete()
  if isOld == nil then
    local process = redis.call('HGET', KEYS[1], 'o')
    local lease = process and redis.call('HMGET', prefix .. 'process:' .. process, 's', 'r')
    isOld = not lease or lease[2] == thisRun() and tonumber(lease[1]) + tonumber(ARGV[11]) <= now
  end
  return isOld
end
local function victim(index)
  local oldest = redis.call('ZRANGE', index, 0, 15)
  for _, session in ipairs(oldest) do
    local owner = redis.call('HGET', prefix .. 'session:' .. session, 'o')
    if not owner then return session end
    if mayDelete() and redis.call('EXISTS', prefix .. 'process:' .. owner) == 0 then return session end
  end
  return mayDelete() and oldest[1]
end
local function bound(index, isTooFull)
  while isTooFull() do
    local session = victim(index)
    if not session then break end
    -- Without this, a session that has expired, whose principal is unknown, would be found again for ever.
    redis.call('ZREM', index, session)
    forget(session)
  end
end
`

/** Defines `use`, which marks a stored session as used. The last argument is the time for which one is kept. */
const using = `
local idle = tonumber(ARGV[#ARGV])
local function use(session, principal)
  redis.call('ZADD', prefix .. 'sessions', now, session)
  redis.call('ZADD', prefix .. 'principal:' .. principal, now, session)
  redis.call('PEXPIRE', prefix .. 'session:' .. session, idle)
  for _, index in ipairs({ 'sessions', 'sessions:weights', 'sessions:bytes', 'principal:' .. principal }) do
    redis.call('PEXPIRE', prefix .. index, idle + ${Lua.indexMillis})
  end
end
`

/** Ends a script with -1 if the session has a later epoch than the second argument. */
const fencing = `
local epoch = tonumber(ARGV[2])
local row = redis.call('HMGET', KEYS[1], 'e', 'j', 'p', 'u')
if number(row[1]) > epoch then return -1 end
`

/**
 * ARGV: prefix, epoch, session, whether an unknown one is stored, JSON, last use, principal, sessions of a principal,
 * sessions, bytes, milliseconds of a lease, milliseconds for which a session is kept.
 */
const put = Lua.script<number>(`
${forgetting}${evicting}${using}${fencing}
local session, principal = ARGV[3], ARGV[7]
if ARGV[4] == '0' and not row[2] then return 0 end
if row[3] and row[3] ~= principal then redis.call('ZREM', prefix .. 'principal:' .. row[3], session) end
redis.call('HSET', KEYS[1], 'e', ARGV[2], 'j', ARGV[5], 'u', ARGV[6], 'p', principal)
local weight = #ARGV[5] + ${sessionBytes}
local before = number(redis.call('HGET', prefix .. 'sessions:weights', session))
redis.call('HSET', prefix .. 'sessions:weights', session, weight)
redis.call('INCRBY', prefix .. 'sessions:bytes', weight - before)
use(session, principal)
-- A session that was not used for its time has no row any more. Its places in the indexes are freed in batches.
for _, expired in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'sessions', '-inf', now - idle, 'LIMIT', 0, 16)) do
  forget(expired)
end
if principal ~= '' then
  local own = prefix .. 'principal:' .. principal
  redis.call('ZREMRANGEBYSCORE', own, '-inf', now - idle)
  bound(own, function() return redis.call('ZCARD', own) > tonumber(ARGV[8]) end)
end
bound(prefix .. 'sessions', function()
  return redis.call('ZCARD', prefix .. 'sessions') > tonumber(ARGV[9])
    or number(redis.call('GET', prefix .. 'sessions:bytes')) > tonumber(ARGV[10])
end)
return 1
`)

/** Any principal can cause a load, so it is no use of the session, and does not keep it. */
const load = Lua.always<null | readonly [epoch: string, json: string, usedAt: string]>(`
local row = redis.call('HMGET', KEYS[1], 'e', 'j', 'u')
return row[2] and row
`)

/** ARGV: prefix, epoch, session, last use, milliseconds. */
const touch = Lua.always<number>(`
${using}${fencing}
if not row[2] then return 0 end
if tonumber(ARGV[4]) > tonumber(row[4]) then redis.call('HSET', KEYS[1], 'u', ARGV[4]) end
use(ARGV[3], row[3])
return 1
`)

/** ARGV: prefix, epoch, session. */
const remove = Lua.always<number>(`
${forgetting}${fencing}
if row[2] then forget(ARGV[3]) end
return 1
`)

/** Deletes sessions of a principal, with their owners and epochs. Some may have expired. */
const removeAll = Lua.always<number>(`
${forgetting}
local own = redis.call('ZRANGE', KEYS[1], 0, 499)
for _, session in ipairs(own) do
  forget(session)
  redis.call('DEL', prefix .. 'session:' .. session)
  redis.call('ZREM', KEYS[1], session)
end
return #own
`)

/** Limits of the stored sessions. */
export interface Bounds {
  readonly maxSessions: number
  readonly maxSessionsPerPrincipal: number
  readonly maxBytes: number
  readonly maxBytesPerSession: number
  readonly idleMillis: number
  /** The time of a lease. */
  readonly leaseMillis: number
}

type Stored = Omit<SessionStore.StoredSession, "id" | "epoch" | "usedAt">

const failing = Effect.mapError((cause: unknown) => new SessionStore.SessionStoreError({ cause }))

/** Makes a store. */
export const make = (
  { key, run }: Connection,
  { idleMillis, leaseMillis, maxBytes, maxBytesPerSession, maxSessions, maxSessionsPerPrincipal }: Bounds
): SessionStore.SessionStore["Service"] => {
  /** Returns the reply, unless the epoch was an earlier one. */
  const written = (epoch: number, write: ReturnType<typeof run<number>>) =>
    Effect.flatMap(
      failing(write),
      (reply) => reply === -1 ? Effect.fail(new SupersededError({ epoch })) : Effect.void
    )

  const putting = (
    { epoch, handshakeMessages, id, logLevel, openedAt, principal, subscriptions, usedAt }: SessionStore.StoredSession,
    isNew: boolean
  ) =>
    Effect.suspend(() => {
      const stored: Stored = { principal, handshakeMessages, openedAt, logLevel, subscriptions }
      const json = JSON.stringify(stored)
      if (json.length > maxBytesPerSession) {
        const problem = `a session has ${json.length} bytes; set sessions.maxBytesPerSession to store more than ` +
          `${maxBytesPerSession}`
        return Effect.fail(new SessionStore.SessionStoreError({ cause: new Error(problem) }))
      }
      const session = Digest.of(id)
      const of = Principal.keyOf(principal)
      return written(
        epoch,
        run(
          put,
          key(`session:${session}`),
          epoch,
          session,
          isNew ? 1 : 0,
          json,
          usedAt,
          of,
          maxSessionsPerPrincipal,
          maxSessions,
          maxBytes,
          leaseMillis,
          idleMillis
        )
      )
    })

  return {
    create: (session) => putting(session, true),
    save: (session) => putting(session, false),
    load: (id) => {
      const session = Digest.of(id)
      return failing(Effect.map(run(load, key(`session:${session}`)), (row) => {
        if (row === null) return undefined
        const [epoch, json, usedAt] = row
        // `create` and `save` have made the text from values of these types.
        const { handshakeMessages, logLevel, openedAt, principal, subscriptions } = trust<Stored>(ExactJson.parse(json))
        return {
          id,
          principal,
          handshakeMessages,
          openedAt,
          usedAt: Number(usedAt),
          epoch: Number(epoch),
          ...(logLevel === undefined ? undefined : { logLevel }),
          ...(subscriptions === undefined ? undefined : { subscriptions })
        }
      }))
    },
    touch: (id, epoch, usedAt) => {
      const session = Digest.of(id)
      return written(epoch, run(touch, key(`session:${session}`), epoch, session, usedAt, idleMillis))
    },
    remove: (id, epoch) => {
      const session = Digest.of(id)
      return written(epoch, run(remove, key(`session:${session}`), epoch, session))
    },
    removeAllOf: (principal) => {
      const batch = Effect.suspend(() => run(removeAll, key(`principal:${Principal.keyOf(principal)}`)))
      const rest: Effect.Effect<void, SessionStore.SessionStoreError> = Effect.flatMap(
        failing(batch),
        (removed) => removed === 0 ? Effect.void : rest
      )
      return rest
    }
  }
}
