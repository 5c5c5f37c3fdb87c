/**
 * The laws of sessions, as checks of the history of a conversation.
 */
import { JsonRpc } from "@effect-mcp/protocol"
import * as Faults from "../../Faults.ts"
import type { Command } from "./Command.ts"
import type { Conversation } from "./Conversation.ts"
import type { ConversationLaw } from "./ConversationLaw.ts"
import type { History } from "./History.ts"
import { lastId } from "./injections.ts"
import * as Model from "./Model.ts"
import * as ModernLaws from "./ModernLaws.ts"
import { uriOf } from "./SimulatedSession.ts"

/**
 * A law that did not hold: its name, the place in the history, and the reason.
 */
export interface Violation {
  readonly law: string
  readonly session: number
  readonly side: "client" | "server"
  /** The index in the entries of the history. */
  readonly place: number
  readonly problem: string
}

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

/** The states in which a session serves. */
const serving: ReadonlySet<string> = new Set(["Operating", "Modern"])

/** The requests that are never cancelled. */
const uncancelled: ReadonlySet<string> = new Set(["initialize", "server/discover"])

/** Returns the time that a request may take, with the extensions of its deadline by progress. */
const allowed = ({ at, deadline, steps, total }: Model.ProgramRequest): number => {
  if (total === undefined) return deadline
  const latest = steps.at(-1)?.at ?? at
  return Math.min(latest - at + deadline, Math.max(total, 0))
}

/** Returns whether a request may end by its deadline on an undisturbed connection. */
const mayTimeOut = ({ deadline, total }: Model.ProgramRequest): boolean =>
  Math.min(deadline, total ?? Number.POSITIVE_INFINITY) < 5000

const overloaded = -31010

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

/** The commands by which the program itself interrupts calls. */
const isInterruption = (command: Command) => command._tag === "Interrupt" || command._tag === "CallAndInterrupt"

/** Returns whether the program of this side interrupts a call. */
const interrupts = ({ conversation }: History): boolean => conversation.commands.some(isInterruption)

const laws: ReadonlyArray<ConversationLaw> = [
  ...ModernLaws.laws,
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
        entry.event.detail._tag === "StateChanged" && serving.has(entry.event.detail.to)
      )
      const crowded = history.entries.some(({ event, session: of }) =>
        of === session && event._tag === "SessionEvent" && event.detail._tag === "Rejected" &&
        event.detail.code === overloaded
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
        const slow = mayTimeOut(request) ? ["Timeout"] : []
        const given = !probe && interrupts(history) ? ["Interrupted"] : []
        const full = [`${overloaded}`]
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
  },
  {
    name: "law 2: a side that closes gracefully has answered its requests",
    lossy: false,
    *findings({ requests, orderly, side }, history) {
      const first = requests.find(({ what }) => what === "close")
      if (!orderly || side !== "client" || first?.ended === undefined) return
      const { code, kind } = first.ended.end
      const given = interrupts(history) ? ["Interrupted"] : []
      const slow = mayTimeOut(first) ? ["Timeout"] : []
      if (kind === "Success" || code === overloaded || [...given, ...slow].includes(kind)) return
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
    name: "law 2: nothing is left after both sides have closed",
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
    *findings({ entries, handlers, listens, outbound, quiet }) {
      if (quiet === undefined) return
      const place = entries.find(({ event }) => event === quiet)?.place ?? 0
      const listening = outbound.filter(({ cancelled, method, place: sentAt, responses }) =>
        quiet.state === "Modern" && method === Model.listen && (cancelled ?? place) >= place && sentAt < place &&
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
  },
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
    name: "law 4: progress is delivered completely, in order, and before the response",
    lossy: false,
    *findings(side, { conversation }) {
      const { entries, inbound, requests, session } = side
      for (const { ended, nonce, steps, what } of requests) {
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
      // The serving side sends nothing more for a request that it has answered.
      const stalled = conversation.commands.some((command) => command._tag === "Stall" && command.session === session)
      for (const { event, place } of entries) {
        if (event._tag !== "Sent" || !("method" in event.message)) continue
        const { method, params } = event.message
        if (method !== "notifications/progress") continue
        const token = params?.["progressToken"]
        const served = inbound.filter(({ id, place: receivedAt }) => id === token && receivedAt < place)
        // Messages from before the cancellation may have had to wait.
        const late = (cancelled: number | undefined) => !stalled && (cancelled ?? place) < place
        if (!served.some(({ cancelled, replied }) => (replied ?? place) >= place && !late(cancelled))) {
          yield { place, problem: `progress of ${JSON.stringify(token)}, which is not being served` }
        }
      }
    }
  },
  {
    name: "law 5: every inbound request gets exactly one reply, and none after its cancellation",
    lossy: true,
    *findings({ closing, entries, handlers, inbound, listens, opened, quiet, side, strayReplies }, { conversation }) {
      for (const { event, place } of strayReplies) {
        yield { place, problem: `a reply without an unanswered request: ${JSON.stringify(event)}` }
      }
      const place = entries.find(({ event }) => event === quiet)?.place
      if (place === undefined || closing !== undefined && closing < place) return
      const unwritable = new Set(
        entries.flatMap(({ event }) => event._tag === "Unwritable" ? [event.id] : [])
      )
      for (const request of inbound) {
        const { cancelled, duplicate, id, method, place: receivedAt, replied } = request
        // A client without a handshake replies to no request, and an open stream has no reply yet.
        if (conversation.era === "Modern" && side === "client" && receivedAt > (opened ?? receivedAt)) continue
        if (!duplicate && listens.some((listen) => listen.request === request && listen.sent.length > 0)) continue
        // After the end of its stream, a reply that could not be written cannot be replaced.
        if (conversation.form === "StreamPerRequest" && unwritable.has(id)) continue
        if (receivedAt > place || replied !== undefined || cancelled !== undefined) continue
        const running = handlers.some((handler) => handler.id === id && (handler.ended?.place ?? place) >= place)
        if (!running || duplicate) {
          yield { place: receivedAt, problem: `${method} (id ${JSON.stringify(id)}) has no reply` }
        }
      }
    }
  },
  {
    name: "law 5: the handler of a cancelled request is interrupted",
    lossy: true,
    *findings({ handlers, inbound, quiet, entries }) {
      const place = entries.find(({ event }) => event === quiet)?.place
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
    *findings({ closing, entries, graceful, handlers, inbound, side }, { conversation, entries: all }) {
      // After the end of its stream, a reply that could not be written cannot be replaced.
      const unwritable = conversation.form === "OneStream"
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
  },
  {
    name: "law 7: the last line is delivered, also without a line feed",
    lossy: false,
    *findings({ entries, session, side }, { entries: all }) {
      const ended = all.findIndex((entry) =>
        entry.session === session && entry.event._tag === "Commanded" &&
        typeof entry.event.command === "object" &&
        entry.event.command._tag === "HalfClose" && entry.event.command.by === "client"
      )
      const half = all[ended]?.event
      if (side !== "server" || half?._tag !== "Commanded" || typeof half.command === "string") return
      if (half.command._tag !== "HalfClose" || !half.command.unterminated) return
      const others = all.filter((entry) =>
        entry.session === session && entry.event._tag === "Commanded" &&
        typeof entry.event.command === "object" &&
        ["Cut", "Close", "FailWrite", "HalfClose", "Call", "CallAndInterrupt"].includes(entry.event.command._tag)
      )
      const over = all.slice(0, ended).some((entry) =>
        entry.session === session && entry.event._tag === "SessionEvent" &&
        entry.event.detail._tag === "StateChanged" &&
        (entry.event.detail.to === "Closing" || entry.event.detail.to === "Closed")
      )
      // Another event may end the session earlier.
      if (others.length > 1 || over) return
      const wasReceived = entries.some(({ event }) =>
        event._tag === "Received" && JsonRpc.isRequest(event.message) &&
        event.message.id === lastId
      )
      if (!wasReceived) yield { place: ended, problem: "the last line was not received" }
    }
  },
  {
    name: "law 6: before the handshake only it has an effect, and a second one has none",
    lossy: false,
    *findings({ entries, handlers, inbound, opened, side }) {
      for (const { id, place } of handlers) {
        const request = inbound.findLast((one) => one.id === id && one.place < place && !one.duplicate)
        const ready = request === undefined || opened !== -1
          ? opened
          : inbound.find(({ method }) => method === "initialize")?.place
        if (request?.isModern !== true && (ready === undefined || place < ready)) {
          yield { place, problem: "a handler runs before the handshake" }
        }
      }
      const notifications = entries.filter(({ event }) =>
        event._tag === "Sent" && "method" in event.message &&
        event.message.method === "notifications/initialized"
      )
      if (notifications.length > 1) {
        yield {
          place: notifications[1]?.place ?? 0,
          problem: `notifications/initialized was sent ${notifications.length} times`
        }
      }
      let answers = 0
      const initializeIds = new Set<unknown>()
      for (const { event, place } of entries) {
        const message = event._tag === "Sent" || event._tag === "Received" ? event.message : undefined
        if (message === undefined) continue
        if ("method" in message) {
          if (message.method === "initialize" && "id" in message) initializeIds.add(message.id)
          const early = message.method === "notifications/initialized" && event._tag === "Sent"
          if (early && (opened === undefined || place < opened)) {
            yield { place, problem: "notifications/initialized was sent before the handshake was complete" }
          }
        } else if (
          side === "server" && event._tag === "Sent" && initializeIds.delete(message.id) && !JsonRpc.isFailure(message)
        ) {
          if (++answers > 1) yield { place, problem: "a second initialize got a result" }
        }
      }
    }
  },
  {
    name: "law 6: log messages wait for the response to initialize, and keep their order",
    lossy: true,
    *findings({ closing, entries, logs, opened, quiet, side }) {
      if (side !== "client") return
      for (const [index, { data, place }] of logs.handled.entries()) {
        const log = logs.received[index]
        if (opened === undefined || place < opened) yield { place, problem: "a log message is handled too early" }
        if (log === undefined || JSON.stringify(log.data) !== JSON.stringify(data)) {
          yield { place, problem: `${JSON.stringify(data)} is handled, and ${JSON.stringify(log?.data)} was received` }
          return
        }
      }
      const inspectedPlace = entries.find(({ event }) => event === quiet)?.place
      if (
        inspectedPlace === undefined || !serving.has(quiet?.state ?? "") || (closing ?? inspectedPlace) < inspectedPlace
      ) return
      const due = logs.received.filter(({ place }) => place < inspectedPlace).length
      const handled = logs.handled.filter(({ place }) => place < inspectedPlace).length
      if (due !== handled) {
        yield { place: inspectedPlace, problem: `${due} log messages were received, and ${handled} were handled` }
      }
    }
  },
  {
    name: "law 7: messages arrive completely and in order, whatever arrives between them",
    lossy: false,
    *findings({ entries, session, side }, { conversation, entries: all }) {
      if (conversation.form !== "OneStream") return
      const broken = all.some((entry) =>
        entry.session === session && entry.event._tag === "Commanded" &&
        typeof entry.event.command === "object" &&
        ["Cut", "Close", "FailWrite", "HalfClose"].includes(entry.event.command._tag)
      )
      const end = all.findIndex(({ event }) => event._tag === "Commanded" && event.command === "End")
      const closed = all.findIndex((entry) =>
        entry.session === session && entry.event._tag === "SessionEvent" &&
        entry.event.detail._tag === "StateChanged" &&
        (entry.event.detail.to === "Closing" || entry.event.detail.to === "Closed")
      )
      if (broken || (closed !== -1 && closed < end)) return
      const messages = (of: "client" | "server", tag: "Sent" | "Received") =>
        all.slice(0, end).flatMap(({ event, ...entry }) =>
          entry.session === session && entry.side === of && event._tag === tag
            ? [JSON.stringify(event.message)]
            : []
        )
      const receivedMessages = messages(side, "Received")
      let at = 0
      for (const message of messages(side === "client" ? "server" : "client", "Sent")) {
        const found = receivedMessages.indexOf(message, at)
        // A message that cannot be written was never on the wire.
        if (found === -1) {
          yield { place: entries.at(-1)?.place ?? 0, problem: `not received: ${message}` }
          return
        }
        at = found + 1
      }
    }
  },
  {
    name: "law 8: an interrupted request is cancelled at the peer, once; no other is, and never the handshake",
    lossy: false,
    *findings(side, { conversation: { era, form } }) {
      const { closing, entries, outbound, quiet, requests, strayCancels } = side
      for (const { place } of strayCancels) yield { place, problem: "a cancellation of a request that was never sent" }
      const inspectedPlace = entries.find(({ event }) => event === quiet)?.place ?? 0
      for (const { cancels, id, method, place, responses } of outbound) {
        // With a stream for each request, a request may have had no stream.
        if (
          form !== "OneStream" || !serving.has(quiet?.state ?? "") ||
          closing !== undefined && closing < inspectedPlace
        ) break
        if (
          place > inspectedPlace || uncancelled.has(method) || method === Model.listen ||
          responses.some((response) => response.place < inspectedPlace)
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
        const alive = quiet !== undefined && (closing === undefined || serving.has(quiet.state))
        if ((kind === "Interrupted" || kind === "Timeout") && !answered && alive && request.cancelled === undefined) {
          yield { place, problem: `${named} ended as ${kind} and was not cancelled at the peer` }
        }
      }
    }
  },
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
          : Model.subscriptionIn(event.message)
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
        if (event._tag !== "SessionEvent" || event.detail._tag !== "Rejected" || event.detail.code !== overloaded) {
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

/**
 * The names of the laws.
 */
export const names: ReadonlyArray<string> = laws.map(({ name }) => name)

/**
 * Returns every law that does not hold in a history, of those that its faults permit.
 */
export const violations = (history: History): ReadonlyArray<Violation> => {
  const lossy = Faults.isLossy(history.conversation.faults)
  return Model.sides(history).flatMap((side) =>
    laws.filter((law) => law.lossy || !lossy).flatMap(({ findings, name }) =>
      Array.from(findings(side, history), (finding) => ({
        law: name,
        session: side.session,
        side: side.side,
        ...finding
      }))
    )
  )
}
