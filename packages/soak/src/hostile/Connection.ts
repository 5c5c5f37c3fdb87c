/** A connection of a hostile peer, which may leave its messages unread. */
import { WebSocket } from "@effect/platform-node/NodeWS"
import type { ChildProcess } from "node:child_process"
import * as net from "node:net"
import type { Duplex, Readable, Writable } from "node:stream"
import { fromAttacker } from "./attackerAddress.ts"
import { drained } from "./drained.ts"

export interface Connection {
  /** Sends a message, after back-pressure ends. Returns `false` if the connection has closed. */
  readonly send: (text: string) => Promise<boolean>
  /** Sends the beginning of a message that never ends. */
  readonly sendUnfinished: (text: string) => Promise<boolean>
  /** Starts or stops reading. */
  readonly setReading: (reading: boolean) => void
  readonly close: () => void
  /** Completes when the connection has closed. */
  readonly closed: Promise<void>
}

const overStreams = (input: Readable, output: Writable, close: () => void): Connection => {
  let isClosed = false
  const closed = new Promise<void>((resolve) => {
    const end = () => {
      isClosed = true
      resolve()
    }
    for (const stream of [input, output]) stream.on("error", end).on("close", end)
  })
  input.on("data", () => {})
  const write = async (text: string): Promise<boolean> => {
    if (isClosed) return false
    if (!output.write(text)) await drained(output)
    return !isClosed
  }
  return {
    send: (text) => write(`${text}\n`),
    sendUnfinished: write,
    setReading: (reading) => void (reading ? input.resume() : input.pause()),
    close,
    closed
  }
}

const untilEvent = (socket: Duplex, event: string): Promise<void> =>
  new Promise((resolve, reject) => void socket.once(event, resolve).once("error", reject))

/** Connects to a server on a Unix socket. */
export const unix = async (path: string): Promise<Connection> => {
  const socket = net.connect(path)
  await untilEvent(socket, "connect")
  return overStreams(socket, socket, () => socket.destroy())
}

/** Uses the pipes of a child process. */
export const stdio = (child: ChildProcess): Connection => {
  if (child.stdin === null || child.stdout === null) throw new Error("the child has no pipes")
  return overStreams(child.stdout, child.stdin, () => child.stdin?.destroy())
}

/** Connects to a WebSocket server. */
export const webSocket = async (url: string): Promise<Connection> => {
  const client = new WebSocket(url, ["mcp"], { perMessageDeflate: false, ...fromAttacker })
  let tcp: net.Socket | undefined
  let isClosed = false
  client.once("upgrade", (response) => {
    tcp = response.socket
  })
  const closed = new Promise<void>((resolve) => {
    client.on("close", () => {
      isClosed = true
      resolve()
    }).on("error", () => {})
  })
  await Promise.race([
    new Promise((resolve) => client.once("open", resolve)),
    closed.then(() => Promise.reject(new Error("the server closed the connection")))
  ])
  const send = async (text: string, fin: boolean): Promise<boolean> => {
    if (isClosed) return false
    client.send(text, { fin })
    if (tcp !== undefined && tcp.writableLength > 1024 * 1024) await drained(tcp)
    return !isClosed
  }
  return {
    send: (text) => send(text, true),
    sendUnfinished: (text) => send(text, false),
    setReading: (reading) => void (reading ? tcp?.resume() : tcp?.pause()),
    close: () => client.terminate(),
    closed
  }
}
