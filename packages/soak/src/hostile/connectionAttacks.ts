/** The attacks of a hostile client on a server over a transport with one connection for each session. */
import type { Connection } from "./Connection.ts"
import * as Frames from "./frames.ts"

/** Opens a connection to the victim. Rejects if the victim rejects the connection. */
export type Open = () => Promise<Connection>

/** An attack, which runs until its signal aborts. */
export type Attack<Target> = (target: Target, signal: AbortSignal) => Promise<void>

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

const handshake = async (connection: Connection, revision?: string, capabilities?: string): Promise<void> => {
  await connection.send(Frames.initialize(revision, capabilities))
  await connection.send(Frames.initialized)
}

/** Repeats an attack on one connection. A new connection replaces one that the victim closes. */
const onEach =
  (revision: string | undefined, then: (connection: Connection, signal: AbortSignal) => Promise<void>): Attack<Open> =>
  async (open, signal) => {
    while (!signal.aborted) {
      const connection = await open().catch(() => undefined)
      if (connection === undefined) {
        await pause(100)
        continue
      }
      await handshake(connection, revision)
      await then(connection, signal)
      connection.close()
    }
  }

/** Sends one text after another, as fast as back-pressure allows. */
const sendForever = async (
  connection: Connection,
  signal: AbortSignal,
  text: (index: number) => string
): Promise<void> => {
  for (let index = 1; !signal.aborted; index++) {
    if (!await Promise.race([connection.send(text(index)), untilAborted(signal)])) return
    if (index % 16 === 0) await pause(0)
  }
}

const untilAborted = (signal: AbortSignal): Promise<false> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(false)
    else signal.addEventListener("abort", () => resolve(false), { once: true })
  })

const unread = (text: (index: number) => string): Attack<Open> =>
  onEach(undefined, (connection, signal) => {
    connection.setReading(false)
    return sendForever(connection, signal, text)
  })

const paced = (revision: string | undefined, millis: number, text: (index: number) => string): Attack<Open> =>
  onEach(revision, async (connection, signal) => {
    for (let index = 1; !signal.aborted && await connection.send(text(index)); index++) await pause(millis)
  })

/**
 * Opens as many connections as the victim accepts, up to a number, starts each in the same way, and keeps them open.
 */
const manyConnections =
  (limit: number, start: (connection: Connection) => Promise<unknown>): Attack<Open> => async (open, signal) => {
    const connections: Array<Connection> = []
    while (!signal.aborted) {
      const connection = await open().catch(() => undefined)
      if (connection === undefined) await pause(50)
      else {
        connections.push(connection)
        await Promise.race([start(connection), untilAborted(signal)])
      }
      if (connections.length >= limit) connections.shift()?.close()
    }
    for (const connection of connections) connection.close()
  }

const manySessions = (limit: number, capabilities: string): Attack<Open> =>
  manyConnections(limit, (connection) => connection.send(Frames.initialize(undefined, capabilities)))

export const connectionAttacks: Readonly<Record<string, Attack<Open>>> = {
  "pings with ids of 4 MB, unread": unread((index) => Frames.ping(index, 4_000_000)),
  "pings with ids of 4,000 bytes, unread": unread((index) => Frames.ping(index, 4000)),
  "pings with ids of 4,000 bytes, read rarely": onEach(undefined, async (connection, signal) => {
    connection.setReading(false)
    const timer = setInterval(() => {
      connection.setReading(true)
      setImmediate(() => connection.setReading(false))
    }, 500)
    await sendForever(connection, signal, (index) => Frames.ping(index, 4000))
    clearInterval(timer)
  }),
  "unknown methods of 64 KB, unread": unread((index) => Frames.request(index, `${index}`.padEnd(65_536, "m"))),
  "batches of 4.2 MB without a message": paced("2025-03-26", 100, () => Frames.badBatch(4_190_000)),
  "frames of 4 MB of nested arrays": paced(
    undefined,
    100,
    (index) => Frames.call(index, "echo", Frames.nested(4_100_000))
  ),
  "calls of 60 KB of nested arrays that never return": onEach(undefined, async (connection, signal) => {
    for (let index = 1; index <= 600 && !signal.aborted; index++) {
      if (!await connection.send(Frames.call(index, "wait", `{"x":${Frames.nested(60_000)}}`))) return
    }
    await Promise.race([connection.closed, untilAborted(signal)])
  }),
  "calls with progress tokens of 4 MB": paced(undefined, 20, (index) => Frames.callWithToken(index, 4_000_000)),
  "calls that log 20 MB, unread": unread((index) => Frames.call(index, "flood", "{}")),
  "results of 1 MB, unread": unread((index) => Frames.call(index, "echo", `{"bytes":1000000}`)),
  "10,000 unknown names": paced(
    undefined,
    1,
    (index) => index % 2 === 0 ? Frames.request(index, `m/${index}`) : Frames.call(index, `tool-${index}`, "{}")
  )
}

/** Further attacks with many connections. Stdio has only one. */
export const multiConnectionAttacks: Readonly<Record<string, Attack<Open>>> = {
  "messages of 4 MB that never end": manyConnections(400, async (connection) => {
    await handshake(connection)
    await connection.sendUnfinished(`"${"x".repeat(4_000_000)}`)
  }),
  "sessions with 60 KB of nested capabilities": manySessions(
    400,
    `{"experimental":{"x":{"y":${Frames.nested(60_000)}}}}`
  ),
  "as many sessions as possible": manySessions(400, "{}")
}
