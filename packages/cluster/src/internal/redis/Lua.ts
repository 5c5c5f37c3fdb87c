/**
 * The parts of the scripts that several of them have.
 *
 * A script runs in Redis as one step, so that it can compare the epoch of a session and write. The scripts of a bundle
 * read the keys of the session, the lease of its owner, and the counts of the whole store, and therefore all keys of a
 * bundle have to be on one server. Keys of several servers (Redis Cluster) would need several steps: a process could
 * be paused between the look at a lease and the claim that relies on it, and a limit of the store would be a guess.
 * A prefix with a hash tag, such as `{mcp}:`, has all keys in one slot.
 *
 * | Key                | Type   | Contents                                                                          |
 * | ------------------ | ------ | --------------------------------------------------------------------------------- |
 * | `process:P`        | hash   | the lease of a process: `a` process and address, `s` since when, `r` server       |
 * | `session:S`        | hash   | `e` epoch, `o` owner; of a stored session `j` JSON, `u` last use, `p` principal   |
 * | `sessions`         | zset   | the stored sessions by use, in milliseconds                                       |
 * | `sessions:weights` | hash   | their bytes                                                                       |
 * | `sessions:bytes`   | string | the bytes of all of them                                                          |
 * | `principal:N`      | zset   | the stored sessions of a principal by use                                         |
 * | `events:S`         | hash   | `e` epoch, `n` last number, `b` bytes; of a stream `T` name, requests; `xT` ended |
 * | `events:S:use`     | zset   | the streams of a session by use, in microseconds                                  |
 * | `events:S:T`       | list   | the events of a stream, as `number:data`                                          |
 * | `streams`          | zset   | the streams of all sessions by use, as `S:T`                                      |
 * | `streams:weights`  | hash   | their bytes and their principals, as `bytes:N`                                    |
 * | `streams:bytes`    | string | the bytes of all of them                                                          |
 * | `streams:of:N`     | zset   | the streams of a principal by use                                                 |
 * | `streams:bytes:N`  | string | the bytes of all of them                                                          |
 * | `streams:ended`    | zset   | the ended streams, and those of unknown sessions, by the time of their deletion   |
 * | `used`             | zset   | the used states by the time at which they expire                                  |
 * | `used:N`           | zset   | those of a principal                                                              |
 * | `changes`          | stream | the messages of the bus                                                           |
 * | `rate:…`           |        | the rates, by Effect's store                                                      |
 *
 * `S`, `P`, `N` and `T` are digests. Every key expires. An index outlives what it lists, so that no count goes wrong.
 */
import * as Redis from "effect/persistence/Redis"

/** Reads the clock of the server: `micros`, and `now` in milliseconds. */
const clock = `
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
`

/** Begins every script. The first argument is the prefix of the keys. */
const prelude = `
local prefix = ARGV[1]
local function number(value) return tonumber(value or 0) or 0 end
local function decimal(value) return string.format('%.0f', value) end
`

/** The longest time of a key, in milliseconds: nothing in Redis lives for ever. */
export const maxMillis = 10 * 365 * 24 * 3_600_000

/** The milliseconds for which an index outlives what it lists. */
export const indexMillis = 3_600_000

/**
 * Defines `thisRun`, which returns the id of this run of the server. A server that was started again, or that took the
 * place of another one, may have lost writes which it had confirmed. A lease therefore stands only at the run at which
 * it began: every process then asks which of its sessions it still has, and none takes a session over before its own
 * lease has stood again.
 */
export const runs = `
local function thisRun()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%x+)') or ''
end
`

const make = <Result>(lua: string) =>
  Redis.script(
    (key: string, ...values: ReadonlyArray<string | number>) => [key, ...values],
    { numberOfKeys: 1, lua }
  ).withReturnType<Result>()

/**
 * Makes a script of one key. Its arguments begin with the prefix. A Redis without memory does not run it.
 */
export const script = <Result>(lua: string) => make<Result>(`${prelude}${clock}${lua}`)

/**
 * Makes a script that adds no data, or few. A Redis without memory runs it as well: otherwise all leases would be over,
 * and no session could be deleted.
 */
export const always = <Result>(lua: string) => make<Result>(`#!lua flags=allow-oom\n${prelude}${clock}${lua}`)
