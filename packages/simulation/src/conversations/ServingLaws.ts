/** The laws of what a side serves (laws 10 and 12), and of the streams of its log messages. */

import { jsonValues } from "@effect-mcp/testing/internal"
import * as Model from "./Model.ts"

const { memberOf } = jsonValues

/** These laws. */
export const laws: ReadonlyArray<Model.Law> = [
  {
    name: "law 10: a server serves only requests of its own session",
    lossy: true,
    *findings({ handlers, session }, { entries }) {
      for (const { nonce, place } of handlers) {
        if (typeof nonce !== "number") continue
        const started = entries.find(({ event }) => event._tag === "Started" && event.nonce === nonce)
        if (started?.session !== session) yield { place, problem: `call ${nonce} belongs to another session` }
      }
    }
  },
  {
    name: "law 12: no more requests are served at the same time than the limit permits",
    lossy: true,
    *findings({ entries }, { incoming }) {
      const running = new Set<number>()
      for (const { event, place } of entries) {
        if (event._tag === "HandlerStarted") running.add(event.run)
        if (event._tag === "HandlerEnded") running.delete(event.run)
        if (running.size > incoming) {
          yield { place, problem: `${running.size} requests are served, more than the limit of ${incoming}` }
        }
      }
    }
  },
  {
    name: "[SHS-08] log messages of a request use its stream",
    lossy: true,
    *findings({ entries, form, side }) {
      if (side !== "server" || form === "OneStream") return
      for (const { event, place } of entries) {
        if (event._tag !== "Sent" || !("method" in event.message)) continue
        const of = memberOf(event.message.params, "data", "of")
        if (of !== undefined && of !== event.stream) {
          yield { place, problem: `a log message of ${JSON.stringify(of)} on stream ${JSON.stringify(event.stream)}` }
        }
      }
    }
  },
  {
    name: "law 12: a request is rejected as one too many only if the limit is reached",
    lossy: false,
    *findings({ entries, handlers, inbound }, { incoming }) {
      for (const { event, place } of entries) {
        if (
          event._tag !== "SessionEvent" || event.detail._tag !== "Rejected" || event.detail.code !== Model.overloaded
        ) {
          continue
        }
        const { id } = event.detail
        const unanswered = inbound.filter((one) => one.place < place && one.id !== id && (one.taken ?? place) >= place)
        // A cancelled request counts while its handler continues, and so does one whose reply has not been handed over
        // yet.
        const counted = unanswered.filter(({ cancelled, id, place: receivedAt }) =>
          (cancelled ?? place) >= place ||
          handlers.some((handler) =>
            handler.id === id && handler.place > receivedAt && handler.place < place &&
            (handler.ended?.place ?? place) >= place
          )
        )
        if (counted.length < incoming - 1) {
          yield {
            place,
            problem: `rejected as overloaded with ${counted.length} requests in flight; the limit is ${incoming}`
          }
        }
      }
    }
  }
]
