/** The laws of the end of sessions (law 2). */

import { Search, Served } from "@effect-mcp/testing/internal"
import * as Model from "./Model.ts"

/** These laws. */
export const laws: ReadonlyArray<Model.Law> = [
  {
    name: "law 2: a side that closes gracefully has answered its requests",
    lossy: false,
    *findings({ requests, orderly, side }, history) {
      const first = requests.find(({ what }) => what === "close")
      if (!orderly || side !== "client" || first?.ended === undefined) return
      const { code, kind } = first.ended.end
      const given = Model.interrupts(history) ? ["Interrupted"] : []
      const slow = Model.mayTimeOut(first) ? ["Timeout"] : []
      if (kind === "Success" || code === Model.overloaded || [...given, ...slow].includes(kind)) return
      yield { place: first.ended.place, problem: `request ${first.nonce} (close) ended as ${kind}` }
    }
  },
  {
    name: "law 2: after one side has ended, the other ends",
    lossy: false,
    *findings({ entries, quiet, session, side }, { entries: all }) {
      if (quiet === undefined || quiet.state !== "Closed") return
      const other = all.find((entry) =>
        entry.session === session && entry.side !== side && entry.event._tag === "Inspected" &&
        entry.event.when === "Quiet"
      )
      if (other?.event._tag !== "Inspected" || other.event.state === "Closed") return
      yield {
        place: entries.at(-1)?.place ?? 0,
        problem: `this side is Closed, and the other ${other.event.state}`
      }
    }
  },
  {
    name: Search.nothingLeft,
    lossy: true,
    *findings({ end, entries }, { fibersLeft }) {
      const place = entries.at(-1)?.place ?? 0
      if (fibersLeft > 0) yield { place, problem: `${fibersLeft} fibers are alive` }
      if (end === undefined) return
      if (end.state !== "Closed") yield { place, problem: `the session is ${end.state}` }
      if (end.sent + end.served > 0) yield { place, problem: `in flight: ${end.sent} sent, ${end.served} served` }
    }
  },
  {
    name: "law 2: in a quiet moment, every request in flight has a waiting caller or handler",
    lossy: true,
    *findings({ handlers, listens, outbound, quiet, quietAt: place }) {
      if (quiet === undefined || place === undefined) return
      const listening = outbound.filter(({ cancelled, method, place: sentAt, responses }) =>
        quiet.state === "Modern" && method === Served.listen && (cancelled ?? place) >= place && sentAt < place &&
        !responses.some((response) => response.place < place)
      )
      // The stream of a request may have failed, so that fewer are pending.
      if (quiet.sent > listening.length) {
        yield { place, problem: `${quiet.sent - listening.length} requests are pending without a waiting caller` }
      }
      const running = handlers.filter((handler) =>
        handler.place < place && (handler.ended === undefined || handler.ended.place > place)
      )
      const streams = listens.filter(({ request: { cancelled, replied }, sent }) =>
        quiet.state !== "Closed" && (sent[0]?.place ?? place) < place && (cancelled ?? place) >= place &&
        (replied ?? place) >= place
      )
      if (quiet.served !== running.length + streams.length) {
        yield {
          place,
          problem: `${quiet.served} requests are served, by ${running.length} handlers and ${streams.length} streams`
        }
      }
    }
  }
]
