/** The events of streams in Redis. */
import type { RequestId } from "@effect-mcp/protocol"
import * as EventStore from "@effect-mcp/session/EventStore"
import { endedStream } from "@effect-mcp/session/internal"
import { SupersededError } from "@effect-mcp/session/SupersededError"
import * as Effect from "effect/Effect"
import * as Digest from "../Digest.ts"
import * as EventId from "../EventId.ts"
import type { Connection } from "./Connection.ts"
import * as Lua from "./Lua.ts"

/** The approximate memory of an event without its text, and of a stream without its events and its name. */
const eventBytes = 32
const streamBytes = 1_280

/**
 * Defines `parse`, which returns the number and the data of an event. A list takes less memory than a stream of
 * Redis, which begins with 4 KiB.
 */
const parsing = `
local function parse(event)
  local index = string.find(event, ':', 1, true)
  return string.sub(event, 1, index - 1), string.sub(event, index + 1)
end
`

/**
 * The time for which a stream of a session that is neither stored nor owned is kept after its last event. Its session
 * may just be created. An event that reaches Redis after its session was deleted begins such a stream.
 */
const unstoredMillis = 60_000

/** The time for which a session without streams keeps its epoch and its last number. */
const emptyMillis = 3_600_000

/** The characters of a digest that name a stream: streams are distinct within their session only. */
const digestLength = 22

/** Defines `weighed`, which returns the bytes of a stream and its principal, or nothing of an unknown one. */
const weighing = `
local function weighed(member)
  local found = redis.call('HGET', prefix .. 'streams:weights', member)
  if not found then return end
  local bytes, principal = string.match(found, '^(%d+):(.*)$')
  return tonumber(bytes), principal
end
`

/**
 * Defines `weigh`, which changes the bytes of a stream, `forget`, which deletes it, and `shift`, which removes its
 * oldest events until their bytes are at least `needed`. An index has the bytes of each stream, and its principal: the
 * stream and its session may have expired.
 */
const forgetting = `
${weighing}
local function add(principal, change)
  redis.call('INCRBY', prefix .. 'streams:bytes', change)
  local own = prefix .. 'streams:bytes:' .. principal
  -- One that has expired would live for ever, and be wrong.
  if principal ~= '' and (change > 0 or redis.call('EXISTS', own) == 1) then redis.call('INCRBY', own, change) end
end
local function weigh(member, change, principal)
  local bytes, known = weighed(member)
  if known ~= '' then principal = known or principal end
  principal, bytes = principal or '', bytes or 0
  redis.call('HSET', prefix .. 'streams:weights', member, decimal(bytes + change) .. ':' .. principal)
  add(principal, change)
  -- A stream that began before its session was stored counts for the principal of the session from now on.
  if known == '' and principal ~= '' then redis.call('INCRBY', prefix .. 'streams:bytes:' .. principal, bytes) end
end
local function forget(session, stream)
  local meta = prefix .. 'events:' .. session
  local member = session .. ':' .. stream
  local weight, principal = weighed(member)
  redis.call('UNLINK', meta .. ':' .. stream)
  redis.call('ZREM', prefix .. 'streams', member)
  redis.call('ZREM', prefix .. 'streams:ended', member)
  if weight then
    redis.call('HDEL', prefix .. 'streams:weights', member)
    redis.call('ZREM', prefix .. 'streams:of:' .. principal, member)
    add(principal, -weight)
  end
  -- Without this, the counter of a session that has expired would live for ever.
  if redis.call('EXISTS', meta) == 0 then return end
  redis.call('HDEL', meta, stream, 'x' .. stream)
  redis.call('ZREM', meta .. ':use', stream)
  if weight then redis.call('HINCRBY', meta, 'b', -weight) end
  if redis.call('EXISTS', meta .. ':use') == 0 then redis.call('PEXPIRE', meta, ${emptyMillis}) end
end
local function shift(session, stream, needed, kept)
  local data = prefix .. 'events:' .. session .. ':' .. stream
  local freed, count, most = 0, 0, redis.call('LLEN', data) - kept
  for _, event in ipairs(redis.call('LRANGE', data, 0, 99)) do
    if freed >= needed or count == most then break end
    freed = freed + #event + ${eventBytes}
    count = count + 1
  end
  if count == most and kept == 0 then return forget(session, stream) end
  redis.call('LPOP', data, count)
  weigh(session .. ':' .. stream, -freed)
  redis.call('HINCRBY', prefix .. 'events:' .. session, 'b', -freed)
end
local function split(member)
  return string.match(member, '^(.*):(.*)$')
end
-- Removes events of the least recently used streams of an index until their bytes are in bounds.
local function bound(index, total, most)
  while number(redis.call('GET', total)) > most do
    local oldest = redis.call('ZRANGE', index, 0, 0)[1]
    if not oldest then break end
    local session, stream = split(oldest)
    -- Without this, a stream that is in no other index any more would be found again for ever.
    if not weighed(oldest) then redis.call('ZREM', index, oldest) end
    shift(session, stream, number(redis.call('GET', total)) - most, 0)
  end
end
local function expire(idle)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'streams:ended', '-inf', now, 'LIMIT', 0, 16)) do
    forget(split(member))
  end
  local unused = decimal(micros - idle * 1000)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'streams', '-inf', unused, 'LIMIT', 0, 16)) do
    forget(split(member))
  end
end
`

/** Ends a script with -1 if the session has a later epoch. ARGV: prefix, session, epoch. */
const fencing = `
local session, epoch = ARGV[2], tonumber(ARGV[3])
local meta = KEYS[1]
local claimed = number(redis.call('HGET', prefix .. 'session:' .. session, 'e'))
if math.max(claimed, number(redis.call('HGET', meta, 'e'))) > epoch then return -1 end
`

/**
 * ARGV: prefix, session, epoch, stream, name and requests, data, events of a stream, bytes of a stream, of a session,
 * of a principal, of all, milliseconds. Returns the number of the event, or -2 if the stream has ended.
 */
const append = Lua.script<number>(`
${fencing}${forgetting}
local stream, data = ARGV[4], ARGV[6]
local idle = tonumber(ARGV[12])
local lifetime = claimed > 0 and idle or math.min(idle, ${unstoredMillis})
expire(idle)
-- The clock may have been set back.
local id = math.max(micros, number(redis.call('HGET', meta, 'n')) + 1)
local member = session .. ':' .. stream
local key = meta .. ':' .. stream
-- A stream that has expired is a new one.
if redis.call('HEXISTS', meta, stream) == 1 and redis.call('EXISTS', key) == 0 then forget(session, stream) end
if redis.call('HEXISTS', meta, 'x' .. stream) == 1 then return -2 end
local event = decimal(id) .. ':' .. data
local weight = #event + ${eventBytes}
if redis.call('HSETNX', meta, stream, ARGV[5]) == 1 then weight = weight + #ARGV[5] + ${streamBytes} end
redis.call('HSET', meta, 'n', decimal(id))
redis.call('RPUSH', key, event)
redis.call('ZADD', meta .. ':use', decimal(id), stream)
redis.call('ZADD', prefix .. 'streams', decimal(id), member)
weigh(member, weight, redis.call('HGET', prefix .. 'session:' .. session, 'p') or '')
local bytes, principal = weighed(member)
local own, ownBytes = prefix .. 'streams:of:' .. principal, prefix .. 'streams:bytes:' .. principal
local ofSession = redis.call('HINCRBY', meta, 'b', weight)
redis.call('PEXPIRE', key, lifetime)
redis.call('PEXPIRE', meta, lifetime)
redis.call('PEXPIRE', meta .. ':use', lifetime)
local ended = prefix .. 'streams:ended'
if claimed > 0 then
  redis.call('ZREM', ended, member)
else
  redis.call('ZADD', ended, now + lifetime, member)
  local left = lifetime + ${Lua.indexMillis}
  if redis.call('PTTL', ended) < left then redis.call('PEXPIRE', ended, left) end
end
local indexes = { prefix .. 'streams', prefix .. 'streams:weights', prefix .. 'streams:bytes' }
if principal ~= '' then
  redis.call('ZADD', own, decimal(id), member)
  indexes[4], indexes[5] = own, ownBytes
end
for _, index in ipairs(indexes) do redis.call('PEXPIRE', index, idle + ${Lua.indexMillis}) end
local count = redis.call('LLEN', key)
while count > tonumber(ARGV[7]) or (bytes > tonumber(ARGV[8]) and count > 1) do
  -- The newest event is kept even if it is larger than a stream may be.
  shift(session, stream, count > tonumber(ARGV[7]) and 1 or bytes - tonumber(ARGV[8]), 1)
  count = redis.call('LLEN', key)
  bytes = weighed(member)
end
ofSession = number(redis.call('HGET', meta, 'b'))
while ofSession > tonumber(ARGV[9]) do
  local oldest = redis.call('ZRANGE', meta .. ':use', 0, 0)[1]
  if not oldest then break end
  shift(session, oldest, ofSession - tonumber(ARGV[9]), 0)
  ofSession = number(redis.call('HGET', meta, 'b'))
end
if principal ~= '' then bound(own, ownBytes, tonumber(ARGV[10])) end
bound(prefix .. 'streams', prefix .. 'streams:bytes', tonumber(ARGV[11]))
return decimal(id)
`)

/** ARGV: prefix, stream, number, member. Returns whether the stream has ended, and the number and data of each. */
const replay = Lua.always<null | ReadonlyArray<string>>(`
${parsing}${weighing}
local found
for _, event in ipairs(redis.call('LRANGE', KEYS[1] .. ':' .. ARGV[2], 0, -1)) do
  local id, data = parse(event)
  if found then
    found[#found + 1] = id
    found[#found + 1] = data
  elseif id == ARGV[3] then
    found = { redis.call('HEXISTS', KEYS[1], 'x' .. ARGV[2]) == 1 and '1' or '0' }
  end
end
if not found then return false end
redis.call('ZADD', KEYS[1] .. ':use', 'XX', decimal(micros), ARGV[2])
redis.call('ZADD', prefix .. 'streams', 'XX', decimal(micros), ARGV[4])
local _, principal = weighed(ARGV[4])
if principal then redis.call('ZADD', prefix .. 'streams:of:' .. principal, 'XX', decimal(micros), ARGV[4]) end
return found
`)

/** ARGV: prefix, session, epoch, stream, milliseconds for which an ended stream is kept. */
const end = Lua.always<number>(`
${fencing}
local stream = ARGV[4]
if redis.call('HEXISTS', meta, stream) == 0 or redis.call('HSETNX', meta, 'x' .. stream, 1) == 0 then return 0 end
redis.call('ZADD', prefix .. 'streams:ended', now + tonumber(ARGV[5]), session .. ':' .. stream)
redis.call('PEXPIRE', prefix .. 'streams:ended', tonumber(ARGV[5]) + ${Lua.indexMillis})
redis.call('PEXPIRE', meta .. ':' .. stream, ARGV[5])
return 1
`)

/** ARGV: prefix, session, epoch, milliseconds. Returns of each stream its name and requests, and its events. */
const takeOver = Lua.always<-1 | ReadonlyArray<ReadonlyArray<string>>>(`
${fencing}${parsing}
redis.call('HSET', meta, 'e', ARGV[3])
redis.call('PEXPIRE', meta, claimed > 0 and ARGV[4] or math.min(tonumber(ARGV[4]), ${unstoredMillis}))
local streams = {}
for _, stream in ipairs(redis.call('ZRANGE', meta .. ':use', 0, -1)) do
  if redis.call('HEXISTS', meta, 'x' .. stream) == 0 then
    local found = { redis.call('HGET', meta, stream) }
    for _, event in ipairs(redis.call('LRANGE', meta .. ':' .. stream, 0, -1)) do
      found[#found + 1], found[#found + 2] = parse(event)
    end
    if #found > 1 then streams[#streams + 1] = found end
  end
end
return streams
`)

/**
 * ARGV: prefix, session, epoch. Returns whether there are more streams: thousands would stop Redis for too long. The
 * epoch and the last number of the session are kept for a while.
 */
const drop = Lua.always<number>(`
${fencing}${forgetting}
redis.call('HSET', meta, 'e', ARGV[3])
for _, stream in ipairs(redis.call('ZRANGE', meta .. ':use', 0, 199)) do forget(session, stream) end
redis.call('PEXPIRE', meta, ${emptyMillis})
return redis.call('EXISTS', meta .. ':use')
`)

/** Limits of the events. */
export interface Bounds {
  readonly maxEventsPerStream: number
  readonly maxBytesPerStream: number
  readonly maxBytesPerSession: number
  readonly maxBytesPerPrincipal: number
  readonly maxBytes: number
  readonly endedMillis: number
  readonly idleMillis: number
}

const failing = Effect.mapError((cause: unknown) => new EventStore.EventStoreError({ cause }))

const streamOf = (name: string): string => Digest.of(name).slice(0, digestLength)

/** Returns events from the numbers and the data that follow each other in a reply. */
const eventsOf = (
  stream: string,
  [, ...values]: ReadonlyArray<string>
): ReadonlyArray<EventStore.StoredEvent> =>
  Array.from({ length: values.length / 2 }, (_, index) => ({
    id: EventId.of({ stream, number: values[2 * index] ?? "" }),
    data: values[2 * index + 1] ?? ""
  }))

/** Makes a store. */
export const make = (
  { key, run }: Connection,
  {
    endedMillis,
    idleMillis,
    maxBytes,
    maxBytesPerPrincipal,
    maxBytesPerSession,
    maxBytesPerStream,
    maxEventsPerStream
  }: Bounds
): EventStore.EventStore["Service"] => {
  /** Returns the reply, unless the epoch was an earlier one. */
  const written = <A>(epoch: number, write: Effect.Effect<A | -1, unknown>) =>
    Effect.flatMap(
      failing(write),
      (reply) => reply === -1 ? Effect.fail(new SupersededError({ epoch })) : Effect.succeed(reply)
    )

  return {
    append: ({ epoch, requests, session, stream }, data) => {
      const digest = Digest.of(session)
      const appended = written(
        epoch,
        run(
          append,
          key(`events:${digest}`),
          digest,
          epoch,
          streamOf(stream),
          JSON.stringify([stream, requests]),
          data,
          maxEventsPerStream,
          maxBytesPerStream,
          maxBytesPerSession,
          maxBytesPerPrincipal,
          maxBytes,
          idleMillis
        )
      )
      return Effect.flatMap(appended, (number) =>
        number === -2
          ? Effect.fail(new EventStore.EventStoreError({ cause: endedStream(stream) }))
          : Effect.succeed(EventId.of({ stream, number: String(number) })))
    },
    replay: (session, after) => {
      const event = EventId.parse(after)
      if (event === undefined) return Effect.succeed(undefined)
      const digest = Digest.of(session)
      const stream = streamOf(event.stream)
      const found = run(replay, key(`events:${digest}`), stream, event.number, `${digest}:${stream}`)
      return failing(Effect.map(found, (values) =>
        values === null
          ? undefined
          : { stream: event.stream, events: eventsOf(event.stream, values), ended: values[0] === "1" }))
    },
    end: ({ epoch, session, stream }) => {
      const digest = Digest.of(session)
      return Effect.asVoid(
        written(epoch, run(end, key(`events:${digest}`), digest, epoch, streamOf(stream), endedMillis))
      )
    },
    takeOver: (session, epoch) => {
      const digest = Digest.of(session)
      const taken = written(epoch, run(takeOver, key(`events:${digest}`), digest, epoch, idleMillis))
      return Effect.map(taken, (streams) =>
        streams.map((values) => {
          // `append` has written the text.
          const [stream, requests]: readonly [string, ReadonlyArray<RequestId.RequestId>] = JSON.parse(values[0] ?? "")
          return { stream, requests, events: eventsOf(stream, values) }
        }))
    },
    drop: (session, epoch) => {
      const digest = Digest.of(session)
      const dropped: Effect.Effect<void, EventStore.EventStoreError | SupersededError> = Effect.flatMap(
        written(epoch, run(drop, key(`events:${digest}`), digest, epoch)),
        (hasMore) => hasMore === 1 ? dropped : Effect.void
      )
      return dropped
    }
  }
}
