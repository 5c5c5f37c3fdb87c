/** The replies that a session must send for frames, and a check of them. */
import { JsonRpc, type MethodDefinition, type RequestId, Revision } from "@effect-mcp/protocol"
import { Hostile, NearlyValid, ValidMessages } from "@effect-mcp/testing/arbitrary"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"

/** Runs every fiber that can run. */
export const settled: Effect.Effect<void> = Effect.asVoid(Effect.repeat(Effect.yieldNow, { times: 50 }))

/** Generates valid, nearly valid and hostile frames. */
export const frames = (
  from: MethodDefinition.Role,
  revision: Revision.LegacyRevision
): Arbitrary.Arbitrary<ReadonlyArray<unknown>> =>
  Arbitrary.map(
    Arbitrary.array(
      Arbitrary.all([
        Hostile.frame(from, revision),
        Arbitrary.map(NearlyValid.rejected(from, revision), ({ message }) => message),
        Arbitrary.map(NearlyValid.tolerated(from, revision), ({ message }) => message),
        ValidMessages.frame(from, revision)
      ]),
      { maxLength: 5 }
    ),
    (groups) => groups.flat()
  )

/** Represents a line that is not a frame. */
export const unreadable: unique symbol = Symbol("unreadable")

/** The required replies: one for each of these requests, and error replies without a request, up to the limit. */
interface Owed {
  readonly requests: ReadonlyArray<RequestId.RequestId>
  readonly complaints: number
}

/**
 * A client sends no reply to a malformed message without an id, because it may be a stray line of a child process. A
 * message with too long an id is no such line.
 */
const owedFor = (
  frame: unknown,
  by: MethodDefinition.Role,
  revision: Revision.LegacyRevision,
  inBatch = false
): Owed => {
  if (frame === unreadable) return { requests: [], complaints: by === "server" ? 1 : 0 }
  const classified = JsonRpc.classify(frame)
  switch (classified._tag) {
    case "Request":
      return { requests: [classified.message.id], complaints: 0 }
    case "Notification":
    case "Response":
      return { requests: [], complaints: 0 }
    case "Malformed": {
      const { answerable, id, tooLong = false } = classified.malformed
      return { requests: [], complaints: answerable && (by === "server" || id !== undefined || tooLong) ? 1 : 0 }
    }
    case "Batch":
      return inBatch || !Revision.envelopes[revision].batches || classified.frames.length > mostInBatch
        ? { requests: [], complaints: by === "server" && !isAnswer(classified.frames, inBatch) ? 1 : 0 }
        : sum(classified.frames.map((inner) => owedFor(inner, by, revision, true)))
  }
}

/** The default limit of messages in a batch. A larger batch gets one error reply. */
const mostInBatch = 100

/** A batch of one response is processed like the response. */
const isAnswer = (frames: ReadonlyArray<unknown>, inBatch: boolean): boolean => {
  const [only] = frames
  if (inBatch || frames.length > 1) return false
  const classified = JsonRpc.classify(only)
  return classified._tag === "Response" ||
    (classified._tag === "Malformed" && classified.malformed.answers !== undefined)
}

const sum = (all: ReadonlyArray<Owed>): Owed => ({
  requests: all.flatMap(({ requests }) => requests),
  complaints: all.reduce((total, { complaints }) => total + complaints, 0)
})

/** `1` and `"1"` are two ids. */
const counted = (ids: ReadonlyArray<unknown>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const id of ids) {
    const key = `${typeof id} ${String(id)}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

/** The default limit of error replies in a second. */
const maxMalformedRepliesPerSecond = 10

/** Returns the fault in a session's replies to frames that arrived within one second, if there is one. */
export const unpaid = (
  sent: ReadonlyArray<unknown>,
  said: ReadonlyArray<JsonRpc.Message>,
  by: MethodDefinition.Role,
  revision: Revision.LegacyRevision
): string | undefined => {
  const owed = sum(sent.map((frame) => owedFor(frame, by, revision)))
  const responses = said.filter((message): message is JsonRpc.Response => !("method" in message))
  if (responses.length < said.length) return "something was asked or told"
  const paid = counted(responses.map(({ id }) => id))
  for (const [id, count] of counted(owed.requests)) {
    const missing = count - (paid.get(id) ?? 0)
    if (missing > 0) return `${missing} of ${count} answers to ${id} are missing`
  }
  // There are no further replies, so each request has exactly one.
  const complaints = Math.min(maxMalformedRepliesPerSecond, owed.complaints)
  const expected = owed.requests.length + complaints
  if (responses.length !== expected) return `${responses.length} answers instead of ${expected}`
  const errors = responses.filter((response) => JsonRpc.isFailure(response)).length
  return errors < complaints ? "a complaint is no error" : undefined
}

const namesOfPrototype = Object.getOwnPropertyNames(Object.prototype).toSorted().join()

/** Returns whether the prototypes of objects are unchanged. */
export const isUnpolluted = (): boolean =>
  Object.getOwnPropertyNames(Object.prototype).toSorted().join() === namesOfPrototype &&
  !("polluted" in {}) && !("polluted" in Object) && !("polluted" in [])
