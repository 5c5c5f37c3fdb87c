/** The owners of sessions in Redis. */
import { SessionOwnersError } from "@effect-mcp/session/SessionOwners"
import type * as SessionOwners from "@effect-mcp/session/SessionOwners"
import * as Effect from "effect/Effect"
import * as Digest from "../Digest.ts"
import type { Connection } from "./Connection.ts"
import * as Lua from "./Lua.ts"
import { forgetting } from "./SessionsRedis.ts"

const renew = Lua.always<number>(`
${Lua.runs}
local run = thisRun()
local known = redis.call('HMGET', KEYS[1], 's', 'r')
local stood = known[1] and known[2] == run
redis.call('HSET', KEYS[1], 'a', ARGV[2], 's', stood and known[1] or now, 'r', run)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return stood and 1 or 0
`)

const retire = Lua.always<number>(`return redis.call('DEL', KEYS[1])`)

const locate = Lua.always<null | readonly [epoch: number, place: string | null]>(`
local row = redis.call('HMGET', KEYS[1], 'e', 'o')
if not row[1] then return false end
return { number(row[1]), row[2] and redis.call('HGET', prefix .. 'process:' .. row[2], 'a') }
`)

/** ARGV: prefix, epoch, claimer, milliseconds of a lease, milliseconds for which a session is kept. */
const claim = Lua.script<number>(`
${Lua.runs}
local row = redis.call('HMGET', KEYS[1], 'e', 'o')
local epoch = tonumber(ARGV[2])
if number(row[1]) ~= epoch then return 0 end
local claimer = redis.call('HMGET', prefix .. 'process:' .. ARGV[3], 's', 'r')
if not claimer[1] or claimer[2] ~= thisRun() then return 0 end
if row[2] and row[2] ~= ARGV[3] then
  if redis.call('EXISTS', prefix .. 'process:' .. row[2]) == 1 then return 0 end
  if tonumber(claimer[1]) + tonumber(ARGV[4]) > now then return 0 end
end
redis.call('HSET', KEYS[1], 'e', epoch + 1, 'o', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return epoch + 1
`)

/** ARGV: prefix, epoch, milliseconds for which the epoch of a session that is not stored is kept. */
const release = Lua.always<number>(`
if redis.call('HGET', KEYS[1], 'e') ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], 'o')
if redis.call('HEXISTS', KEYS[1], 'j') == 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return 1
`)

/** ARGV: prefix, epoch, session. */
const remove = Lua.always<number>(`
${forgetting}
if redis.call('HGET', KEYS[1], 'e') ~= ARGV[2] then return 0 end
forget(ARGV[3])
redis.call('DEL', KEYS[1])
return 1
`)

/** ARGV: prefix, process, and of each session its digest and its epoch. */
const lost = Lua.always<ReadonlyArray<number>>(`
local lost = {}
for index = 3, #ARGV, 2 do
  local row = redis.call('HMGET', prefix .. 'session:' .. ARGV[index], 'e', 'o')
  if row[1] ~= ARGV[index + 1] or row[2] ~= ARGV[2] then lost[#lost + 1] = (index - 3) / 2 end
end
return lost
`)

/** The time for which a session that is neither owned nor stored keeps its epoch. */
const freeMillis = 3_600_000

const failing = Effect.mapError((cause: unknown) => new SessionOwnersError({ cause }))

/** Makes a store. `idleMillis` is the time for which an unused session is kept. */
export const make = (
  { key, run }: Connection,
  { idleMillis }: { readonly idleMillis: number }
): SessionOwners.OwnerStore => {
  const processKey = (process: string) => key(`process:${Digest.of(process)}`)
  const sessionKey = (session: string) => key(`session:${Digest.of(session)}`)
  return {
    renew: ({ address, millis, process }) =>
      failing(Effect.map(
        run(renew, processKey(process), JSON.stringify([process, address]), Math.ceil(millis)),
        (stood) => stood === 1
      )),
    retire: (process) => failing(Effect.asVoid(run(retire, processKey(process)))),
    locate: (session) =>
      failing(Effect.map(run(locate, sessionKey(session)), (found) => {
        if (found === null) return { _tag: "Unknown" }
        const [epoch, place] = found
        if (place === null) return { _tag: "Free", epoch }
        // `renew` has written the text.
        const [process = "", address = ""]: ReadonlyArray<string> = JSON.parse(place)
        return { _tag: "Owned", epoch, process, address }
      })),
    claim: (session, epoch, { millis, process }) =>
      failing(Effect.map(
        run(claim, sessionKey(session), epoch, Digest.of(process), Math.ceil(millis), idleMillis),
        (claimed) => claimed === 0 ? undefined : claimed
      )),
    release: (session, epoch) => failing(Effect.asVoid(run(release, sessionKey(session), epoch, freeMillis))),
    remove: (session, epoch) => failing(Effect.asVoid(run(remove, sessionKey(session), epoch, Digest.of(session)))),
    lost: (process, sessions) =>
      sessions.length === 0 ? Effect.succeed([]) : failing(Effect.map(
        run(
          lost,
          processKey(process),
          Digest.of(process),
          ...sessions.flatMap(({ epoch, session }) => [Digest.of(session), epoch])
        ),
        (indexes) => indexes.flatMap((index) => sessions[index]?.session ?? [])
      ))
  }
}
