/** The streams that an earlier owner of a session left open, as the next owner ends them. */
import { JsonRpc, McpError, type RequestId } from "@effect-mcp/protocol"
import type { EventStore, EventStoreError, UnendedStream, WrittenStream } from "@effect-mcp/session/EventStore"
import type { SupersededError } from "@effect-mcp/session/SupersededError"
import * as Effect from "effect/Effect"
import type { EarlierStream } from "./EarlierStream.ts"

/** The error of a request whose process has ended, or has lost its session. */
export const outcomeUnknown: JsonRpc.ErrorObject = (({ code, data, message }) => ({ code, message, data }))(
  McpError.outcomeUnknown("The process that served this request has ended, and the outcome of the request is unknown")
)

/** The reason of a cancelled question. */
const reason = "the process that asked has ended"

/** The number of streams of a session that are ended at a time. */
export const concurrency = 8

/** Returns the cancellation of a question, whose process has ended. */
export const cancellationOf = (requestId: RequestId.RequestId): JsonRpc.Notification =>
  JsonRpc.notification("notifications/cancelled", { requestId, reason })

/**
 * Returns the last messages of a stream: a cancellation of each question in it, and one error for each of its requests.
 * A request that is answered already gets none, because its process ended between the answer and the end of the stream.
 */
const lastMessages = ({ questions, unanswered }: EarlierStream): ReadonlyArray<string> => {
  // After the responses, nothing waits for an answer, and nothing may follow them.
  const open = unanswered.length === 0 ? [] : Array.from(questions)
  const cancellations = open.map(cancellationOf)
  const errors = unanswered.map((id) => JsonRpc.failure(id, outcomeUnknown))
  // The replies to a batch are one batch.
  const replies = errors.length > 1 ? [errors] : errors
  return [...cancellations, ...replies].map((message) => JSON.stringify(message))
}

/** Ends a stream of a request. */
const endStream = Effect.fnUntraced(function*(
  store: EventStore["Service"],
  stream: WrittenStream,
  earlier: EarlierStream
): Effect.fn.Return<void, EventStoreError | SupersededError> {
  for (const message of lastMessages(earlier)) yield* store.append(stream, message)
  yield* store.end(stream)
})

/** Ends these streams, and returns whether all have ended. One that cannot be ended does not affect the others. */
export const endStreams = (
  store: EventStore["Service"],
  left: ReadonlyArray<EarlierStream>,
  keyOf: (stream: UnendedStream) => WrittenStream
): Effect.Effect<boolean> =>
  Effect.map(
    Effect.forEach(
      left,
      (earlier) =>
        Effect.match(endStream(store, keyOf(earlier.stream), earlier), {
          onSuccess: () => true,
          // The next owner ends it.
          onFailure: ({ _tag }) => _tag === "SupersededError"
        }),
      { concurrency }
    ),
    (ends) => ends.every((hasEnded) => hasEnded)
  )
