/** The reading of the response to one request: from a JSON body, or from one or more SSE streams. */
import type { JsonRpc } from "@effect-mcp/protocol"
import type { Inbound } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as FrameText from "../../../shared/FrameText.ts"
import * as ServerAddress from "../../../shared/ServerAddress.ts"
import * as utf8 from "../../../shared/utf8.ts"
import * as HttpCall from "../HttpCall.ts"
import * as ResponseBody from "../ResponseBody.ts"
import { responseIn } from "../responseIn.ts"
import * as SseReceiver from "../SseReceiver.ts"

/** The bounds of a message. */
export interface Limits {
  readonly maxMessageBytes: number
  readonly maxMessageNodes: number
}

type Deliver = (inbound: Inbound) => void

/** Returns the error of a request that may have been carried out and whose response will not arrive. */
export const exchangeEnded = (cause: unknown): TransportError.TransportError =>
  TransportError.make(cause === undefined ? { _tag: "ExchangeEnded" } : { _tag: "ExchangeEnded", cause })

/** Returns the error of a request that is answered neither with JSON nor with an SSE stream. */
export const unexpectedResponse = (response: HttpCall.HttpResponse): TransportError.TransportError =>
  exchangeEnded(
    new Error(
      response.status === 202
        ? "the request was answered with status 202, which is for messages without a response"
        : `the request to ${
          ServerAddress.shown(response.url)
        } was answered with status ${response.status} and a body ` +
          `of content type ${HttpCall.mediaType(response) ?? "unknown"}; ` +
          "it must be application/json or text/event-stream"
    )
  )

/** Reads a JSON body: one message or, in revision 2025-03-26, a batch. */
export const readJson = Effect.fnUntraced(function*(
  response: HttpCall.HttpResponse,
  { maxMessageBytes, maxMessageNodes }: Limits,
  deliver: Deliver
) {
  const body = yield* Effect.mapError(ResponseBody.read(response, maxMessageBytes), exchangeEnded)
  if (body === undefined) {
    deliver({ frame: Result.fail({ _tag: "TooLarge", limitBytes: maxMessageBytes }), bytes: maxMessageBytes })
    return yield* exchangeEnded(
      new Error(`the response body is larger than ${maxMessageBytes} bytes; set maxMessageBytes to allow more`)
    )
  }
  const frame = FrameText.parseBytes(utf8.withoutByteOrderMark(body), maxMessageNodes)
  deliver({ frame, bytes: body.length })
  if (Result.isSuccess(frame)) return
  const { failure } = frame
  return yield* exchangeEnded(
    new Error(
      failure._tag === "TooComplex"
        ? `the response body has ${failure.nodes} arrays, objects and members (8 for an integer beyond 2^53); ` +
          `set maxMessageNodes to allow more than ${maxMessageNodes}`
        : "the response body is not JSON"
    )
  )
})

/** A request whose response is read from SSE streams. */
export class ResponseReader {
  readonly stream: SseReceiver.SseReceiver
  readonly #answered = Deferred.makeUnsafe<void>()

  constructor(id: JsonRpc.Request["id"], limits: Limits, deliver: Deliver) {
    this.stream = SseReceiver.make({
      maxMessageBytes: limits.maxMessageBytes,
      maxMessageNodes: limits.maxMessageNodes,
      deliver: (inbound) => {
        const isResponse = Result.isSuccess(inbound.frame) && responseIn(inbound.frame.success, id) !== undefined
        deliver(inbound)
        if (isResponse) Deferred.doneUnsafe(this.#answered, Exit.void)
      }
    })
  }

  /** Whether the response has been delivered. */
  get isAnswered(): boolean {
    return Deferred.isDoneUnsafe(this.#answered)
  }

  /**
   * Reads a stream until it ends or the response arrives, whichever is first. Returns the error of a broken stream.
   */
  follow(response: HttpCall.HttpResponse): Effect.Effect<unknown> {
    return Effect.suspend(() => {
      let cause: unknown
      const read = Effect.map(this.stream.read(response), (ended) => {
        cause = ended
      })
      return Effect.map(ResponseBody.untilEnough(read, Deferred.await(this.#answered)), () => cause)
    })
  }
}
