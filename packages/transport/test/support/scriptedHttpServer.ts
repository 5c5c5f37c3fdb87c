/** An HTTP server on a real socket that a test scripts, correctly or not. It records the requests that it receives. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import * as http from "node:http"
import type * as net from "node:net"
import * as Loopback from "./loopback.ts"

/** One request that the server has received. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  /** The body, if it is JSON. */
  readonly message: unknown
  /** The method of the MCP message, `response` for a response, or the HTTP method of a request without a message. */
  readonly kind: string
  /** Returns whether the response has ended, or its connection is closed. */
  readonly isFinished: () => boolean
}

/** A response that is an SSE stream. */
export interface EventReply {
  readonly event: (data: unknown, id?: string) => EventReply
  readonly raw: (text: string | Uint8Array) => EventReply
  /** Writes a text this many times, as the connection takes it. Returns a function that returns the number so far. */
  readonly writeRepeatedly: (text: string | Uint8Array, times: number) => () => number
  readonly end: () => void
  readonly disconnect: () => void
}

export interface Reply {
  readonly status: (status: number, body?: unknown, headers?: http.OutgoingHttpHeaders) => void
  readonly json: (body: unknown, headers?: http.OutgoingHttpHeaders) => void
  /** Sends any body of any type, and ends it unless `isEnded` is false. */
  readonly raw: (
    status: number,
    headers: http.OutgoingHttpHeaders,
    text: string | Uint8Array,
    isEnded?: boolean
  ) => void
  readonly stream: (headers?: http.OutgoingHttpHeaders) => EventReply
  readonly disconnect: () => void
}

export type Handler = (received: Received, reply: Reply) => void

export interface ScriptedServer {
  readonly url: string
  readonly received: ReadonlyArray<Received>
  /** Returns the kinds of the requests so far, in order. */
  readonly kinds: () => ReadonlyArray<string>
  /** Returns the number of responses that have not ended. */
  readonly openResponses: () => number
  /** Returns the number of connections. */
  readonly sockets: () => number
}

const eventText = (data: unknown, id: string | undefined): string =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${data === "" ? "" : JSON.stringify(data)}\n\n`

const eventReply = (response: http.ServerResponse): EventReply => {
  const reply: EventReply = {
    event: (data, id) => {
      response.write(eventText(data, id))
      return reply
    },
    raw: (text) => {
      response.write(text)
      return reply
    },
    writeRepeatedly: (text, times) => {
      let written = 0
      const write = () => {
        while (written < times && !response.writableNeedDrain && !response.destroyed) {
          response.write(text)
          written++
        }
      }
      response.on("drain", write)
      write()
      return () => written
    },
    end: () => response.end(),
    // After everything that was written before.
    disconnect: () => response.write("", () => setImmediate(() => response.destroy()))
  }
  return reply
}

const replyWith = (response: http.ServerResponse): Reply => {
  const raw: Reply["raw"] = (status, headers, text, isEnded = true) => {
    response.writeHead(status, headers)
    if (isEnded) response.end(text)
    else response.write(text)
  }
  return {
    raw,
    json: (body, headers) => raw(200, { "content-type": "application/json", ...headers }, JSON.stringify(body)),
    status: (status, body, headers) =>
      body === undefined
        ? raw(status, { ...headers }, "")
        : raw(status, { "content-type": "application/json", ...headers }, JSON.stringify(body)),
    stream: (headers) => {
      response.writeHead(200, { "content-type": "text/event-stream", ...headers })
      response.flushHeaders()
      return eventReply(response)
    },
    disconnect: () => response.destroy()
  }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const kindOf = (method: string, message: unknown): string =>
  Predicate.hasProperty(message, "method") && typeof message.method === "string"
    ? message.method
    : method === "POST"
    ? "response"
    : method

/**
 * Serves on a free port until the scope closes. `isBroken` says of each request whether its connection breaks before
 * its body is read; such a request is not recorded.
 */
export const serve = (
  handler: Handler,
  isBroken: () => boolean = () => false
): Effect.Effect<ScriptedServer, never, Scope.Scope> =>
  Effect.gen(function*() {
    const received: Array<Received> = []
    const sockets = new Set<net.Socket>()
    let open = 0
    const server = http.createServer((request, response) => {
      if (isBroken()) return void request.socket.destroy()
      open++
      let isFinished = false
      response.once("close", () => {
        open--
        isFinished = true
      })
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("error", () => {})
      request.on("end", () => {
        const message = parse(Buffer.concat(chunks).toString())
        const method = request.method ?? ""
        const one: Received = {
          method,
          path: request.url ?? "",
          headers: request.headers,
          message,
          kind: kindOf(method, message),
          isFinished: () => isFinished
        }
        received.push(one)
        handler(one, replyWith(response))
      })
    })
    server.on("connection", (socket) => {
      sockets.add(socket)
      socket.once("close", () => sockets.delete(socket))
    })
    const port = yield* Loopback.listen(server)
    return {
      url: `http://127.0.0.1:${port}/mcp`,
      received,
      kinds: () => received.map(({ kind }) => kind),
      openResponses: () => open,
      sockets: () => sockets.size
    }
  })

/** Returns the id of a request. */
export const idOf = ({ message }: Received): unknown => Predicate.hasProperty(message, "id") ? message.id : undefined

/** Returns the response to a request. */
export const response = (received: Received, result: object = {}): object => ({
  jsonrpc: "2.0",
  id: idOf(received),
  result
})

export const initializeResult = (revision = "2025-11-25"): object => ({
  protocolVersion: revision,
  capabilities: { tools: {} },
  serverInfo: { name: "peer", version: "1.0.0" }
})

/**
 * Returns the handler of a server that performs handshakes correctly, with the session ids `s1`, `s2` and so on. It
 * offers no standalone stream, accepts DELETE, and passes all other requests on.
 */
export const withHandshake = (rest: Handler): Handler => {
  let sessions = 0
  return (received, reply) => {
    switch (received.kind) {
      case "initialize":
        return reply.json(response(received, initializeResult()), { "mcp-session-id": `s${++sessions}` })
      case "notifications/initialized":
        return reply.status(202)
      case "GET":
        // Only the test knows how a stream is resumed.
        return received.headers["last-event-id"] === undefined ? reply.status(405) : rest(received, reply)
      case "DELETE":
        return reply.status(204)
      default:
        return rest(received, reply)
    }
  }
}
