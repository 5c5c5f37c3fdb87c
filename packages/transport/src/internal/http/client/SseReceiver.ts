import type { FrameError, Inbound } from "@effect-mcp/session/Transport"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as Sse from "../../../Sse.ts"
import * as ContentEncoding from "../../shared/ContentEncoding.ts"
import * as FrameText from "../../shared/FrameText.ts"
import * as Turns from "../../shared/Turns.ts"
import type { Answer } from "./HttpCall.ts"

/** One stream of the server, in as many answers as it takes: when one breaks off, another goes on behind the last event. */
export interface SseReceiver {
  /** Reads one answer to its end. The result is what broke it off, or nothing if it just ended. */
  readonly read: (answer: Answer) => Effect.Effect<unknown>
  /** The last event id as a header can carry it (SHS-19); `undefined` if there is none to come back with. */
  readonly lastEventId: () => string | undefined
  /** How long the server wants to be waited for, as it said last. */
  readonly retryMillis: () => number | undefined
  /** How many events have come, those that came again not counted. */
  readonly events: () => number
  /** The number of messages delivered so far. */
  readonly messages: () => number
  /** An event could not be read, so that what the stream was for may have been in it. */
  readonly isDamaged: () => boolean
}

/** How many ids are remembered, to know an event again that comes twice. */
const remembered = 1024

/** How long an id may be to come back with, in characters; a server that could send longer ones would fill the memory with them. */
const longestId = 4096

/** A header carries the bytes of the id, one character for each; some bytes no header can carry. */
const headerValue = (id: string): string | undefined => {
  // oxlint-disable-next-line no-control-regex -- Control characters are what it is about.
  if (id === "" || id.length > longestId || /[\u0000-\u0008\u000A-\u001F\u007F]/.test(id)) return undefined
  return Array.from(new TextEncoder().encode(id), (byte) => String.fromCharCode(byte)).join("")
}

export const make = (options: {
  readonly limitBytes: number
  readonly limitNodes: number
  readonly deliver: (inbound: Inbound) => void
}): SseReceiver => {
  let lastEventId = ""
  let retryMillis: number | undefined
  let events = 0
  let messages = 0
  let damaged = false
  // A server that resumes a stream may begin too early. Within one answer nothing is taken for a repetition.
  let earlier: ReadonlySet<string> = new Set()
  const ids = new Set<string>()

  const remember = (id: string) => {
    // What comes last stands last.
    ids.delete(id)
    ids.add(id)
    if (ids.size > remembered) ids.delete(ids.values().next().value ?? id)
  }

  const take = (event: Result.Result<Sse.Event, FrameError>, bytes: number) => {
    if (Result.isFailure(event)) {
      events++
      damaged = true
      return options.deliver({ frame: Result.fail(event.failure), bytes })
    }
    const { data, event: type, id } = event.success
    if (id !== undefined && id !== "" && id.length <= longestId) {
      if (earlier.has(id)) return
      remember(id)
    }
    events++
    // An event without data gives an id to come back with (SHS-03), and one of another type is no message.
    if (data === "" || type !== "message") return
    const frame = FrameText.parse(data, options.limitNodes)
    if (Result.isFailure(frame)) damaged = true
    else messages++
    options.deliver({ frame, bytes })
  }

  return {
    read: (answer) =>
      Effect.suspend(() => {
        earlier = new Set(ids)
        const decoder = Sse.decoder(take, { maxEventBytes: options.limitBytes, lastEventId })
        const expansion = ContentEncoding.expansion(answer, options.limitBytes)
        const push = (chunk: Uint8Array) => {
          const before = events
          decoder.push(chunk)
          lastEventId = decoder.lastEventId()
          retryMillis = decoder.retryMillis() ?? retryMillis
          expansion.grow(chunk.length, events > before)
        }
        const pushAll = (chunks: ReadonlyArray<Uint8Array>) =>
          Effect.andThen(Turns.bytes(chunks, push), expansion.check)
        return Stream.runForEachArray(answer.chunks, pushAll).pipe(
          Effect.match({ onSuccess: () => undefined, onFailure: (cause) => cause })
        )
      }),
    lastEventId: () => headerValue(lastEventId),
    retryMillis: () => retryMillis,
    events: () => events,
    messages: () => messages,
    isDamaged: () => damaged
  }
}
