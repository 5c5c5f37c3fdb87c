/** The laws of responses, progress and replies (laws 3 to 5). */

import { JsonRpc } from "@effect-mcp/protocol"
import { Faults } from "@effect-mcp/testing"
import * as Model from "./Model.ts"
import * as ModernLaws from "./ModernLaws.ts"

/** These laws. */
export const laws: ReadonlyArray<Model.Law> = [
  {
    name: "law 3: a request ends with the first response to its id, and with no other message",
    lossy: true,
    *findings(side, { conversation }) {
      const { closing, requests, session } = side
      // A request that is repeated with its id and other params is answered again if the first reply got lost.
      const repeated = Faults.isLossy(conversation.faults) &&
        conversation.commands.some((command) =>
          command._tag === "Inject" && command.session === session && command.what === "DuplicateRequest"
        )
      for (const { ended, nonce, what } of requests) {
        const request = Model.roundsOf(side, nonce).at(-1)
        if (ended === undefined || request === undefined) continue
        const { at, end, place } = ended
        const named = `request ${nonce} (${what}, id ${JSON.stringify(request.id)})`
        const [first] = request.responses
        if (end.kind === "Success" || end.kind === "ErrorResponse") {
          if (first === undefined || first.place > place) yield { place, problem: `${named} ended without a response` }
          else if (first.at !== at) yield { place, problem: `${named} ended ${at - first.at} ms after its response` }
          else if (JsonRpc.isFailure(first.response) !== (end.kind === "ErrorResponse")) {
            yield { place, problem: `${named} did not end with its first response` }
          } else if (ModernLaws.questionsIn(first.response) !== undefined) {
            yield { place, problem: `${named} ended with questions` }
          } else if (end.kind === "Success" && end.nonce !== nonce && !(repeated && end.nonce === "intruder")) {
            yield { place, problem: `${named} got the result for ${JSON.stringify(end.nonce)}` }
          }
        } else if (
          first !== undefined && first.at < at && (closing === undefined || closing > first.place) &&
          ModernLaws.questionsIn(first.response) === undefined
        ) {
          yield { place: first.place, problem: `${named} has a response, and ended as ${end.kind} later` }
        }
      }
    }
  },
  {
    name: "law 3: a response whose id is the text of a number is reported when it completes a request",
    lossy: true,
    *findings(side) {
      const tolerated = side.entries.filter(({ event }) =>
        event._tag === "SessionEvent" && event.detail._tag === "Tolerated" && event.detail.problem.includes("the id of")
      )
      for (const { ended, nonce } of side.requests) {
        const request = Model.roundsOf(side, nonce).at(-1)
        const first = request?.responses[0]
        if (request === undefined || first === undefined || !Model.isTextual(request, first)) continue
        if (ended?.end.kind !== "Success" && ended?.end.kind !== "ErrorResponse") continue
        if (tolerated.some(({ at, place }) => at === first.at && place > first.place)) continue
        yield { place: first.place, problem: `the textual id of the response to request ${nonce} was not reported` }
      }
      for (const { at, place } of tolerated) {
        const isTrue = side.outbound.some((request) =>
          request.responses.some((one) => one.at === at && one.place < place && Model.isTextual(request, one))
        )
        if (!isTrue) yield { place, problem: "a textual id was reported, and no response has one" }
      }
    }
  },
  {
    name: "law 4: progress is delivered completely, in order, and before the response",
    lossy: false,
    *findings(side) {
      for (const { ended, nonce, steps, what } of side.requests) {
        const rounds = Model.roundsOf(side, nonce)
        if (rounds.length === 0 || ended === undefined) continue
        const answered = ended.end.kind === "Success" || ended.end.kind === "ErrorResponse"
        const all = rounds.flatMap((round) => round.steps)
        const due = all.filter(({ progress }, index) => all.slice(0, index).every((step) => step.progress < progress))
        const seen = answered ? due : due.slice(0, steps.length)
        if (JSON.stringify(steps) !== JSON.stringify(seen)) {
          const listOf = (steps: ReadonlyArray<Model.Step>) =>
            steps.map(({ at, progress }) => `${progress} at ${at}`).join(", ")
          yield {
            place: ended.place,
            problem: `request ${nonce} (${what}) delivered ${listOf(steps)} to its caller, and received ${listOf(due)}`
          }
        }
      }
    }
  },
  {
    name: "law 5: the handler of a cancelled request is interrupted",
    lossy: true,
    *findings({ handlers, inbound, quietAt: place }) {
      if (place === undefined) return
      for (const { cancelled, id, method } of inbound) {
        if (cancelled === undefined) continue
        const until = Math.max(cancelled, place)
        const running = handlers.find((handler) =>
          handler.id === id && handler.place < cancelled && (handler.ended === undefined || handler.ended.place > until)
        )
        if (running !== undefined) {
          yield { place: cancelled, problem: `the handler of ${method} (id ${JSON.stringify(id)}) was not interrupted` }
        }
      }
    }
  },
  {
    name: "law 5: a side that closes gracefully has answered the requests that it has started to serve",
    lossy: false,
    *findings({ closing, entries, form, graceful, handlers, inbound, side }, { entries: all }) {
      // After the end of its stream, a reply that could not be written cannot be replaced.
      const unwritable = form === "OneStream"
        ? []
        : entries.flatMap(({ event }) => event._tag === "Unwritable" ? [event.id] : [])
      if (!graceful || side !== "server" || closing === undefined) return
      const toolOf = (nonce: unknown) => {
        for (const { event } of all) {
          if (event._tag === "Started" && event.nonce === nonce) return event.what
        }
        return "echo"
      }
      for (const { id, nonce, place } of handlers) {
        if (place > closing || toolOf(nonce) === "never" || unwritable.includes(id)) continue
        const served = inbound.findLast((one) => one.id === id && one.place < place && !one.duplicate)
        if (served === undefined || served.cancelled !== undefined || served.replied !== undefined) continue
        yield { place, problem: `${toolOf(nonce)} (id ${JSON.stringify(id)}) was started and got no reply` }
      }
    }
  },
  {
    name: "law 5: only unreadable messages get a reply without a request, and few",
    lossy: true,
    *findings({ entries, side }) {
      const unreadable = entries.filter(({ event }) =>
        event._tag === "SessionEvent" && (event.detail._tag === "BadFrame" || event.detail._tag === "Malformed")
      )
      const errorReplies = entries.filter(({ event }) =>
        event._tag === "Sent" && !("method" in event.message) && (event.message.id ?? null) === null
      )
      for (const [index, { at, place }] of errorReplies.entries()) {
        if (side === "client") yield { place, problem: "the client replied to an unreadable message" }
        if (unreadable.filter((bad) => bad.place < place).length <= index) {
          yield { place, problem: "an error reply without an unreadable message before it" }
        }
        if (at - (errorReplies[index - 20]?.at ?? Number.NEGATIVE_INFINITY) < 1000) {
          yield { place, problem: "more than 20 error replies to unreadable messages within a second" }
        }
      }
    }
  },
  {
    name: "law 5: the defect of a handler is not sent to the peer",
    lossy: true,
    *findings({ entries }) {
      for (const { event, place } of entries) {
        if (event._tag !== "Sent" || !JSON.stringify(event.message).includes("a secret")) continue
        yield { place, problem: JSON.stringify(event.message) }
      }
    }
  }
]
