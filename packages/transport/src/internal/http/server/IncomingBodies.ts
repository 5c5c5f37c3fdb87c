/** The bodies of requests while they arrive, bounded in bytes, chunks and time. */
import { ErrorCode } from "@effect-mcp/protocol"
import type { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import type { HttpServerError } from "effect/http/HttpServerError"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type { Readable } from "node:stream"
import { type Arrival, Arrivals } from "../../shared/Arrivals.ts"
import * as CollectedBody from "../../shared/CollectedBody.ts"
import * as HttpResponses from "./HttpResponses.ts"
import * as NodeMessages from "./NodeMessages.ts"
import type { StreamWatchdog } from "./StreamWatchdog.ts"

type Response = HttpServerResponse

/** The bounds on arriving bodies. */
export interface Limits {
  /** The most bytes of one body. */
  readonly maxMessageBytes: number
  /** The most bytes of all arriving bodies. */
  readonly maxTotalIncomingBytes: number
  /** The memory of the process for everything that peers make it keep. */
  readonly budget: MemoryBudget
  /** The time in which a body must arrive, in milliseconds. */
  readonly bodyMillis: number
}

/** Receives the bodies of a server's requests. */
export interface IncomingBodies {
  /** Returns the body of a request; fails with the response that rejects it. */
  readonly receive: (request: HttpServerRequest) => Effect.Effect<Uint8Array, Response>
}

/** A body that arrives. */
interface Arriving extends Arrival {
  readonly since: number
  readonly reject: (response: Response) => void
}

/** The number of checks of all bodies within `bodyMillis`. */
const checks = 4

/** Closes the connection: the rest of a body that is not read would be parsed as the next request. */
const closing = { connection: "close" }

/** The most chunks of a body. Each costs about 5 microseconds, and the client chooses their size. */
export const maxChunks = 16_384

/** Rejects a body with more chunks. */
export const tooManyChunks = HttpResponses.error(
  413,
  `The body has more than ${maxChunks} chunks; send larger chunks`,
  { headers: closing }
)

const ignored = () => {}

/** Returns the body of a request on Node, unless middleware has started to read it. */
const readableOf = (request: HttpServerRequest): Readable | undefined => {
  const body = NodeMessages.bodyOf(request)
  return body === undefined || body.readableDidRead || body.destroyed ? undefined : body
}

/**
 * Returns the declared length of a body, or 0. Other platforms than Node do not reject a header that is not a number.
 */
const declaredLength = ({ headers }: HttpServerRequest): number => {
  const bytes = Number(headers["content-length"] ?? 0)
  return bytes >= 0 ? bytes : 0
}

/** Sends 100 if the client waits for it before it sends the body. */
export const sendContinue = (request: HttpServerRequest): void => {
  if (request.headers["expect"]?.toLowerCase() === "100-continue") NodeMessages.responseOf(request)?.writeContinue()
}

/** Makes the receiver of a server. */
export const make = (watchdog: StreamWatchdog, limits: Limits): IncomingBodies => {
  const { bodyMillis, budget, maxMessageBytes, maxTotalIncomingBytes } = limits
  const maxBodySize = ByteSize.bytes(maxMessageBytes)
  const tooLarge = HttpResponses.error(413, `The body is larger than ${maxMessageBytes} bytes (maxMessageBytes)`)
  const timedOut = HttpResponses.error(408, `The body did not arrive within ${bodyMillis} ms (bodyTimeout)`, {
    headers: closing
  })
  const broken = HttpResponses.error(400, "The body could not be read", { code: ErrorCode.ParseError })
  const noRoom = HttpResponses.error(
    503,
    `The bodies of all requests are larger than ${maxTotalIncomingBytes} bytes (maxTotalIncomingBytes)`,
    {
      code: ErrorCode.Overloaded,
      headers: { ...closing, "retry-after": "1" }
    }
  )

  const arrivals = new Arrivals<Arriving>(budget, maxTotalIncomingBytes)
  let isWatched = false

  const watch = () => {
    if (isWatched) return
    isWatched = true
    watchdog.schedule(bodyMillis / checks, () => {
      isWatched = false
      const then = watchdog.now() - bodyMillis
      for (const body of arrivals) {
        if (body.since > then) break
        body.reject(timedOut)
      }
      if (arrivals.size > 0) watch()
    })
  }

  const begin = (body: Arriving) => {
    arrivals.begin(body)
    watch()
  }

  const fromReadable = (request: HttpServerRequest, readable: Readable): Effect.Effect<Uint8Array, Response> =>
    Effect.callback<Uint8Array, Response>((resume) => {
      const collected = CollectedBody.make(maxMessageBytes)
      let chunks = 0
      const leave = () => {
        // Node may emit an error that it decided on earlier. Without a listener, the error would end the process.
        readable.on("error", ignored)
        readable.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken)
        arrivals.end(body)
      }
      const body: Arriving = {
        since: watchdog.now(),
        bytes: 0,
        reject: (response) => {
          leave()
          readable.pause()
          resume(Effect.fail(response))
        },
        makeRoom: () => body.reject(noRoom)
      }
      const onData = (chunk: Uint8Array) => {
        if (++chunks > maxChunks) return body.reject(tooManyChunks)
        if (!collected.push(chunk)) return body.reject(tooLarge)
        arrivals.grow(body, chunk.length)
      }
      const onEnd = () => {
        leave()
        resume(Effect.succeed(collected.bytes()))
      }
      const onBroken = () => body.reject(broken)
      begin(body)
      sendContinue(request)
      readable.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken)
      return Effect.sync(() => {
        leave()
        readable.pause()
      })
    })

  const rejectionOf = ({ reason }: HttpServerError): Response =>
    reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge" ? tooLarge : broken

  /** Receives a body by the platform. It counts with its declared length. */
  const fromPlatform = (request: HttpServerRequest, declaredBytes: number): Effect.Effect<Uint8Array, Response> =>
    Effect.callback<Uint8Array, Response>((resume) => {
      const body: Arriving = {
        since: watchdog.now(),
        bytes: 0,
        reject: (response) => {
          arrivals.end(body)
          resume(Effect.fail(response))
        },
        makeRoom: () => body.reject(noRoom)
      }
      begin(body)
      arrivals.grow(body, declaredBytes)
      return Effect.sync(() => arrivals.end(body))
    }).pipe(
      Effect.raceFirst(
        Effect.mapError(Effect.provideService(request.arrayBuffer, MaxBodySize, maxBodySize), rejectionOf)
      ),
      Effect.map((bytes) => new Uint8Array(bytes))
    )

  return {
    receive: (request) =>
      Effect.suspend(() => {
        const declaredBytes = declaredLength(request)
        if (declaredBytes > maxMessageBytes) return Effect.fail(tooLarge)
        const readable = readableOf(request)
        return readable === undefined ? fromPlatform(request, declaredBytes) : fromReadable(request, readable)
      })
  }
}
