/** The attacks of a hostile client on a server over HTTP. */
import type * as net from "node:net"
import type { Attack } from "./connectionAttacks.ts"
import * as Frames from "./frames.ts"
import { connect, get, handshake, pause, post, postAndRead, type Target, write } from "./httpRequests.ts"
import * as Sockets from "./httpSockets.ts"

/** Pipelines requests on unread sockets. */
const unread = (sockets: number, body: (index: number) => string): Attack<Target> =>
  Sockets.renewed(sockets, async (target, socket, signal) => {
    socket.pause()
    const session = await handshake(target)
    for (let index = 1; !signal.aborted && await write(socket, post(target, body(index), session)); index++) {
      if (index % 16 === 0) await pause(0)
    }
  })

/** Sends one call on each of many connections. */
const many = (sockets: number, body: (index: number) => string): Attack<Target> => async (target, signal) => {
  const session = await handshake(target)
  const call = (to: Target, socket: net.Socket, index: number) => write(socket.resume(), post(to, body(index), session))
  await Sockets.open(sockets, call)(target, signal)
}

/** Posts one text after another, and reads the responses. */
const paced =
  (millis: number, body: (index: number) => string, revision?: string): Attack<Target> => async (target, signal) => {
    const session = await handshake(target, revision)
    for (let index = 1; !signal.aborted; index++) {
      await postAndRead(target, body(index), {
        ...session === undefined ? {} : { "mcp-session-id": session },
        ...revision === undefined ? {} : { "mcp-protocol-version": revision }
      }, signal)
      await pause(millis)
    }
  }

const manySessions = (capabilities: string): Attack<Target> => async (target, signal) => {
  const attackOnce = async (): Promise<void> => {
    while (!signal.aborted) if (await handshake(target, undefined, capabilities) === undefined) await pause(20)
  }
  await Promise.all(Array.from({ length: 8 }, attackOnce))
}

/** Sends requests, and resets each connection before the response. */
const reset = (body: (index: number) => string): Attack<Target> => async (target, signal) => {
  for (let index = 1; !signal.aborted; index++) {
    const socket = await connect(target)
    if (socket !== undefined) {
      await write(socket, post(target, body(index)))
      socket.resetAndDestroy()
    }
    await pause(1)
  }
}

/** Opens streams with calls that log much, and leaves the streams unread. */
const unreadStreams = (streams: number): Attack<Target> => async (target, signal) => {
  const sockets = new Set<net.Socket>()
  while (!signal.aborted) {
    const session = await handshake(target)
    const socket = sockets.size < streams ? await connect(target) : undefined
    if (socket === undefined) {
      await pause(50)
      continue
    }
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
    socket.pause()
    await write(socket, post(target, Frames.call(1, "flood", "{}"), session))
    const standalone = session === undefined ? undefined : await connect(target)
    if (session !== undefined && standalone !== undefined) {
      sockets.add(standalone)
      standalone.on("close", () => sockets.delete(standalone))
      standalone.pause()
      await write(standalone, get(target, session))
    }
  }
  for (const socket of sockets) socket.destroy()
}

/** Sends bodies of 4 MB in chunks of one byte. */
const bytewise = (sockets: number): Attack<Target> => {
  const chunks = "1\r\nx\r\n".repeat(10_000)
  return Sockets.renewed(sockets, async (target, socket, signal) => {
    const session = await handshake(target)
    await write(
      socket.resume(),
      post(target, "", session).replace("Content-Length: 0", "Transfer-Encoding: chunked")
    )
    for (let bytes = 0; bytes < 4_000_000 && !signal.aborted && await write(socket, chunks); bytes += 10_000) {
      await pause(0)
    }
  })
}

/** Sends bodies of 4 MB without their last byte, and waits. */
const halfBodies = (limit: number): Attack<Target> => {
  const body = "x".repeat(4_000_000)
  return Sockets.open(limit, async (target, socket) => {
    socket.write(post(target, body).slice(0, -1))
    await pause(10)
  })
}

export const httpAttacks: Readonly<Record<string, Attack<Target>>> = {
  "pings with ids of 4 MB, unread": unread(4, (index) => Frames.ping(index, 4_000_000)),
  "pings with ids of 4,000 bytes, unread": unread(8, (index) => Frames.ping(index, 4000)),
  "results of 1 MB, unread": unread(8, (index) => Frames.call(index, "echo", `{"bytes":1000000}`)),
  "batches of 4.2 MB without a message": paced(100, () => Frames.badBatch(4_190_000), "2025-03-26"),
  "frames of 4 MB of nested arrays": paced(100, (index) => Frames.call(index, "echo", Frames.nested(4_100_000))),
  "calls of 60 KB of nested arrays that never return": unread(
    4,
    (index) => Frames.call(index, "wait", `{"x":${Frames.nested(60_000)}}`)
  ),
  "calls with progress tokens of 4 MB": paced(20, (index) => Frames.callWithToken(index, 4_000_000)),
  "unknown methods of 64 KB, unread": unread(4, (index) => Frames.request(index, `${index}`.padEnd(65_536, "m"))),
  "600 calls that never return": many(600, (index) => Frames.call(index, "wait", "{}")),
  "10,000 unknown names": paced(
    0,
    (index) => index % 2 === 0 ? Frames.request(index, `m/${index}`) : Frames.call(index, `tool-${index}`, "{}")
  ),
  "event streams of 20 MB, unread": unreadStreams(300),
  "bodies of 4 MB that never end": halfBodies(200),
  "bodies in chunks of one byte": bytewise(4),
  "connections that are reset before the initialize response": reset(() => Frames.initialize())
}

/** Further attacks on a server with sessions. */
export const httpSessionAttacks: Readonly<Record<string, Attack<Target>>> = {
  "sessions with 60 KB of nested capabilities": manySessions(`{"experimental":{"x":{"y":${Frames.nested(60_000)}}}}`),
  "as many sessions as possible": manySessions("{}")
}
