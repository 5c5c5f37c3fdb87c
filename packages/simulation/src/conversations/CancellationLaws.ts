/** The laws of cancellation (law 8). */

import { Served } from "@effect-mcp/testing/internal"
import * as Model from "./Model.ts"

/** The requests that are never cancelled. */
const uncancelled: ReadonlySet<string> = new Set(["initialize", "server/discover"])

/** These laws. */
export const laws: ReadonlyArray<Model.Law> = [
  {
    name: "law 8: an interrupted request is cancelled at the peer, once; no other is, and never the handshake",
    lossy: false,
    *findings(side, { conversation: { era, form } }) {
      const { closing, outbound, quiet, quietAt = 0, requests, strayCancels } = side
      for (const { place } of strayCancels) yield { place, problem: "a cancellation of a request that was never sent" }
      for (const { cancels, id, method, place, responses } of outbound) {
        // With a stream for each request, a request may have had no stream.
        if (
          form !== "OneStream" || !Model.serving.has(quiet?.state ?? "") ||
          closing !== undefined && closing < quietAt
        ) break
        if (
          place > quietAt || uncancelled.has(method) || method === Served.listen ||
          responses.some((response) => response.place < quietAt)
        ) continue
        if (cancels !== 1) {
          yield {
            place,
            problem: `${method} (${JSON.stringify(id)}) has no response, and was cancelled ${cancels} times`
          }
        }
      }
      for (const { cancels, method, place } of outbound) {
        if (cancels > 1) yield { place, problem: `${method} was cancelled ${cancels} times` }
        if (cancels > 0 && era === "Modern" && form === "StreamPerRequest" && side.side === "client") {
          yield { place, problem: `${method} was cancelled by a message, and not by the end of its stream` }
        }
        if (cancels > 0 && uncancelled.has(method)) yield { place, problem: "the handshake was cancelled" }
      }
      for (const { ended, nonce, what } of requests) {
        const request = Model.roundsOf(side, nonce).at(-1)
        if (ended === undefined || request === undefined) continue
        const { end: { kind }, place } = ended
        const answered = request.responses.some((response) => response.place < place)
        const named = `request ${nonce} (${what}, id ${JSON.stringify(request.id)})`
        if ((kind === "Success" || kind === "ErrorResponse") && request.cancels > 0) {
          yield { place, problem: `${named} was cancelled after its response` }
        }
        const alive = quiet !== undefined && (closing === undefined || Model.serving.has(quiet.state))
        if ((kind === "Interrupted" || kind === "Timeout") && !answered && alive && request.cancelled === undefined) {
          yield { place, problem: `${named} ended as ${kind} and was not cancelled at the peer` }
        }
      }
    }
  }
]
