/** HTTP+SSE for a hostile client: a stream that is opened by hand, as a connection that carries messages. */
import * as net from "node:net"
import { drained } from "./drained.ts"
import type { Line } from "./Line.ts"

/** Opens the stream, waits for the `endpoint` event, and posts messages there. What the posts answer is not read. */
export const open = async (url: URL): Promise<Line> => {
  const stream = net.connect(Number(url.port), url.hostname)
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
    void closed.then(() => reject(new Error("refused")))
  })
  stream.removeAllListeners("data").on("data", () => {})
  const posts = net.connect(Number(url.port), url.hostname).on("error", () => {})
  posts.on("data", () => {})
  return {
    send: async (text) => {
      if (isClosed || posts.destroyed) return false
      const sent = posts.write(
        `POST ${endpoint} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\n` +
          `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
      )
      if (!sent) await drained(posts)
      return !isClosed && !posts.destroyed
    },
    read: (reads) => void (reads ? stream.resume() : stream.pause()),
    close: () => {
      stream.destroy()
      posts.destroy()
    },
    closed
  }
}
