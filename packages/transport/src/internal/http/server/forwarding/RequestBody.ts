/** The body of a request that goes to another process. */
import { ErrorCode } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { type HttpServerResponse, setHeaders } from "effect/http/HttpServerResponse"
import type { Readable } from "node:stream"
import * as HttpResponses from "../HttpResponses.ts"
import { maxChunks, sendContinue, tooManyChunks } from "../IncomingBodies.ts"
import * as NodeMessages from "../NodeMessages.ts"

/**
 * A body.
 *
 * - `None`: there is none.
 * - `Kept`: the whole of it, which can be sent again.
 * - `Streamed`: its beginning, and the rest as the client sends it. It can be sent once.
 */
export type RequestBody =
  | { readonly _tag: "None" }
  | { readonly _tag: "Kept"; readonly bytes: Uint8Array }
  | { readonly _tag: "Streamed"; readonly begun: ReadonlyArray<Uint8Array>; readonly rest: Readable; isSent: boolean }

/**
 * Returns the response to a request whose body was begun. No process reads the rest: the connection would hang until
 * its keep-alive time is over.
 */
export const closingUnread = (response: HttpServerResponse, body: RequestBody): HttpServerResponse =>
  body._tag === "Streamed" && !body.rest.readableEnded ? setHeaders(response, closing) : response

/** A request without a body. */
export const none: RequestBody = { _tag: "None" }

const closing = { connection: "close" }

const broken = HttpResponses.error(400, "The body could not be read", { code: ErrorCode.ParseError, headers: closing })

const ignored = () => {}

/**
 * Reads a body on Node. One of at most `maxBytes` is kept; the rest of a longer one stays unread until it is sent. The
 * beginning must arrive within `millis`.
 */
const readBeginning = (
  readable: Readable,
  maxBytes: number,
  millis: number
): Effect.Effect<RequestBody, HttpServerResponse> => {
  const read = Effect.callback<RequestBody, HttpServerResponse>((resume) => {
    const begun: Array<Uint8Array> = []
    let length = 0
    const leave = () => {
      // Node may emit an error that it decided on earlier. Without a listener, the error would end the process.
      readable.on("error", ignored)
      readable.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken).pause()
    }
    const onData = (chunk: Uint8Array) => {
      begun.push(chunk)
      length += chunk.length
      if (begun.length > maxChunks) {
        leave()
        return resume(Effect.fail(tooManyChunks))
      }
      if (length <= maxBytes) return
      leave()
      resume(Effect.succeed({ _tag: "Streamed", begun, rest: readable, isSent: false }))
    }
    const onEnd = () => {
      leave()
      resume(Effect.succeed({ _tag: "Kept", bytes: Buffer.concat(begun) }))
    }
    const onBroken = () => {
      leave()
      resume(Effect.fail(broken))
    }
    readable.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken)
    return Effect.sync(leave)
  })
  return Effect.timeoutOrElse(read, {
    duration: millis,
    orElse: () =>
      Effect.fail(HttpResponses.error(408, `The body did not arrive within ${millis} ms (bodyTimeout)`, {
        headers: closing
      }))
  })
}

/** The bounds of a body. */
export interface Limits {
  /** The most bytes that are kept. */
  readonly maxKeptBytes: number
  readonly bodyMillis: number
  /** Receives the whole body of a request on another platform than Node. */
  readonly receive: (request: HttpServerRequest) => Effect.Effect<Uint8Array, HttpServerResponse>
}

/** Receives the body of a POST. */
export const receive = (
  request: HttpServerRequest,
  { bodyMillis, maxKeptBytes, receive }: Limits
): Effect.Effect<RequestBody, HttpServerResponse> =>
  Effect.suspend(() => {
    const readable = NodeMessages.bodyOf(request)
    if (readable === undefined || readable.readableDidRead || readable.destroyed) {
      return Effect.map(receive(request), (bytes): RequestBody => ({ _tag: "Kept", bytes }))
    }
    sendContinue(request)
    return readBeginning(readable, maxKeptBytes, bodyMillis)
  })

/** Returns the request with a body that was read already. */
export const withKept = (request: HttpServerRequest, body: RequestBody): HttpServerRequest => {
  if (body._tag !== "Kept") return request
  const bytes = Uint8Array.from(body.bytes)
  const arrayBuffer = Effect.succeed(bytes.buffer)
  // A request of Effect has private fields, so that an object that inherits from it cannot be used in its place.
  return new Proxy(request, {
    get: (target, name) => {
      if (name === "arrayBuffer") return arrayBuffer
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === "function" ? value.bind(target) : value
    }
  })
}
