/** The connections of a server over HTTP/1.1, bounded in the requests and responses that wait on them. */
import { ErrorCode } from "@effect-mcp/protocol"
import * as MemoryBudget from "@effect-mcp/session/MemoryBudget"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Predicate from "effect/Predicate"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import * as HttpResponses from "./HttpResponses.ts"
import * as NodeMessages from "./NodeMessages.ts"
import type { StreamWatchdog, Timeout } from "./StreamWatchdog.ts"

/** The bounds on requests and unread responses. */
export interface Limits {
  /** The most requests of one connection that are served at a time. */
  readonly maxPipelinedRequests: number
  /** The most bytes of responses that wait on one connection, unless it is a single response. */
  readonly maxUnreadBytes: number
  /** The most bytes of responses that wait on all connections together, unless they are those of a single one. */
  readonly maxTotalUnreadBytes: number
  /** The memory of the process for everything that peers make it keep. */
  readonly budget: MemoryBudget.MemoryBudget
  /** The time in which a client must read something while responses wait for it, in milliseconds. */
  readonly stallMillis: number
}

/**
 * The number of checks without progress after which a connection is stalled. One check is not enough: on a busy machine
 * the client may have had no chance to read.
 */
const checks = 4

/** Smaller responses are bounded by their number alone, because few of them can wait on one connection. */
const largeBytes = 16_384

/**
 * Returns the bytes of a response of known length; 0 for an event stream, which has a watchdog. A forwarded response
 * holds few, because it is read from the other process as the client reads it.
 */
const bytesOf = ({ body }: HttpServerResponse): number => {
  if (body._tag === "Raw") return 1
  return body._tag === "Uint8Array" || body._tag === "Stream" ? body.contentLength ?? 0 : 0
}

const isSent = (response: ServerResponse): boolean => response.writableFinished || response.destroyed

/** A response that counts by its bytes. */
interface Large {
  readonly bytes: number
  /** The bytes that are charged to the budget of the process. */
  readonly charged: number
}

/** One connection, from its first request on, and the responses that its client has not read yet. */
class HttpConnection {
  readonly #totals: Totals
  readonly #socket: Socket
  #responses: Array<ServerResponse> = []
  readonly #large = new Map<ServerResponse, Large>()
  #largeBytes = 0
  #flushed = -1
  #stalledChecks = 0
  #nextCheck: Timeout | undefined

  constructor(totals: Totals, socket: Socket) {
    this.#totals = totals
    this.#socket = socket
    socket.once("close", () => this.#close())
  }

  /** The number of requests whose response is not sent completely. */
  get pending(): number {
    return this.#responses.length
  }

  /** Adds the response of a new request. */
  begin(response: ServerResponse): void {
    this.#prune()
    this.#responses.push(response)
  }

  /** Counts the bytes of a response that is about to be written. */
  count(response: ServerResponse, bytes: number): void {
    if (bytes === 0 || this.#socket.destroyed) return
    if (bytes >= largeBytes) this.#holdLarge(response, bytes)
    this.#watch()
  }

  /** Destroys the connection, and releases the memory of its responses at once. */
  destroy(): void {
    for (const response of Array.from(this.#large.keys())) this.#release(response)
    this.#socket.destroy()
  }

  #holdLarge(response: ServerResponse, bytes: number): void {
    const { limits } = this.#totals
    if (this.#largeBytes > 0 && this.#largeBytes + bytes > limits.maxUnreadBytes) return this.destroy()
    const charged = this.#totals.hold(this, bytes)
    this.#large.set(response, { bytes, charged })
    this.#largeBytes += bytes
    response.once("close", () => this.#release(response))
  }

  #release(response: ServerResponse): void {
    const large = this.#large.get(response)
    if (large === undefined) return
    this.#large.delete(response)
    this.#largeBytes -= large.bytes
    this.#totals.release(large)
    if (this.#large.size === 0) this.#totals.onEmpty(this)
  }

  #prune(): void {
    if (this.#responses.some(isSent)) this.#responses = this.#responses.filter((response) => !isSent(response))
  }

  #watch(): void {
    if (this.#nextCheck !== undefined) return
    if (this.#socket.destroyed) return
    const { watchdog, limits } = this.#totals
    this.#nextCheck = watchdog.schedule(limits.stallMillis / checks, () => this.#check())
  }

  #check(): void {
    this.#nextCheck = undefined
    if (this.#socket.destroyed) return
    this.#prune()
    const waiting = this.#socket.writableLength
    const flushed = this.#socket.bytesWritten - waiting
    // Without bytes to read, the client is not stalled: the first response in turn is not ready yet.
    if (waiting > 0 && flushed === this.#flushed) this.#stalledChecks++
    else {
      this.#stalledChecks = 0
      this.#totals.onProgress(this)
    }
    this.#flushed = flushed
    if (this.#stalledChecks >= checks) this.destroy()
    else if (waiting > 0 || this.#responses.length > 0) this.#watch()
  }

  #close(): void {
    // Without this, the timeout would keep the socket in memory; with an infinite writeTimeout, forever.
    if (this.#nextCheck !== undefined) this.#totals.watchdog.cancel(this.#nextCheck)
    this.#nextCheck = undefined
    for (const response of this.#responses) {
      this.#release(response)
      // Node closes only the response in turn. The later ones would wait, and keep their memory, forever.
      if (response.socket === null && !isSent(response)) response.destroy().emit("close")
    }
    this.#responses = []
  }
}

/** The totals of all connections of a server. */
interface Totals {
  readonly limits: Limits
  readonly watchdog: StreamWatchdog
  /** Makes room for a large response. Returns the bytes of it that are charged to the budget. */
  readonly hold: (connection: HttpConnection, bytes: number) => number
  readonly release: (response: Large) => void
  /** Runs when the client has read something of a connection. */
  readonly onProgress: (connection: HttpConnection) => void
  /** Runs when no large response waits on a connection any more. */
  readonly onEmpty: (connection: HttpConnection) => void
}

/** Makes the totals of a server. */
const makeTotals = (watchdog: StreamWatchdog, limits: Limits): Totals => {
  /** The connections with large responses; first the one whose client has read nothing for longest. */
  const waiting = new Set<HttpConnection>()
  let totalBytes = 0
  return {
    limits,
    watchdog,
    hold: (connection, bytes) => {
      const { budget, maxTotalUnreadBytes } = limits
      // The other half is for requests in flight.
      const budgetBytes = budget.maxBytes / 2
      const lacks = () => totalBytes + bytes > maxTotalUnreadBytes || budget.usedBytes() + bytes > budgetBytes
      // Whether destroying connections can help: sessions may hold too much of the budget by themselves.
      const helps = budget.usedBytes() - totalBytes + bytes <= budgetBytes
      for (const oldest of waiting) {
        if (!lacks() || (!helps && totalBytes + bytes <= maxTotalUnreadBytes)) break
        if (oldest !== connection) oldest.destroy()
      }
      totalBytes += bytes
      waiting.add(connection)
      return !MemoryBudget.isScarce(budget) && budget.take(bytes) ? bytes : 0
    },
    release: ({ bytes, charged }) => {
      totalBytes -= bytes
      limits.budget.release(charged)
    },
    onProgress: (connection) => {
      if (waiting.delete(connection)) waiting.add(connection)
    },
    onEmpty: (connection) => void waiting.delete(connection)
  }
}

/**
 * The connections of a server on Node over HTTP/1.1. Node parses pipelined requests before it knows whether the client
 * reads the responses, and keeps the responses without a bound in bytes or time. Other platforms, and HTTP/2
 * (`maxSessionMemory`), bound their connections by themselves.
 */
export interface HttpConnections {
  /** Serves a request, or rejects it if its connection has too many. */
  readonly serve: (
    request: HttpServerRequest,
    handle: () => Effect.Effect<HttpServerResponse>
  ) => Effect.Effect<HttpServerResponse>
}

const isUpgrade = (message: IncomingMessage): boolean =>
  Predicate.hasProperty(message, "upgrade") && message.upgrade === true

/** Makes the connections of a server. */
export const make = (watchdog: StreamWatchdog, limits: Limits): HttpConnections => {
  const connections = new WeakMap<Socket, HttpConnection>()
  const totals = makeTotals(watchdog, limits)
  const tooMany = HttpResponses.error(
    429,
    `The connection has more than ${limits.maxPipelinedRequests} requests in flight (maxPipelinedRequests)`,
    {
      code: ErrorCode.Overloaded,
      headers: { connection: "close", "retry-after": "1" }
    }
  )

  const connectionOf = (socket: Socket): HttpConnection => {
    const known = connections.get(socket)
    if (known !== undefined) return known
    const connection = new HttpConnection(totals, socket)
    connections.set(socket, connection)
    return connection
  }

  return {
    serve: (request, handle) => {
      const message = NodeMessages.requestOf(request)
      if (message === undefined || isUpgrade(message)) return handle()
      const response = NodeMessages.responseOf(request)
      if (response === undefined || !NodeMessages.isHttp1(response)) return handle()
      const connection = connectionOf(message.socket)
      connection.begin(response)
      if (connection.pending > limits.maxPipelinedRequests) {
        // The client keeps sending requests after 429.
        if (connection.pending > 2 * limits.maxPipelinedRequests) connection.destroy()
        return Effect.succeed(tooMany)
      }
      return Effect.map(handle(), (served) => {
        connection.count(response, bytesOf(served))
        return served
      })
    }
  }
}
