import { ErrorCode } from "@effect-mcp/protocol"
import * as MemoryBudget from "@effect-mcp/session/MemoryBudget"
import { toIncomingMessage, toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Predicate from "effect/Predicate"
import { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import * as HttpResponses from "./HttpResponses.ts"
import type { StreamWatchdog, Timeout } from "./StreamWatchdog.ts"

/** The bounds on what clients leave unread. */
export interface Limits {
  /** The number of requests of one connection that are served at a time. */
  readonly maxPipelinedRequests: number
  /** The most bytes of responses that wait on one connection, unless it is a single response. */
  readonly maxUnreadBytes: number
  /** The most bytes of responses that wait on all connections together, unless they are those of a single one. */
  readonly maxTotalUnreadBytes: number
  /** The memory of the process for everything that peers make it keep. */
  readonly budget: MemoryBudget.MemoryBudget
  /** The longest time in which a connection may take nothing while responses wait on it, in milliseconds. */
  readonly stallMillis: number
}

/**
 * The number of looks after which a connection counts as stalled: a machine that is busy for long has not given it a
 * chance.
 */
const looks = 4

/** Responses with fewer bytes are bounded by their number alone: only few of them can wait on one connection. */
const largeBytes = 16_384

/** The bytes of a response whose length is known. A stream of events is watched by its own reader. */
const bytesOf = ({ body }: HttpServerResponse): number =>
  body._tag === "Uint8Array" || body._tag === "Stream" ? body.contentLength ?? 0 : 0

const isTaken = (response: ServerResponse): boolean => response.writableFinished || response.destroyed

/** A response that is counted by its bytes. */
interface Large {
  readonly bytes: number
  /** The number of those that are charged to the budget of the process. */
  readonly charged: number
}

/** One connection of HTTP/1.1, from its first request on: the responses that its client has not taken yet. */
class HttpConnection {
  readonly #server: Server
  readonly #socket: Socket
  #responses: Array<ServerResponse> = []
  readonly #large = new Map<ServerResponse, Large>()
  #largeBytes = 0
  #flushed = -1
  #waits = 0
  #nextLook: Timeout | undefined

  constructor(server: Server, socket: Socket) {
    this.#server = server
    this.#socket = socket
    socket.once("close", () => this.#close())
  }

  /** The number of requests without a response that was taken in full. */
  get serving(): number {
    return this.#responses.length
  }

  /** A request came, which is answered with this response. */
  begin(response: ServerResponse): void {
    this.#prune()
    this.#responses.push(response)
  }

  /** A request is answered with so many bytes. */
  answer(response: ServerResponse, bytes: number): void {
    if (bytes === 0 || this.#socket.destroyed) return
    if (bytes >= largeBytes) this.#holdLarge(response, bytes)
    this.#watch()
  }

  /** Destroys it, and frees at once what it held. */
  cut(): void {
    for (const response of Array.from(this.#large.keys())) this.#release(response)
    this.#socket.destroy()
  }

  #holdLarge(response: ServerResponse, bytes: number): void {
    const { limits } = this.#server
    if (this.#largeBytes > 0 && this.#largeBytes + bytes > limits.maxUnreadBytes) return this.cut()
    const charged = this.#server.hold(this, bytes)
    this.#large.set(response, { bytes, charged })
    this.#largeBytes += bytes
    response.once("close", () => this.#release(response))
  }

  #release(response: ServerResponse): void {
    const large = this.#large.get(response)
    if (large === undefined) return
    this.#large.delete(response)
    this.#largeBytes -= large.bytes
    this.#server.release(large)
    if (this.#large.size === 0) this.#server.taken(this)
  }

  #prune(): void {
    if (this.#responses.some(isTaken)) this.#responses = this.#responses.filter((response) => !isTaken(response))
  }

  #watch(): void {
    if (this.#nextLook !== undefined) return
    // It was cut off just now.
    if (this.#socket.destroyed) return
    const { watchdog, limits } = this.#server
    this.#nextLook = watchdog.schedule(limits.stallMillis / looks, () => this.#look())
  }

  #look(): void {
    this.#nextLook = undefined
    if (this.#socket.destroyed) return
    this.#prune()
    const waiting = this.#socket.writableLength
    const flushed = this.#socket.bytesWritten - waiting
    // With nothing to be taken, the response that all others wait for is not there yet.
    if (waiting > 0 && flushed === this.#flushed) this.#waits++
    else {
      this.#waits = 0
      this.#server.progresses(this)
    }
    this.#flushed = flushed
    if (this.#waits >= looks) this.cut()
    else if (waiting > 0 || this.#responses.length > 0) this.#watch()
  }

  #close(): void {
    // Otherwise the socket would be kept until then, with an infinite patience for ever.
    if (this.#nextLook !== undefined) this.#server.watchdog.cancel(this.#nextLook)
    this.#nextLook = undefined
    for (const response of this.#responses) {
      this.#release(response)
      // Node closes the response whose turn it is. One that waits behind it would wait, with all it holds, for ever.
      if (response.socket === null && !isTaken(response)) response.destroy().emit("close")
    }
    this.#responses = []
  }
}

/** The server that connections belong to. */
interface Server {
  readonly limits: Limits
  readonly watchdog: StreamWatchdog
  /** Makes room for a large response. Returns how many of its bytes are charged to the budget. */
  readonly hold: (connection: HttpConnection, bytes: number) => number
  readonly release: (response: Large) => void
  /** Something was taken of what waits on a connection. */
  readonly progresses: (connection: HttpConnection) => void
  /** All was taken of what waited on it. */
  readonly taken: (connection: HttpConnection) => void
}

/** The bytes that wait on all connections of a server. */
const totals = (watchdog: StreamWatchdog, limits: Limits): Server => {
  /** Those with large responses, the one that has taken nothing for longest first. */
  const waiting = new Set<HttpConnection>()
  let totalBytes = 0
  return {
    limits,
    watchdog,
    hold: (connection, bytes) => {
      const { budget, maxTotalUnreadBytes } = limits
      // The other half stays for what is served.
      const budgetBytes = budget.maxBytes / 2
      const lacks = () => totalBytes + bytes > maxTotalUnreadBytes || budget.usedBytes() + bytes > budgetBytes
      // What sessions hold of the budget does not become less by this.
      const helps = budget.usedBytes() - totalBytes + bytes <= budgetBytes
      for (const longest of waiting) {
        if (!lacks() || (!helps && totalBytes + bytes <= maxTotalUnreadBytes)) break
        if (longest !== connection) longest.cut()
      }
      totalBytes += bytes
      waiting.add(connection)
      return !MemoryBudget.isScarce(budget) && budget.take(bytes) ? bytes : 0
    },
    release: ({ bytes, charged }) => {
      totalBytes -= bytes
      limits.budget.release(charged)
    },
    progresses: (connection) => {
      if (waiting.delete(connection)) waiting.add(connection)
    },
    taken: (connection) => void waiting.delete(connection)
  }
}

/**
 * The connections of a server on Node over HTTP/1.1, bounded in what their clients leave unread. Node parses all
 * requests of what it has read before it looks whether the client takes the responses, and keeps these without a bound
 * in bytes or time. Other platforms, and HTTP/2 (`maxSessionMemory`), own their connections and bound them by
 * themselves.
 */
export interface HttpConnections {
  /** Serves a request, if its connection has room for it. */
  readonly serve: (
    request: HttpServerRequest,
    served: () => Effect.Effect<HttpServerResponse>
  ) => Effect.Effect<HttpServerResponse>
}

const isUpgrade = (message: IncomingMessage): boolean =>
  Predicate.hasProperty(message, "upgrade") && message.upgrade === true

export const make = (watchdog: StreamWatchdog, limits: Limits): HttpConnections => {
  const connections = new WeakMap<Socket, HttpConnection>()
  const server = totals(watchdog, limits)
  const refused = HttpResponses.error(
    429,
    `A connection may have ${limits.maxPipelinedRequests} requests without a response`,
    {
      code: ErrorCode.Overloaded,
      headers: { connection: "close", "retry-after": "1" }
    }
  )

  const connectionOf = (socket: Socket): HttpConnection => {
    const known = connections.get(socket)
    if (known !== undefined) return known
    const connection = new HttpConnection(server, socket)
    connections.set(socket, connection)
    return connection
  }

  return {
    serve: (request, served) => {
      const message: unknown = toIncomingMessage(request)
      // What is upgraded is answered by other means.
      if (!(message instanceof IncomingMessage) || isUpgrade(message)) return served()
      const response: unknown = toServerResponse(request)
      if (!(response instanceof ServerResponse)) return served()
      const connection = connectionOf(message.socket)
      connection.begin(response)
      if (connection.serving > limits.maxPipelinedRequests) {
        // Its client has been answered so, and sends more.
        if (connection.serving > 2 * limits.maxPipelinedRequests) connection.cut()
        return Effect.succeed(refused)
      }
      return Effect.map(served(), (answer) => {
        connection.answer(response, bytesOf(answer))
        return answer
      })
    }
  }
}
