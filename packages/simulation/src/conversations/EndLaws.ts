/** The laws of the end of requests (law 1), and the results of undisturbed sessions (law 9). */

import type { Conversation } from "./Conversation.ts"
import * as Model from "./Model.ts"
import { uriOf } from "./SimulatedSession.ts"

/** The end of a call of each tool on an undisturbed connection. */
const undisturbed: { readonly [tool: string]: ReadonlyArray<string> } = {
  echo: ["Success"],
  later: ["Success"],
  never: ["Timeout"],
  steps: ["Success"],
  walk: ["Success"],
  report: ["Success"],
  refuse: ["-32602"],
  die: ["-32603"],
  throwNull: ["-32603"],
  unserializable: ["-32603"],
  stubborn: ["Success"],
  linger: ["Success"],
  ping: ["Success"],
  elicit: ["Success"],
  elicitNested: ["Success"],
  elicitDie: ["-32600"],
  elicitNever: ["-32600"],
  elicitTwice: ["Success"],
  elicitBoth: ["Success"],
  elicitOnce: ["Success"],
  elicitSteps: ["Success"],
  roots: ["Success"],
  [`subscribe ${uriOf("a")}`]: ["Success"],
  [`subscribe ${uriOf("b")}`]: ["Success"],
  [`unsubscribe ${uriOf("a")}`]: ["Success"],
  [`unsubscribe ${uriOf("b")}`]: ["Success"]
}

/** The calls that end otherwise without a handshake, where a server sends no requests. */
const undisturbedModern: typeof undisturbed = {
  ...undisturbed,
  ping: ["-32600"],
  elicitDie: ["QuestionFailed"],
  elicitNever: ["Timeout"]
}

/** Returns the legal ends of a request of a program on an undisturbed connection. */
const undisturbedEnds = (
  { era }: Conversation,
  side: Model.Side["side"],
  { probe, what }: Model.ProgramRequest
): ReadonlyArray<string> => {
  if (era === "Handshake") return undisturbed[what] ?? []
  if (side === "client") return probe && what === "ping" ? ["NotInRevision"] : undisturbedModern[what] ?? []
  // Before the first message of the client, the server does not know that it has no handshake.
  return ["NotInRevision", "SendFailed", "Success", "Timeout"]
}

/** The tools that report four steps of progress. */
const reporting: ReadonlySet<string> = new Set(["steps", "report", "elicitSteps"])

/** Returns the time that a request may take, with the extensions of its deadline by progress. */
const allowed = ({ at, deadline, steps, total }: Model.ProgramRequest): number => {
  if (total === undefined) return deadline
  const latest = steps.at(-1)?.at ?? at
  return Math.min(latest - at + deadline, Math.max(total, 0))
}

/** Returns the greatest number of handlers that ran at the same time up to a place. */
const mostRunning = (entries: ReadonlyArray<Model.Placed>, until: number): number => {
  let running = 0
  let most = 0
  for (const { event, place } of entries) {
    if (place > until) break
    if (event._tag === "HandlerStarted") most = Math.max(most, ++running)
    if (event._tag === "HandlerEnded") running--
  }
  return most
}

/** These laws. */
export const laws: ReadonlyArray<Model.Law> = [
  {
    name: "law 1: every request ends exactly once, and in time",
    lossy: true,
    *findings({ requests }) {
      for (const request of requests) {
        const { at, ended, endings, nonce, place, what } = request
        const deadline = allowed(request)
        const named = `request ${nonce} (${what})`
        if (ended === undefined) yield { place, problem: `${named} never ended` }
        else if (endings !== 1) yield { place: ended.place, problem: `${named} ended ${endings} times` }
        else if (ended.at - at > deadline) {
          yield { place: ended.place, problem: `${named} took ${ended.at - at} ms, and had ${deadline}` }
        } else if (ended.end.kind === "Timeout" && ended.at - at !== deadline) {
          yield { place: ended.place, problem: `${named} timed out after ${ended.at - at} ms instead of ${deadline}` }
        } else if (ended.end.kind === "Died") yield { place: ended.place, problem: `${named} died` }
      }
    }
  },
  {
    name: "laws 1 and 9: the requests of an undisturbed session end as expected",
    lossy: false,
    *findings({ entries, requests, intact, opened, session, side }, history) {
      if (!intact || opened === undefined) return
      const { era, form } = history.conversation
      const ready = history.entries.findIndex((entry) =>
        entry.session === session && entry.side === "client" && entry.event._tag === "SessionEvent" &&
        entry.event.detail._tag === "StateChanged" && Model.serving.has(entry.event.detail.to)
      )
      const crowded = history.entries.some(({ event, session: of }) =>
        of === session && event._tag === "SessionEvent" && event.detail._tag === "Rejected" &&
        event.detail.code === Model.overloaded
      )
      for (const request of requests) {
        const { ended, nonce, place, probe, steps, what } = request
        if (ended === undefined) continue
        const { code, kind } = ended.end
        if (reporting.has(what) && kind === "Success" && steps.length !== 4) {
          yield {
            place: ended.place,
            problem: `request ${nonce} (${what}) delivered ${steps.length} of 4 progress notifications`
          }
        }
        const slow = Model.mayTimeOut(request) ? ["Timeout"] : []
        const given = !probe && Model.interrupts(history) ? ["Interrupted"] : []
        const full = [`${Model.overloaded}`]
        // A request on the server's own initiative needs a stream that the client may not have opened yet.
        const early = ready === -1 || place <= ready
        const noRoute = side === "server" && form === "StreamPerRequest" && early
          ? ["SendFailed"]
          : []
        // A request of a handler may exceed the limit of the other side, and so may questions of a round.
        const rejected = !what.startsWith("elicit")
          ? []
          : era === "Modern"
          ? crowded || mostRunning(entries, ended.place) >= history.incoming ? ["QuestionFailed"] : []
          : crowded
          ? ["-32600"]
          : []
        const expected = [
          ...undisturbedEnds(history.conversation, side, request),
          ...slow,
          ...given,
          ...full,
          ...noRoute,
          ...rejected
        ]
        const how = kind === "ErrorResponse" ? `${code}` : kind
        if (!expected.includes(how)) {
          yield {
            place: ended.place,
            problem: `request ${nonce} (${what}) ended as ${how}; legal: ${expected.join(", ")}`
          }
        }
      }
    }
  },
  {
    name: "law 1: the handshake of an undisturbed session succeeds",
    lossy: false,
    *findings({ entries, intact, opened }) {
      if (intact && opened === undefined) {
        yield { place: entries.at(-1)?.place ?? 0, problem: "the handshake did not complete" }
      }
    }
  }
]
