/** The laws of what a side serves (laws 10 and 12), and of the ids and the streams of its messages. */

import { JsonRpc } from "@effect-mcp/protocol"
import { ProtocolLaws } from "@effect-mcp/testing/internal"
import type { ConversationLaw } from "./ConversationLaw.ts"
import * as Model from "./Model.ts"

/** These laws. */
export const laws: ReadonlyArray<ConversationLaw> = [
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
    name: "[SHS-08] messages of a request use its stream",
    lossy: true,
    *findings({ entries, side }, { conversation }) {
      if (side !== "server" || conversation.form === "OneStream") return
      for (const { event, place } of entries) {
        if (event._tag !== "Sent" || !("method" in event.message)) continue
        const { message: { method, params }, stream } = event
        const data = params?.["data"]
        const of = method === "notifications/progress"
          ? params?.["progressToken"]
          : typeof data === "object" && data !== null && "of" in data
          ? data.of
          : ProtocolLaws.subscriptionIn(event.message)
        if (of !== undefined && of !== stream) {
          yield { place, problem: `${method} of ${JSON.stringify(of)} on the stream of ${JSON.stringify(stream)}` }
        }
      }
    }
  },
  {
    name: "[MSG-05] no id is used twice",
    lossy: true,
    *findings({ entries }) {
      const ids = new Set<unknown>()
      for (const { event, place } of entries) {
        if (event._tag !== "Sent" || !JsonRpc.isRequest(event.message)) continue
        const { id } = event.message
        if (ids.has(id)) yield { place, problem: `id ${JSON.stringify(id)} was used before` }
        ids.add(id)
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
