/** The attacks of a hostile client on a server below the messages of a WebSocket, on sockets of its own. */
import * as net from "node:net"
import { drained } from "./drained.ts"
import * as Frames from "./frames.ts"
import type { Attack } from "./lineAttacks.ts"

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** A frame from a client, masked with zeros. */
const frame = (opcode: number, payload: Uint8Array | string, final = true): Buffer => {
  const body = Buffer.from(payload)
  const first = (final ? 0x80 : 0) | opcode
  const head = body.length < 126
    ? Buffer.from([first, 0x80 | body.length])
    : body.length < 65_536
    ? Buffer.from([first, 0x80 | 126, body.length >> 8, body.length & 0xFF])
    : Buffer.from([first, 0x80 | 127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((shift) => (body.length >> shift) & 0xFF)])
  return Buffer.concat([head, Buffer.alloc(4), body])
}

/** Opens a WebSocket by hand. */
const open = (url: URL): Promise<net.Socket | undefined> =>
  new Promise((resolve) => {
    const socket = net.connect(Number(url.port), url.hostname)
    socket.on("error", () => socket.destroy()).once("close", () => resolve(undefined))
    socket.once("data", (head) => resolve(String(head).startsWith("HTTP/1.1 101") ? socket : undefined))
    socket.write(
      `GET ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: mcp\r\n\r\n"
    )
  })

/** Sends the same again and again on so many connections; one that the victim has closed is followed by the next. */
const flood = (
  connections: number,
  bytes: Uint8Array,
  reads: boolean,
  most = Number.POSITIVE_INFINITY,
  begins = false
): Attack<URL> =>
async (url, signal) => {
  const one = async (): Promise<void> => {
    while (!signal.aborted) {
      const socket = await open(url)
      if (socket === undefined) {
        await pause(100)
        continue
      }
      signal.addEventListener("abort", () => socket.destroy(), { once: true })
      if (reads) socket.on("data", () => {})
      else socket.pause()
      socket.write(frame(1, Frames.initialize()))
      socket.write(frame(1, Frames.initialized))
      if (begins) socket.write(frame(1, "x", false))
      for (let sent = 0; sent < most && !signal.aborted && !socket.destroyed; sent += bytes.length) {
        if (!socket.write(bytes)) await drained(socket)
        await pause(0)
      }
      while (!socket.destroyed && !signal.aborted) await pause(50)
      socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: connections }, one))
}

const repeat = (times: number, one: Buffer): Buffer => Buffer.concat(Array.from({ length: times }, () => one))

export const webSocketAttacks: Readonly<Record<string, Attack<URL>>> = {
  "control pings, whose pongs are not read": flood(4, repeat(500, frame(9, "x".repeat(125))), false),
  "a message in fragments of one byte": flood(
    4,
    Buffer.concat([frame(1, "x", false), repeat(9999, frame(0, "x", false))]),
    true
  ),
  "messages of 15 MB that never end": flood(100, frame(0, "x".repeat(60_000), false), true, 15_000_000, true),
  "messages of one character": flood(4, repeat(9000, frame(1, "1")), true)
}
