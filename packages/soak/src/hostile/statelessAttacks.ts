/** The attacks of a hostile client in revision 2026-07-28, on a server over a transport with one connection. */
import type { Connection } from "./Connection.ts"
import type { Attack, Open } from "./connectionAttacks.ts"
import { nested } from "./frames.ts"
import * as StatelessFrames from "./statelessFrames.ts"

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** Sends one text after another on a connection without a handshake. A new connection replaces a closed one. */
const sending =
  (options: { readonly isReading: boolean; readonly millis: number }, text: (index: number) => string): Attack<Open> =>
  async (open, signal) => {
    const aborted = new Promise<boolean>((resolve) => {
      signal.addEventListener("abort", () => resolve(false), { once: true })
    })
    const attackOnce = async (connection: Connection): Promise<void> => {
      connection.setReading(options.isReading)
      for (let index = 1; !signal.aborted; index++) {
        if (!await Promise.race([connection.send(text(index)), aborted])) return
        if (options.millis > 0 || index % 16 === 0) await pause(options.millis)
      }
    }
    while (!signal.aborted) {
      const connection = await open().catch(() => undefined)
      if (connection === undefined) await pause(100)
      else {
        await attackOnce(connection)
        connection.close()
      }
    }
  }

const reading = { isReading: true, millis: 0 }

export const statelessAttacks: Readonly<Record<string, Attack<Open>>> = {
  "streams of 2,000 changing resources, unread": sending(
    { isReading: false, millis: 1 },
    (index) => StatelessFrames.listen(index, 2000)
  ),
  "streams of 300,000 resources": sending(
    { isReading: true, millis: 100 },
    (index) => StatelessFrames.listen(index, 300_000)
  ),
  "calls that ask, and are never repeated": sending(reading, (index) => StatelessFrames.ask(index)),
  "calls that ask with 60 KB of nested arrays, unread": sending(
    { isReading: false, millis: 0 },
    (index) => StatelessFrames.ask(index, `"arguments":{"x":${nested(60_000)}}`)
  ),
  "answers with a foreign state of 60 KB": sending(
    reading,
    (index) => StatelessFrames.foreignAnswer(index, 60_000, 1000)
  )
}
