/** What a session owes for the frames it got, and whether it has paid. */
import { JsonRpc, type MethodDefinition, type RequestId, Revision } from "@effect-mcp/protocol"
import { Hostile, NearlyValid, ValidMessages } from "@effect-mcp/testing/arbitrary"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"

/** Lets every fiber that can run do so. */
export const settled: Effect.Effect<void> = Effect.asVoid(Effect.repeat(Effect.yieldNow, { times: 50 }))

/** Frames of all three degrees of politeness, mixed. */
export const frames = (
  from: MethodDefinition.Role,
  revision: Revision.Revision
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

/** Stands for a line that is no frame. */
export const unreadable: unique symbol = Symbol("unreadable")

/** What is owed for a frame: an answer for each of these requests, and so many complaints beside them, up to the limit. */
interface Owed {
  readonly requests: ReadonlyArray<RequestId.RequestId>
  readonly complaints: number
}

/**
 * A client is silent about what names no request: it may be a stray line of a child process. One under too long a name
 * is certainly no such line.
 */
const owedFor = (frame: unknown, by: MethodDefinition.Role, revision: Revision.Revision, inBatch = false): Owed => {
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

/** As many messages may be in a batch, unless an option says otherwise. A larger one is complained of as a whole. */
const mostInBatch = 100

/** One answer in a list of its own is read as if it had come without. */
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

/** As many complaints are made in a second, unless an option says otherwise. */
const maxMalformedRepliesPerSecond = 10

/** What is wrong with a session's answers to these frames, which came within one second, if anything is. */
export const unpaid = (
  sent: ReadonlyArray<unknown>,
  said: ReadonlyArray<JsonRpc.Message>,
  by: MethodDefinition.Role,
  revision: Revision.Revision
): string | undefined => {
  const owed = sum(sent.map((frame) => owedFor(frame, by, revision)))
  const responses = said.filter((message): message is JsonRpc.Response => !("method" in message))
  if (responses.length < said.length) return "something was asked or told"
  const paid = counted(responses.map(({ id }) => id))
  for (const [id, count] of counted(owed.requests)) {
    const missing = count - (paid.get(id) ?? 0)
    if (missing > 0) return `${missing} of ${count} answers to ${id} are missing`
  }
  // No more answers than that, so each request has exactly one.
  const complaints = Math.min(maxMalformedRepliesPerSecond, owed.complaints)
  const expected = owed.requests.length + complaints
  if (responses.length !== expected) return `${responses.length} answers instead of ${expected}`
  const errors = responses.filter((response) => JsonRpc.isFailure(response)).length
  return errors < complaints ? "a complaint is no error" : undefined
}

const namesOfPrototype = Object.getOwnPropertyNames(Object.prototype).toSorted().join()

/** Has every object its members from where it should? */
export const isUnpolluted = (): boolean =>
  Object.getOwnPropertyNames(Object.prototype).toSorted().join() === namesOfPrototype &&
  !("polluted" in {}) && !("polluted" in Object) && !("polluted" in [])
