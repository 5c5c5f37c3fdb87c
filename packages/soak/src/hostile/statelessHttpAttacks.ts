/** The attacks of a hostile client in revision 2026-07-28, on a server over HTTP. */
import type * as net from "node:net"
import type { Attack } from "./connectionAttacks.ts"
import { nested } from "./frames.ts"
import { pause, post, type Target, write } from "./httpRequests.ts"
import * as Sockets from "./httpSockets.ts"
import * as StatelessFrames from "./statelessFrames.ts"

const requestOf = (target: Target, method: string, name: string | undefined, body: string): string =>
  post(
    target,
    body,
    undefined,
    `MCP-Protocol-Version: ${StatelessFrames.revision}\r\nMcp-Method: ${method}\r\n` +
      (name === undefined ? "" : `Mcp-Name: ${name}\r\n`)
  )

const listen = (target: Target, index: number, uris: number): string =>
  requestOf(target, "subscriptions/listen", undefined, StatelessFrames.listen(index, uris))

const ask = (target: Target, body: string): string => requestOf(target, "tools/call", "ask", body)

/** Opens streams of notifications on one socket each. `then` decides what becomes of the socket. */
const streams = (limit: number, uris: number, then: (socket: net.Socket) => Promise<unknown>): Attack<Target> =>
  Sockets.open(limit, async (target, socket, index) => {
    if (await write(socket, listen(target, index, uris))) await then(socket)
  })

/** Waits for the first bytes of the response, at most a second. */
const answered = (socket: net.Socket): Promise<unknown> =>
  Promise.race([new Promise((resolve) => socket.once("data", resolve)), pause(1000)])

/** Sends requests one after another on several sockets. */
const repeated = (
  sockets: number,
  isReading: boolean,
  text: (target: Target, index: number) => string
): Attack<Target> =>
  Sockets.renewed(sockets, async (target, socket, signal) => {
    if (isReading) socket.resume()
    else socket.pause()
    for (let index = 1; !signal.aborted && await write(socket, text(target, index)); index++) {
      if (isReading) await answered(socket)
      else if (index % 16 === 0) await pause(0)
    }
  })

export const statelessHttpAttacks: Readonly<Record<string, Attack<Target>>> = {
  "streams of 2,000 changing resources, unread": streams(300, 2000, async (socket) => void socket.pause()),
  "streams of 300,000 resources": streams(300, 300_000, answered),
  "streams that are reset after their beginning": streams(8, 10, async (socket) => {
    await answered(socket)
    socket.resetAndDestroy()
  }),
  "calls that ask, and are never repeated": repeated(
    8,
    true,
    (target, index) => ask(target, StatelessFrames.ask(index))
  ),
  "calls that ask with 60 KB of nested arrays, unread": repeated(
    8,
    false,
    (target, index) => ask(target, StatelessFrames.ask(index, `"arguments":{"x":${nested(60_000)}}`))
  ),
  "answers with a foreign state of 60 KB": repeated(
    8,
    true,
    (target, index) => ask(target, StatelessFrames.foreignAnswer(index, 60_000, 1000))
  )
}
