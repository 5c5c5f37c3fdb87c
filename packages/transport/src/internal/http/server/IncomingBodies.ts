import { ErrorCode } from "@effect-mcp/protocol"
import type { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import { toIncomingMessage, toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import type { HttpServerError } from "effect/http/HttpServerError"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import { ServerResponse } from "node:http"
import { Http2ServerResponse } from "node:http2"
import { Readable } from "node:stream"
import { type Arrival, Arrivals } from "../../shared/Arrivals.ts"
import * as CollectedBody from "../../shared/CollectedBody.ts"
import * as HttpResponses from "./HttpResponses.ts"
import type { StreamWatchdog } from "./StreamWatchdog.ts"

type Response = HttpServerResponse

/** The bounds on bodies of requests while they arrive. */
export interface Limits {
  /** The most bytes of one body. */
  readonly maxBodyBytes: number
  /** The most bytes of all bodies that are being received. */
  readonly maxTotalBodyBytes: number
  /** The memory of the process for everything that peers make it keep. */
  readonly budget: MemoryBudget
  /** The longest time in which a body may arrive, in milliseconds. */
  readonly bodyMillis: number
}

/** Receives the bodies of a server's requests. */
export interface IncomingBodies {
  /** The body of a request, or the response that says why it is not received. */
  readonly receive: (request: HttpServerRequest) => Effect.Effect<Uint8Array, Response>
}

/** A body that is being received. */
interface Arriving extends Arrival {
  readonly since: number
  readonly refuse: (why: Response) => void
}

/** The number of looks at bodies in the time that one may take. */
const looks = 4

/** The rest of a body that is not read cannot be told from the next request. */
const closing = { connection: "close" }

/**
 * The most pieces that a body may arrive in. Each costs about 5 microseconds, and its client chooses how many bytes it
 * has.
 */
const mostChunks = 16_384

const ignored = () => {}

/** The body of a request on Node as it comes, unless something else, such as middleware, has begun to read it. */
const readableOf = (request: HttpServerRequest): Readable | undefined => {
  const message: unknown = toIncomingMessage(request)
  return message instanceof Readable && !message.readableDidRead && !message.destroyed ? message : undefined
}

/**
 * The length that a request declares; 0 if it declares none. Other platforms than Node pass on a header that is no
 * number.
 */
const declaredLength = ({ headers }: HttpServerRequest): number => {
  const bytes = Number(headers["content-length"] ?? 0)
  return bytes >= 0 ? bytes : 0
}

/** Asks for a body that its client sends only then. */
const askForBody = (request: HttpServerRequest): void => {
  if (request.headers["expect"]?.toLowerCase() !== "100-continue") return
  const response: unknown = toServerResponse(request)
  if (response instanceof ServerResponse || response instanceof Http2ServerResponse) response.writeContinue()
}

export const make = (watchdog: StreamWatchdog, limits: Limits): IncomingBodies => {
  const { bodyMillis, budget, maxBodyBytes, maxTotalBodyBytes } = limits
  const maxBodySize = ByteSize.bytes(maxBodyBytes)
  const tooLarge = HttpResponses.error(413, `A body may have ${maxBodyBytes} bytes`)
  const tooManyChunks = HttpResponses.error(413, `A body may arrive in ${mostChunks} chunks`, { headers: closing })
  const late = HttpResponses.error(408, `The body did not arrive within ${bodyMillis} ms`, { headers: closing })
  const broken = HttpResponses.error(400, "The body could not be read", { code: ErrorCode.ParseError })
  const crowded = HttpResponses.error(
    503,
    `The bodies of all requests may have ${maxTotalBodyBytes} bytes while they arrive`,
    {
      code: ErrorCode.Overloaded,
      headers: { ...closing, "retry-after": "1" }
    }
  )

  const arrivals = new Arrivals<Arriving>(budget, maxTotalBodyBytes)
  let isWatched = false

  const watch = () => {
    if (isWatched) return
    isWatched = true
    watchdog.schedule(bodyMillis / looks, () => {
      isWatched = false
      const then = watchdog.now() - bodyMillis
      for (const body of arrivals) {
        if (body.since > then) break
        body.refuse(late)
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
      const collected = CollectedBody.make(maxBodyBytes)
      let chunks = 0
      const leave = () => {
        // Node may have decided to report an error already, which it does a little later: without a listener that ends
        // the process.
        readable.on("error", ignored)
        readable.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken)
        arrivals.end(body)
      }
      const body: Arriving = {
        since: watchdog.now(),
        bytes: 0,
        refuse: (why) => {
          leave()
          readable.pause()
          resume(Effect.fail(why))
        },
        makeRoom: () => body.refuse(crowded)
      }
      const onData = (chunk: Uint8Array) => {
        if (++chunks > mostChunks) return body.refuse(tooManyChunks)
        if (!collected.push(chunk)) return body.refuse(tooLarge)
        arrivals.grow(body, chunk.length)
      }
      const onEnd = () => {
        leave()
        resume(Effect.succeed(collected.bytes()))
      }
      const onBroken = () => body.refuse(broken)
      begin(body)
      askForBody(request)
      readable.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken)
      return Effect.sync(() => {
        leave()
        readable.pause()
      })
    })

  const refusalOf = ({ reason }: HttpServerError): Response =>
    reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge" ? tooLarge : broken

  /** A body that the platform reads, which counts as long as it is declared to be. */
  const fromPlatform = (request: HttpServerRequest, declaredBytes: number): Effect.Effect<Uint8Array, Response> =>
    Effect.callback<Uint8Array, Response>((resume) => {
      const body: Arriving = {
        since: watchdog.now(),
        bytes: 0,
        refuse: (why) => {
          arrivals.end(body)
          resume(Effect.fail(why))
        },
        makeRoom: () => body.refuse(crowded)
      }
      begin(body)
      arrivals.grow(body, declaredBytes)
      return Effect.sync(() => arrivals.end(body))
    }).pipe(
      Effect.raceFirst(
        Effect.mapError(Effect.provideService(request.arrayBuffer, MaxBodySize, maxBodySize), refusalOf)
      ),
      Effect.map((bytes) => new Uint8Array(bytes))
    )

  return {
    receive: (request) =>
      Effect.suspend(() => {
        const declaredBytes = declaredLength(request)
        if (declaredBytes > maxBodyBytes) return Effect.fail(tooLarge)
        const readable = readableOf(request)
        return readable === undefined ? fromPlatform(request, declaredBytes) : fromReadable(request, readable)
      })
  }
}
