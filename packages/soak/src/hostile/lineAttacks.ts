/** The attacks of a hostile client on a server over a transport with one connection for each session. */
import * as Frames from "./frames.ts"
import type { Line } from "./Line.ts"

/** Opens a connection to the victim. Rejects if the victim rejects the connection. */
export type Open = () => Promise<Line>

/** An attack, which runs until its signal aborts. */
export type Attack<Way> = (way: Way, signal: AbortSignal) => Promise<void>

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

const introduce = async (line: Line, revision?: string, capabilities?: string): Promise<void> => {
  await line.send(Frames.initialize(revision, capabilities))
  await line.send(Frames.initialized)
}

/** Repeats an attack on one connection. A new connection replaces one that the victim closes. */
const onEach =
  (revision: string | undefined, then: (line: Line, signal: AbortSignal) => Promise<void>): Attack<Open> =>
  async (open, signal) => {
    while (!signal.aborted) {
      const line = await open().catch(() => undefined)
      if (line === undefined) {
        await pause(100)
        continue
      }
      await introduce(line, revision)
      await then(line, signal)
      line.close()
    }
  }

/** Sends one text after another, as fast as back-pressure allows. */
const pour = async (line: Line, signal: AbortSignal, text: (index: number) => string): Promise<void> => {
  for (let index = 1; !signal.aborted; index++) {
    if (!await Promise.race([line.send(text(index)), untilAborted(signal)])) return
    if (index % 16 === 0) await pause(0)
  }
}

const untilAborted = (signal: AbortSignal): Promise<false> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(false)
    else signal.addEventListener("abort", () => resolve(false), { once: true })
  })

const unread = (text: (index: number) => string): Attack<Open> =>
  onEach(undefined, (line, signal) => {
    line.read(false)
    return pour(line, signal, text)
  })

const paced = (revision: string | undefined, millis: number, text: (index: number) => string): Attack<Open> =>
  onEach(revision, async (line, signal) => {
    for (let index = 1; !signal.aborted && await line.send(text(index)); index++) await pause(millis)
  })

/**
 * Opens as many connections as the victim accepts, up to a number, starts each in the same way, and keeps them open.
 */
const manyLines = (most: number, begin: (line: Line) => Promise<unknown>): Attack<Open> => async (open, signal) => {
  const lines: Array<Line> = []
  while (!signal.aborted) {
    const line = await open().catch(() => undefined)
    if (line === undefined) await pause(50)
    else {
      lines.push(line)
      await Promise.race([begin(line), untilAborted(signal)])
    }
    if (lines.length >= most) lines.shift()?.close()
  }
  for (const line of lines) line.close()
}

const manySessions = (most: number, capabilities: string): Attack<Open> =>
  manyLines(most, (line) => line.send(Frames.initialize(undefined, capabilities)))

export const lineAttacks: Readonly<Record<string, Attack<Open>>> = {
  "pings with ids of 4 MB, unread": unread((index) => Frames.ping(index, 4_000_000)),
  "pings with ids of 4,000 bytes, unread": unread((index) => Frames.ping(index, 4000)),
  "pings with ids of 4,000 bytes, read now and then": onEach(undefined, async (line, signal) => {
    line.read(false)
    const sip = setInterval(() => {
      line.read(true)
      setImmediate(() => line.read(false))
    }, 500)
    await pour(line, signal, (index) => Frames.ping(index, 4000))
    clearInterval(sip)
  }),
  "invented methods of 64 KB, unread": unread((index) => Frames.request(index, `${index}`.padEnd(65_536, "m"))),
  "batches of 4.2 MB without a message": paced("2025-03-26", 100, () => Frames.badBatch(4_190_000)),
  "frames of 4 MB of nested arrays": paced(
    undefined,
    100,
    (index) => Frames.call(index, "echo", Frames.nested(4_100_000))
  ),
  "calls of 60 KB of nested arrays that wait": onEach(undefined, async (line, signal) => {
    for (let index = 1; index <= 600 && !signal.aborted; index++) {
      if (!await line.send(Frames.call(index, "wait", `{"x":${Frames.nested(60_000)}}`))) return
    }
    await Promise.race([line.closed, untilAborted(signal)])
  }),
  "calls with progress tokens of 4 MB": paced(undefined, 20, (index) => Frames.callWithToken(index, 4_000_000)),
  "calls that log 20 MB, unread": unread((index) => Frames.call(index, "flood", "{}")),
  "answers of 1 MB, unread": unread((index) => Frames.call(index, "echo", `{"bytes":1000000}`)),
  "10,000 invented names": paced(
    undefined,
    1,
    (index) => index % 2 === 0 ? Frames.request(index, `m/${index}`) : Frames.call(index, `tool-${index}`, "{}")
  )
}

/** Further attacks with many connections. Stdio has only one. */
export const manyLinesAttacks: Readonly<Record<string, Attack<Open>>> = {
  "messages of 4 MB that never end": manyLines(400, async (line) => {
    await introduce(line)
    await line.begin(`"${"x".repeat(4_000_000)}`)
  }),
  "sessions with 60 KB of nested capabilities": manySessions(
    400,
    `{"experimental":{"x":{"y":${Frames.nested(60_000)}}}}`
  ),
  "sessions, as many as it takes": manySessions(400, "{}")
}
