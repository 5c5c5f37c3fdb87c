/** The HTTP+SSE connection of a hostile client, implemented on sockets. */
import * as net from "node:net"
import { fromAttacker } from "./attackerAddress.ts"
import type { Connection } from "./Connection.ts"
import { drained } from "./drained.ts"

/**
 * The greatest number of requests on one connection that wait for their status. The server closes a connection with
 * more concurrent requests than it allows.
 */
const maximumPending = 4

const statusLine = /HTTP\/1\.1 /g

/**
 * Opens the stream, waits for the `endpoint` event, and posts messages to its URI. The responses to the posts are only
 * counted.
 */
export const open = async (url: URL): Promise<Connection> => {
  const stream = net.connect({ port: Number(url.port), host: url.hostname, ...fromAttacker })
  let isClosed = false
  const closed = new Promise<void>((resolve) => {
    const end = () => {
      isClosed = true
      resolve()
    }
    stream.on("error", end).on("close", end)
  })
  stream.write(`GET ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nAccept: text/event-stream\r\n\r\n`)
  const endpoint = await new Promise<string>((resolve, reject) => {
    let text = ""
    stream.on("data", (chunk) => {
      text += String(chunk)
      const [, path] = /^data: ?(\S+)/m.exec(text) ?? []
      if (path !== undefined) resolve(path)
    })
    void closed.then(() => reject(new Error("the server closed the connection")))
  })
  stream.removeAllListeners("data").on("data", () => {})
  const posts = net.connect({ port: Number(url.port), host: url.hostname, ...fromAttacker }).on("error", () => {})
  let pending = 0
  let rest = ""
  let wake = () => {}
  posts.setEncoding("latin1").on("data", (chunk: string) => {
    const text = rest + chunk
    pending -= text.match(statusLine)?.length ?? 0
    rest = text.slice(-("HTTP/1.1 ".length - 1))
    wake()
  }).on("close", () => wake())
  const post = async (text: string, contentLength: number): Promise<boolean> => {
    while (pending >= maximumPending && !isClosed && !posts.destroyed) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    if (isClosed || posts.destroyed) return false
    pending++
    const sent = posts.write(
      `POST ${endpoint} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${contentLength}\r\n\r\n${text}`
    )
    if (!sent) await drained(posts)
    return !isClosed && !posts.destroyed
  }
  return {
    send: (text) => post(text, Buffer.byteLength(text)),
    sendUnfinished: (text) => post(text, Buffer.byteLength(text) + 1),
    setReading: (reading) => void (reading ? stream.resume() : stream.pause()),
    close: () => {
      stream.destroy()
      posts.destroy()
    },
    closed
  }
}
