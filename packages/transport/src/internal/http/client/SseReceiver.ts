/** The messages of one SSE stream, which may span several HTTP responses. */
import type { FrameError, Inbound } from "@effect-mcp/session/Transport"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as Sse from "../../../Sse.ts"
import * as ContentEncoding from "../../shared/ContentEncoding.ts"
import * as FrameText from "../../shared/FrameText.ts"
import * as Turns from "../../shared/Turns.ts"
import type { HttpResponse } from "./HttpCall.ts"

/** One stream of the server. After a response breaks, another one continues the stream after its last event. */
export interface SseReceiver {
  /** Reads one response to its end. Returns the reason why it broke, or nothing if it ended. */
  readonly read: (response: HttpResponse) => Effect.Effect<unknown>
  /** Returns the last event id for the header (SHS-19); `undefined` if the stream cannot be resumed. */
  readonly lastEventId: () => string | undefined
  /** Returns the last reconnection time that the server sent. */
  readonly retryMillis: () => number | undefined
  /** Returns the number of events so far, without repeated ones. */
  readonly events: () => number
  /** Returns the number of messages so far. */
  readonly messages: () => number
  /** Returns whether an event could not be read. It may have been the response. */
  readonly isDamaged: () => boolean
}

/** The most event ids that are remembered, to recognize repeated events. */
const maxRemembered = 1024

/** The longest event id that is remembered, in characters: longer ones could fill the memory. */
const maxIdLength = 4096

/** Returns an id as a header value: a character for each byte. A header cannot carry all bytes. */
const headerValue = (id: string): string | undefined => {
  if (id === "" || id.length > maxIdLength || /[\u0000-\u0008\u000A-\u001F\u007F]/.test(id)) return undefined
  return Array.from(new TextEncoder().encode(id), (byte) => String.fromCharCode(byte)).join("")
}

/** Creates the receiver of one stream. */
export const make = (options: {
  readonly maxMessageBytes: number
  readonly maxMessageNodes: number
  readonly deliver: (inbound: Inbound) => void
}): SseReceiver => {
  let lastEventId = ""
  let retryMillis: number | undefined
  let events = 0
  let messages = 0
  let damaged = false
  // The ids of earlier responses. A server may resume a stream too early; within one response no event is a repetition.
  let earlier: ReadonlySet<string> = new Set()
  const ids = new Set<string>()

  const remember = (id: string) => {
    // Moves the id to the end, where it is dropped last.
    ids.delete(id)
    ids.add(id)
    if (ids.size > maxRemembered) ids.delete(ids.values().next().value ?? id)
  }

  const take = (event: Result.Result<Sse.Event, FrameError>, bytes: number) => {
    if (Result.isFailure(event)) {
      events++
      damaged = true
      return options.deliver({ frame: Result.fail(event.failure), bytes })
    }
    const { data, event: type, id } = event.success
    if (id !== undefined && id !== "" && id.length <= maxIdLength) {
      if (earlier.has(id)) return
      remember(id)
    }
    events++
    // An event without data only sets the last event id (SHS-03). An event of another type is no message.
    if (data === "" || type !== "message") return
    const frame = FrameText.parse(data, options.maxMessageNodes)
    if (Result.isFailure(frame)) damaged = true
    else messages++
    options.deliver({ frame, bytes })
  }

  return {
    read: (response) =>
      Effect.suspend(() => {
        earlier = new Set(ids)
        const decoder = Sse.decoder(take, { maxEventBytes: options.maxMessageBytes, lastEventId })
        const expansion = ContentEncoding.expansionLimit(response, options.maxMessageBytes)
        const push = Turns.bytes((chunk) => {
          const before = events
          decoder.push(chunk)
          lastEventId = decoder.lastEventId()
          retryMillis = decoder.retryMillis() ?? retryMillis
          expansion.count(chunk.length, events > before)
        })
        const pushAll = (chunks: ReadonlyArray<Uint8Array>) => Effect.andThen(push(chunks), expansion.check)
        return Stream.runForEachArray(response.chunks, pushAll).pipe(
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
