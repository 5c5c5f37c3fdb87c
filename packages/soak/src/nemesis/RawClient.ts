/** A client on plain HTTP requests, which records each of them. */
import * as Http from "node:http"
import { EventReader } from "./EventReader.ts"
import type { Exchange, Principal, Purpose, ReceivedEvent } from "./History.ts"

/** A process that a request can be sent to. */
export interface Place {
  readonly name: string
  readonly port: number
}

export interface Sent {
  readonly principal: Principal
  readonly to: Place
  readonly purpose: Purpose
  readonly method: Exchange["method"]
  readonly session?: string | undefined
  readonly lastEventId?: string | undefined
  readonly message?: unknown
  /** Receives the status when the head of the response comes. */
  readonly onStatus?: (status: number | undefined) => void
  /** Receives each event as it comes. */
  readonly onEvent?: (event: ReceivedEvent) => void
  /** The time after which the client abandons the request. */
  readonly limitMillis?: number
  /** The time without a byte after which the client abandons the request. */
  readonly silenceMillis?: number
  /** The time for which the client reads nothing of the response. */
  readonly slowMillis?: number
}

/** A request that was sent. */
export interface Pending {
  readonly exchange: Exchange
  /** Closes the connection. */
  readonly abandon: () => void
  readonly done: Promise<Exchange>
}

/** The requests of all clients, in the order in which they were sent. */
export class Recorder {
  readonly exchanges: Array<Exchange> = []

  now(): number {
    return performance.now()
  }

  /** Sends a request, on a connection of its own. */
  send(sent: Sent): Pending {
    const text = sent.message === undefined ? undefined : JSON.stringify(sent.message)
    const exchange: Exchange = {
      number: this.exchanges.length,
      principal: sent.principal,
      process: sent.to.name,
      purpose: sent.purpose,
      method: sent.method,
      session: sent.session,
      lastEventId: sent.lastEventId,
      sent: text,
      startedAt: this.now(),
      respondedAt: undefined,
      status: undefined,
      opened: undefined,
      retryAfter: undefined,
      body: "",
      events: [],
      endedAt: undefined,
      ending: undefined
    }
    this.exchanges.push(exchange)
    let abandon = () => {}
    const done = new Promise<Exchange>((resolve) => {
      let silence: NodeJS.Timeout | undefined
      let limit: NodeJS.Timeout | undefined
      const end = (ending: NonNullable<Exchange["ending"]>) => {
        clearTimeout(silence)
        clearTimeout(limit)
        if (exchange.ending !== undefined) return
        exchange.ending = ending
        exchange.endedAt = this.now()
        resolve(exchange)
      }
      const request = Http.request({
        host: "127.0.0.1",
        port: sent.to.port,
        path: "/mcp",
        method: sent.method,
        agent: false,
        headers: {
          authorization: `Bearer ${sent.principal}`,
          accept: sent.method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
          ...(text === undefined
            ? undefined
            : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
          ...(sent.session === undefined
            ? undefined
            : { "mcp-session-id": sent.session, "mcp-protocol-version": "2025-11-25" }),
          ...(sent.lastEventId === undefined ? undefined : { "last-event-id": sent.lastEventId })
        }
      })
      abandon = () => {
        end("abandoned")
        request.destroy()
      }
      const heard = () => {
        clearTimeout(silence)
        if (sent.silenceMillis !== undefined) silence = setTimeout(abandon, sent.silenceMillis)
      }
      if (sent.limitMillis !== undefined) limit = setTimeout(abandon, sent.limitMillis)
      heard()
      request.on("error", (error) => end("code" in error && error.code === "ECONNREFUSED" ? "refused" : "broken"))
      request.on("response", (response) => {
        heard()
        const { headers, statusCode } = response
        const [opened] = [headers["mcp-session-id"]].flat()
        exchange.respondedAt = this.now()
        exchange.status = statusCode
        exchange.opened = opened
        exchange.retryAfter = headers["retry-after"]
        sent.onStatus?.(statusCode)
        const isStream = headers["content-type"]?.startsWith("text/event-stream") === true
        const reader = new EventReader()
        const parts: Array<Buffer> = []
        response.on("data", (bytes: Buffer) => {
          heard()
          if (exchange.ending !== undefined) return
          if (!isStream) {
            parts.push(bytes)
            return
          }
          for (const { data, id } of reader.read(bytes)) {
            const event = { at: this.now(), id, data }
            exchange.events.push(event)
            sent.onEvent?.(event)
          }
        })
        const finish = (ending: "complete" | "broken") => {
          if (exchange.ending === undefined && !isStream) exchange.body = Buffer.concat(parts).toString("utf8")
          end(ending)
        }
        response.on("end", () => finish(response.complete ? "complete" : "broken"))
        response.on("error", () => finish("broken"))
        response.on("close", () => finish("broken"))
        if (sent.slowMillis !== undefined) {
          response.pause()
          setTimeout(() => response.resume(), sent.slowMillis)
        }
      })
      request.end(text)
    })
    return { exchange, abandon: () => abandon(), done }
  }
}
