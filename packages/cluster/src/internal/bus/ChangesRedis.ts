/** The channel of changes in Redis: a stream of bounded length. */
import type * as ChangeBus from "@effect-mcp/session/ChangeBus"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redis from "effect/persistence/Redis"

/** The number of messages that are kept, about. */
const maxMessages = 1_000

/** The number of messages of one command. */
const pageSize = 200

const messageBytes = 8_000

/** The time after its last use for which the stream is kept, in milliseconds. */
const unusedMillis = 3_600_000

/** The position before all messages. */
const start = "0-0"

/** The times of a reader, in milliseconds. */
export interface Times {
  /** The time for which Redis waits for a message. */
  readonly block: number
  /** The time after which a command counts as lost, beside the time that it blocks. */
  readonly lost: number
}

const defaultTimes: Times = { block: 5_000, lost: 5_000 }

const append = Redis.script(
  (key: string, message: string) => [key, message],
  {
    numberOfKeys: 1,
    lua: `
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ${maxMessages}, '*', 'message', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ${unusedMillis})
`
  }
)

/** The error of an answer of Redis that is none. */
class UnexpectedAnswer extends Data.TaggedError("UnexpectedAnswer")<{ readonly command: string }> {
  override get message(): string {
    return `${this.command}: unexpected answer`
  }
}

/** Returns the entries of a stream: their ids and messages. */
const entriesOf = (
  command: string,
  answer: unknown
): Effect.Effect<ReadonlyArray<readonly [string, string]>, UnexpectedAnswer> => {
  if (!Array.isArray(answer)) return Effect.fail(new UnexpectedAnswer({ command }))
  const entries: Array<readonly [string, string]> = []
  for (const entry of answer) {
    const [id, fields]: ReadonlyArray<unknown> = Array.isArray(entry) ? entry : []
    const message: unknown = Array.isArray(fields) ? fields[1] : undefined
    // An entry of another program is malformed, which is a gap.
    if (typeof id !== "string") return Effect.fail(new UnexpectedAnswer({ command }))
    entries.push([id, typeof message === "string" ? message : ""])
  }
  return Effect.succeed(entries)
}

/**
 * Returns the connection to a stream. A reader holds a connection of its own, which does not connect again, and knows
 * what it has read. A subscriber of Effect connects again without a report, and loses what was published meanwhile.
 *
 * The stream expires when it has neither writers nor readers: a reader that has waited extends its time.
 */
export const connection = (
  redis: Redis.Redis["Service"],
  key: string,
  { block, lost } = defaultTimes
): ChangeBus.ChangeConnection => ({
  messageBytes,
  receive: ({ onGap, onMessage, onOpen }) =>
    Effect.scoped(Effect.gen(function*() {
      const { send } = yield* redis.reserve
      const run = (millis: number, command: string, ...args: ReadonlyArray<string>) =>
        Effect.timeout(send(command, ...args), Duration.millis(millis + lost))
      const range = (command: "XRANGE" | "XREVRANGE", from: string, to: string, count: number) =>
        Effect.flatMap(run(0, command, key, from, to, "COUNT", String(count)), (answer) => entriesOf(command, answer))

      const [newest] = yield* range("XREVRANGE", "+", "-", 1)
      let position = newest?.[0] ?? start
      onOpen()
      while (true) {
        const answer = yield* run(block, "XREAD", "COUNT", "1", "BLOCK", String(block), "STREAMS", key, position)
        if (answer === null) {
          yield* run(0, "PEXPIRE", key, String(unusedMillis))
          continue
        }
        const entries = yield* range("XRANGE", position, "+", pageSize)
        // A stream without the position was trimmed, or has expired: it may lack later messages as well.
        const isComplete = position === start ? entries.length < pageSize : entries[0]?.[0] === position
        if (!isComplete) onGap()
        for (const [id, message] of entries) {
          if (id === position) continue
          position = id
          onMessage(message)
        }
      }
    })),
  send: (text) => redis.eval(append)(key, text)
})
