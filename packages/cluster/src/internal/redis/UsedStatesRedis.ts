/** The states that clients have used, in Redis. */
import * as UsedStates from "@effect-mcp/session/UsedStates"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Digest from "../Digest.ts"
import * as Principal from "../Principal.ts"
import type { Connection } from "./Connection.ts"
import * as Lua from "./Lua.ts"

/**
 * ARGV: prefix, state, milliseconds for which it is kept, principal, capacity. Returns the numbers of states if there
 * is no room: of all, and of the principal.
 */
const use = Lua.script<number | readonly [number, number]>(`
local own = prefix .. 'used:' .. ARGV[4]
-- Returns the number of states that have not expired, and removes some of the others.
local function count(states)
  local expired = redis.call('ZCOUNT', states, '-inf', now)
  if expired > 0 then redis.call('ZREMRANGEBYRANK', states, 0, math.min(expired, 1000) - 1) end
  return redis.call('ZCARD', states) - math.max(expired - 1000, 0)
end
local all, ofPrincipal = count(KEYS[1]), count(own)
if number(redis.call('ZSCORE', KEYS[1], ARGV[2])) > now then return 0 end
if ofPrincipal >= tonumber(ARGV[5]) - all then return { all, ofPrincipal } end
local expiresAt = now + tonumber(ARGV[3])
for _, states in ipairs({ KEYS[1], own }) do
  redis.call('ZADD', states, expiresAt, ARGV[2])
  redis.call('PEXPIREAT', states, redis.call('ZRANGE', states, -1, -1, 'WITHSCORES')[2])
end
return 1
`)

/** Makes a store. */
export const make = ({ key, run }: Connection, capacity: number): UsedStates.UsedStates => ({
  use: (id, expiresAt, principal) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      // A state expires by the clock of the process that checks it, so Redis gets the time that is left.
      run(
        use,
        key("used"),
        Digest.of(id),
        Math.ceil(Math.min(Math.max(expiresAt - now, 1), Lua.maxMillis)),
        Principal.keyOf(principal),
        capacity
      )).pipe(
        Effect.flatMap((reply) => {
          if (typeof reply === "number") return Effect.succeed(reply === 1)
          const [all, own] = reply
          const problem = `${all} of ${capacity} states are stored already, ${own} of them of this principal; ` +
            "set usedStates.capacity to allow more"
          return Effect.fail(new Error(problem))
        }),
        Effect.mapError((cause) => new UsedStates.UsedStatesError({ cause }))
      )
})
