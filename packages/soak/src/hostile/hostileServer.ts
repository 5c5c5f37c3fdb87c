/**
 * A hostile server: `node hostileServer.ts websocket 'cursors of 1 MB without end'`. It sends its address to its
 * parent. Over stdio it is the child of the client.
 */
import { WebSocketServer } from "@effect/platform-node/NodeWS"
import * as fs from "node:fs"
import * as http from "node:http"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import type { Readable, Writable } from "node:stream"
import * as zlib from "node:zlib"
import { proxiedBehaviours } from "./applications/proxiedBehaviours.ts"
import type { Behaviour } from "./Behaviour.ts"
import { drained } from "./drained.ts"
import * as Frames from "./frames.ts"
import { behaviours, usualResult } from "./serverBehaviours.ts"

const [transport = "", name = ""] = process.argv.slice(2)
const found = { ...behaviours(transport), ...proxiedBehaviours(transport) }[name]
if (found === undefined) throw new Error(`unknown attack "${name}" over ${transport}`)
const behaviour: Behaviour = found
const revision = behaviour.revision ?? "2025-11-25"

process.on("disconnect", () => process.exit(0))
// Writes to pipes and sockets fail after the client has closed them.
process.on("uncaughtException", () => {})

const sendAddress = (address: string): void => void process.send?.({ address })
const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

let requests = 0

interface Message {
  readonly method: string | undefined
  readonly id: unknown
  /** The token of a call that may report progress, as JSON. */
  readonly progressToken: string | undefined
}

const read = (text: string): Message => {
  const message: unknown = JSON.parse(text)
  const isObject = typeof message === "object" && message !== null
  return {
    method: isObject && "method" in message ? String(message.method) : undefined,
    id: isObject && "id" in message ? message.id : undefined,
    progressToken: /"progressToken":("[^"]*"|\d+)/.exec(text)?.[1]
  }
}

const responseTo = ({ id, method = "" }: Message): string =>
  Frames.success(id, behaviour.result?.(method, requests++) ?? usualResult(method, revision))

/** Sends messages without end. `write` waits for back-pressure, and returns `false` after the client has closed. */
const sendForever = async (
  write: (text: string) => Promise<boolean>,
  text: ((index: number) => string) | undefined = behaviour.endless
): Promise<void> => {
  const { everyMillis = 0 } = behaviour
  if (text === undefined) return
  for (let index = 1; await write(text(index)); index++) {
    if (everyMillis > 0 || index % 16 === 0) await pause(everyMillis)
  }
}

/** Returns the progress of a call that never gets a response, if the behaviour has such calls. */
const progressOf = ({ progressToken }: Message): ((index: number) => string) | undefined => {
  const { progress } = behaviour
  return progress === undefined || progressToken === undefined ? undefined : (index) => progress(progressToken, index)
}

/** Creates the receiver of a conversation of lines or messages. */
const receiver = (write: (text: string) => Promise<boolean>, stopReading: () => void) => (text: string): void => {
  const message = read(text)
  if (message.method === "notifications/initialized") {
    if (behaviour.unread === true) stopReading()
    void sendForever(write)
  } else if (progressOf(message) !== undefined) {
    void sendForever(write, progressOf(message))
  } else if (message.method !== undefined && message.id !== undefined) {
    void write(responseTo(message))
    if (behaviour.isStateless === true && message.method === "server/discover") void sendForever(write)
  }
}

const serveLines = (input: Readable, output: Writable): void => {
  let isClosed = false
  const end = () => {
    isClosed = true
  }
  for (const stream of [input, output]) stream.on("close", end).on("error", end)
  const receive = receiver(async (text) => {
    if (isClosed) return false
    if (!output.write(`${text}\n`)) await drained(output)
    return !isClosed
  }, () => void input.pause())
  let rest = ""
  input.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) if (line !== "") receive(line)
  })
}

const eventOf = (text: string): string => `event: message\ndata: ${text}\n\n`

const handleHttp = (request: http.IncomingMessage, response: http.ServerResponse): void => {
  const write = async (text: string): Promise<boolean> => {
    if (response.destroyed) return false
    if (!response.write(eventOf(text))) await drained(response)
    return !response.destroyed
  }
  if (request.method === "GET") {
    if (behaviour.http === "lose sessions") return void response.writeHead(404).end()
    response.writeHead(200, { "content-type": "text/event-stream" })
    if (behaviour.http === "retry") return void response.end("id: 1\nretry: 0\ndata:\n\n")
    response.flushHeaders()
    return void sendForever(write)
  }
  if (request.method !== "POST") return void response.writeHead(200).end()
  let body = ""
  request.setEncoding("utf8").on("data", (chunk: string) => body += chunk).on("end", () => {
    const message = read(body)
    if (message.method === undefined && behaviour.unread === true) return
    if (message.id === undefined || message.method === undefined) return void response.writeHead(202).end()
    const headers = { "content-type": "application/json", "mcp-session-id": `s${Math.random()}` }
    if (message.method === "initialize") return void response.writeHead(200, headers).end(responseTo(message))
    if (progressOf(message) !== undefined) {
      response.writeHead(200, { "content-type": "text/event-stream" })
      return void sendForever(write, progressOf(message))
    }
    switch (behaviour.http) {
      case "lose sessions":
        return void response.writeHead(404).end()
      case "retry":
        return void response.writeHead(200, { "content-type": "text/event-stream" }).end("id: 1\nretry: 0\ndata:\n\n")
      case "bomb":
        return void response.writeHead(200, { ...headers, "content-encoding": "gzip" }).end(bomb())
      case "empty lines":
        response.writeHead(200, { "content-type": "text/event-stream" })
        return void repeat(response, "data\n".repeat(10_000), 4_100_000)
      case "bytewise":
        response.writeHead(200, headers).flushHeaders()
        return void (response.socket === null || repeat(response.socket, "1\r\n \r\n".repeat(10_000), 4_100_000))
      case "endless response":
        response.writeHead(200, headers)
        response.write("[")
        return void endless(response)
      case undefined:
        return void response.writeHead(200, headers).end(responseTo(message))
    }
  })
}

/** Writes a text many times, ten thousand at once. */
const repeat = async (output: Writable, text: string, times: number): Promise<void> => {
  for (let sent = 0; sent < times && !output.destroyed; sent += 10_000) {
    if (!output.write(text)) await drained(output)
  }
}

/** Writes the text of the behaviour to standard error without end. */
const writeErrors = async (): Promise<void> => {
  const { standardError } = behaviour
  if (standardError === undefined) return
  // The victim has been killed.
  process.stderr.on("error", () => process.exit(0))
  while (true) {
    if (!process.stderr.write(standardError)) await drained(process.stderr)
    await pause(0)
  }
}

const endless = async (response: http.ServerResponse): Promise<void> => {
  while (!response.destroyed) {
    if (!response.write(" ".repeat(65_536))) await drained(response)
  }
}

let packed: Buffer | undefined
const bomb = (): Buffer => packed ??= zlib.gzipSync(Buffer.alloc(1024 * Frames.MiB, " "))

/** Serves HTTP+SSE, with one stream for all messages of the server. */
const makeSseHandler = () => {
  const streams = new Map<string, (text: string) => void>()
  return (request: http.IncomingMessage, response: http.ServerResponse): void => {
    if (request.method === "GET") {
      const key = `/messages/${streams.size}`
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write(`event: endpoint\ndata: ${key}\n\n`)
      const write = async (text: string): Promise<boolean> => {
        if (response.destroyed) return false
        if (!response.write(eventOf(text))) await drained(response)
        return !response.destroyed
      }
      streams.set(key, receiver(write, () => {}))
      return
    }
    let body = ""
    request.setEncoding("utf8").on("data", (chunk: string) => body += chunk).on("end", () => {
      if (behaviour.unread === true && read(body).method === undefined) return
      response.writeHead(202).end()
      streams.get(request.url ?? "")?.(body)
    })
  }
}

const listen = (server: net.Server, url: (port: number) => string): void => {
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    sendAddress(url(typeof address === "object" && address !== null ? address.port : 0))
  })
}

switch (transport) {
  case "stdio":
    serveLines(process.stdin, process.stdout)
    void writeErrors()
    break
  case "unix": {
    const address = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "hostile-")), "socket")
    net.createServer((socket) => serveLines(socket, socket)).listen(address, () => sendAddress(address))
    break
  }
  case "websocket": {
    const server = http.createServer()
    new WebSocketServer({ server, handleProtocols: () => "mcp", perMessageDeflate: false }).on(
      "connection",
      (client, { socket }) => {
        const receive = receiver(async (text) => {
          if (client.readyState !== client.OPEN) return false
          client.send(text)
          if (socket.writableLength > Frames.MiB) await drained(socket)
          return client.readyState === client.OPEN
        }, () => void socket.pause())
        client.on("message", (data) => receive(String(data))).on("error", () => {})
      }
    )
    listen(server, (port) => `ws://127.0.0.1:${port}/mcp`)
    break
  }
  case "http":
    listen(http.createServer(handleHttp), (port) => `http://127.0.0.1:${port}/mcp`)
    break
  default:
    listen(http.createServer(makeSseHandler()), (port) => `http://127.0.0.1:${port}/sse`)
}
