/** The HTTP client by which a simulated process forwards requests to another one. */
import type { Forwarder } from "@effect-mcp/transport/internal"
import { ForwardError } from "@effect-mcp/transport/internal"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { exchangeHeader } from "./exchangeHeader.ts"
import type { ProcessEvent } from "./History.ts"
import type * as Network from "./Network.ts"

/** The time in which a connection must be made, in milliseconds. */
const connectMillis = 2000

/** The status of a process that does not own the session. */
const misdirected = 421

/** The parts of a process that its HTTP client needs. */
export interface Options {
  readonly network: Network.Network
  readonly server: Network.Server
  readonly record: (event: ProcessEvent) => void
  /** Calls a function in the process after a time, unless it is cancelled before. */
  readonly after: (millis: number, action: () => void) => () => void
}

type ForwardedRequest = Parameters<Forwarder["Service"]["send"]>[0]

const decoder = new TextDecoder()

const bodyOf = ({ body }: ForwardedRequest): string | undefined =>
  body._tag === "Kept" ? decoder.decode(body.bytes) : undefined

/** Makes the HTTP client of a process. */
export const make = ({ after, network, record, server }: Options): Forwarder["Service"] => ({
  send: (forwarded) =>
    Effect.callback<HttpServerResponse.HttpServerResponse, ForwardError>((resume) => {
      const exchange = Number(forwarded.headers[exchangeHeader])
      const chunks = Effect.runSync(Queue.unbounded<Uint8Array, Error | Cause.Done>())
      const ended = forwarded.begin()
      let isAnswered = false
      let isOver = false
      record({ _tag: "Forwarded", exchange })

      const end = (isUnprocessed: boolean): void => {
        if (isOver) return
        isOver = true
        cancelTimer()
        ended()
        record({ _tag: "ForwardEnded", exchange, isUnprocessed })
      }
      const fail = (mayBeProcessed: boolean, cause: unknown): void => {
        end(!mayBeProcessed)
        resume(Effect.fail(new ForwardError({ mayBeProcessed, cause })))
      }
      const close = (): void => {
        disconnect()
        end(false)
      }
      let cancelTimer = after(connectMillis, () => {
        disconnect()
        fail(false, "no connection was made in time")
      })
      const disconnect = network.send({ kind: "Process", process: server }, forwarded.address.origin, {
        method: forwarded.method,
        headers: forwarded.headers,
        body: bodyOf(forwarded)
      }, {
        connected: () => {
          cancelTimer()
          cancelTimer = after(forwarded.headersMillis, () => {
            disconnect()
            fail(true, "no response began in time")
          })
        },
        head: (status, headers) => {
          cancelTimer()
          if (status === misdirected) {
            disconnect()
            return fail(false, "the process does not own the session")
          }
          isAnswered = true
          const body = Stream.ensuring(Stream.fromQueue(chunks), Effect.sync(close))
          const { "content-type": contentType, ...others } = headers
          resume(Effect.succeed(HttpServerResponse.stream(body, { status, headers: others, contentType })))
        },
        data: (bytes) => void Queue.offerUnsafe(chunks, bytes),
        end: () => {
          end(false)
          Queue.endUnsafe(chunks)
        },
        broken: (isRefused) => {
          if (!isAnswered) return fail(!isRefused, isRefused ? "the connection was refused" : "the connection broke")
          end(false)
          Effect.runSync(Queue.fail(chunks, new Error("the connection broke")))
        }
      })
      return Effect.sync(close)
    })
})
