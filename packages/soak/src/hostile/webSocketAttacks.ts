/** The attacks of a hostile client on a WebSocket server below the level of messages, on raw sockets. */
import * as net from "node:net"
import { fromAttacker } from "./attackerAddress.ts"
import type { Attack } from "./connectionAttacks.ts"
import { drained } from "./drained.ts"
import * as Frames from "./frames.ts"

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** Returns a short text message of a client, masked with zeros. */
const text = (payload: string): Buffer => {
  const head = payload.length < 126
    ? [0x81, 0x80 | payload.length]
    : [0x81, 0x80 | 126, payload.length >> 8, payload.length & 0xFF]
  return Buffer.from([...head, 0, 0, 0, 0, ...Buffer.from(payload)])
}

/** Opens a WebSocket on a raw socket. */
const open = (url: URL): Promise<net.Socket | undefined> =>
  new Promise((resolve) => {
    const socket = net.connect({ port: Number(url.port), host: url.hostname, ...fromAttacker })
    socket.on("error", () => socket.destroy()).once("close", () => resolve(undefined))
    socket.once("data", (head) => resolve(String(head).startsWith("HTTP/1.1 101") ? socket : undefined))
    socket.write(
      `GET ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n" +
        "Sec-WebSocket-Protocol: mcp\r\n\r\n"
    )
  })

/** Repeats the same bytes on many connections. A new connection replaces one that the victim closes. */
const flood = (connections: number, bytes: Uint8Array): Attack<URL> => async (url, signal) => {
  const attackOnce = async (): Promise<void> => {
    while (!signal.aborted) {
      const socket = await open(url)
      if (socket === undefined) {
        await pause(100)
        continue
      }
      signal.addEventListener("abort", () => socket.destroy(), { once: true })
      socket.on("data", () => {})
      socket.write(Buffer.concat([text(Frames.initialize()), text(Frames.initialized)]))
      while (!signal.aborted && !socket.destroyed) {
        if (!socket.write(bytes)) await drained(socket)
        await pause(0)
      }
    }
  }
  await Promise.all(Array.from({ length: connections }, attackOnce))
}

export const webSocketAttacks: Readonly<Record<string, Attack<URL>>> = {
  "messages of one character that are not JSON": flood(
    2,
    Buffer.concat(Array.from({ length: 10_000 }, () => text("{")))
  )
}
