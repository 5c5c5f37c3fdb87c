/**
 * The laws of sessions, as checks of the history of a conversation.
 */
import { JsonRpc } from "@effect-mcp/protocol"
import * as Faults from "../../Faults.ts"
import type { Command } from "./Command.ts"
import type { History } from "./History.ts"
import { lastId } from "./injections.ts"
import * as Model from "./Model.ts"

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

/** A place, and the reason. */
interface Finding {
  readonly place: number
  readonly problem: string
}

/** A law of one side of one session. */
interface Law {
  readonly name: string
  /** Whether the law also holds if messages get lost, arrive twice, or overtake each other. */
  readonly lossy: boolean
  readonly findings: (side: Model.Side, history: History) => Iterable<Finding>
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
  roots: ["Success"]
}

/** Returns the time that a request may take, with the extensions of its deadline by progress. */
const allowed = ({ at, deadline, steps, total }: Model.Asked): number => {
  if (total === undefined) return deadline
  const latest = steps.at(-1)?.at ?? at
  return Math.min(latest - at + deadline, Math.max(total, 0))
}

/** Returns whether a request may end by its deadline on an undisturbed connection. */
const isShort = ({ deadline, total }: Model.Asked): boolean =>
  Math.min(deadline, total ?? Number.POSITIVE_INFINITY) < 5000

const overloaded = -32010

/** The commands by which the program itself interrupts calls. */
const isInterruption = (command: Command) => command._tag === "Interrupt" || command._tag === "CallAndInterrupt"

/** Returns whether the program of this side interrupts a call. */
const interrupts = ({ conversation }: History): boolean => conversation.commands.some(isInterruption)

const laws: ReadonlyArray<Law> = [
  {
    name: "law 1: every request ends exactly once, and in time",
    lossy: true,
    *findings({ asked }) {
      for (const request of asked) {
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
    *findings({ asked, intact, opened, session, side }, history) {
      if (!intact || opened === undefined) return
      const ready = history.entries.findIndex((entry) =>
        entry.session === session && entry.side === "client" && entry.happening._tag === "Event" &&
        entry.happening.event._tag === "StateChanged" && entry.happening.event.to === "Operating"
      )
      const crowded = history.entries.some(({ happening, session: of }) =>
        of === session && happening._tag === "Event" && happening.event._tag === "Rejected" &&
        happening.event.code === overloaded
      )
      for (const request of asked) {
        const { ended, nonce, place, probe, steps, what } = request
        if (ended === undefined) continue
        const { code, kind } = ended.end
        if ((what === "steps" || what === "report") && kind === "Success" && steps.length !== 4) {
          yield { place: ended.place, problem: `request ${nonce} (${what}) saw ${steps.length} steps of 4` }
        }
        const slow = isShort(request) ? ["Timeout"] : []
        const given = !probe && interrupts(history) ? ["Interrupted"] : []
        const full = [`${overloaded}`]
        // A request on the server's own initiative needs a stream that the client may not have opened yet.
        const early = ready === -1 || place <= ready
        const noRoute = side === "server" && history.conversation.form === "StreamPerRequest" && early
          ? ["SendFailed"]
          : []
        // A request of a handler may exceed the limit of the other side.
        const refused = what.startsWith("elicit") && crowded ? ["-32600"] : []
        const expected = [...(undisturbed[what] ?? []), ...slow, ...given, ...full, ...noRoute, ...refused]
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
      if (intact && opened === undefined) yield { place: entries.at(-1)?.place ?? 0, problem: "there was no handshake" }
    }
  },
  {
    name: "law 2: a side that closes gracefully has answered its requests",
    lossy: false,
    *findings({ asked, orderly, side }, history) {
      const first = asked.find(({ what }) => what === "close")
      if (!orderly || side !== "client" || first?.ended === undefined) return
      const { code, kind } = first.ended.end
      const given = interrupts(history) ? ["Interrupted"] : []
      const slow = isShort(first) ? ["Timeout"] : []
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
        entry.session === session && entry.side !== side && entry.happening._tag === "Looked" &&
        entry.happening.when === "Quiet"
      )
      if (other?.happening._tag !== "Looked" || other.happening.state === "Closed") return
      yield {
        place: entries.at(-1)?.place ?? 0,
        problem: `this side is Closed, and the other ${other.happening.state}`
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
    *findings({ entries, handlers, quiet }) {
      if (quiet === undefined) return
      const place = entries.find(({ happening }) => happening === quiet)?.place ?? 0
      if (quiet.sent > 0) yield { place, problem: `${quiet.sent} requests wait, and no caller does` }
      const running = handlers.filter((handler) =>
        handler.place < place && (handler.ended === undefined || handler.ended.place > place)
      )
      if (quiet.served !== running.length) {
        yield { place, problem: `${quiet.served} requests are served, by ${running.length} handlers` }
      }
    }
  },
  {
    name: "law 3: a request ends with the first response to its id, and with no other message",
    lossy: true,
    *findings({ asked, closing, outbound, session }, { conversation }) {
      // A request that is repeated with its id and other params is answered again if the first reply got lost.
      const repeated = Faults.isLossy(conversation.faults) &&
        conversation.commands.some((command) =>
          command._tag === "Inject" && command.session === session && command.what === "DuplicateRequest"
        )
      for (const { ended, nonce, what } of asked) {
        const request = outbound.find((one) => one.nonce === nonce)
        if (ended === undefined || request === undefined) continue
        const { at, end, place } = ended
        const named = `request ${nonce} (${what}, id ${JSON.stringify(request.id)})`
        const [first] = request.responses
        if (end.kind === "Success" || end.kind === "ErrorResponse") {
          if (first === undefined || first.place > place) yield { place, problem: `${named} ended without a response` }
          else if (first.at !== at) yield { place, problem: `${named} ended ${at - first.at} ms after its response` }
          else if (JsonRpc.isFailure(first.response) !== (end.kind === "ErrorResponse")) {
            yield { place, problem: `${named} did not end with its first response` }
          } else if (end.kind === "Success" && end.nonce !== nonce && !(repeated && end.nonce === "intruder")) {
            yield { place, problem: `${named} got the result for ${JSON.stringify(end.nonce)}` }
          }
        } else if (first !== undefined && first.at < at && (closing === undefined || closing > first.place)) {
          yield { place: first.place, problem: `${named} has a response, and ended as ${end.kind} later` }
        }
      }
    }
  },
  {
    name: "law 4: progress is delivered completely, in order, and before the response",
    lossy: false,
    *findings({ asked, inbound, entries, outbound, session }, { conversation }) {
      for (const { ended, nonce, steps, what } of asked) {
        const request = outbound.find((one) => one.nonce === nonce)
        if (request === undefined || ended === undefined) continue
        const answered = ended.end.kind === "Success" || ended.end.kind === "ErrorResponse"
        const due = request.steps
        const seen = answered ? due : due.slice(0, steps.length)
        if (JSON.stringify(steps) !== JSON.stringify(seen)) {
          const told = (steps: ReadonlyArray<Model.Step>) =>
            steps.map(({ at, progress }) => `${progress} at ${at}`).join(", ")
          yield {
            place: ended.place,
            problem: `request ${nonce} (${what}) saw ${told(steps)}, and there came ${told(due)}`
          }
        }
      }
      // The serving side sends nothing more for a request that it has answered.
      const stalled = conversation.commands.some((command) => command._tag === "Stall" && command.session === session)
      for (const { happening, place } of entries) {
        if (happening._tag !== "Sent" || !("method" in happening.message)) continue
        const { method, params } = happening.message
        if (method !== "notifications/progress") continue
        const token = params?.["progressToken"]
        const served = inbound.filter(({ id, place: came }) => id === token && came < place)
        // Messages from before the cancellation may have had to wait.
        const late = (cancelled: number | undefined) => !stalled && (cancelled ?? place) < place
        if (!served.some(({ cancelled, replied }) => (replied ?? place) >= place && !late(cancelled))) {
          yield { place, problem: `progress of ${JSON.stringify(token)}, which is served no more` }
        }
      }
    }
  },
  {
    name: "law 5: every inbound request gets exactly one reply, and none after its cancellation",
    lossy: true,
    *findings({ closing, entries, handlers, inbound, quiet, strayReplies }, { conversation }) {
      for (const { happening, place } of strayReplies) {
        yield { place, problem: `a reply to nothing that waits for one: ${JSON.stringify(happening)}` }
      }
      const place = entries.find(({ happening }) => happening === quiet)?.place
      if (place === undefined || closing !== undefined && closing < place) return
      const unwritable = new Set(
        entries.flatMap(({ happening }) => happening._tag === "Unwritable" ? [happening.id] : [])
      )
      for (const { cancelled, duplicate, id, method, place: came, replied } of inbound) {
        // After the end of its stream, a reply that could not be written cannot be replaced.
        if (conversation.form === "StreamPerRequest" && unwritable.has(id)) continue
        if (came > place || replied !== undefined || cancelled !== undefined) continue
        const running = handlers.some((handler) => handler.id === id && (handler.ended?.place ?? place) >= place)
        if (!running || duplicate) yield { place: came, problem: `${method} (id ${JSON.stringify(id)}) has no reply` }
      }
    }
  },
  {
    name: "law 5: the handler of a cancelled request is interrupted",
    lossy: true,
    *findings({ handlers, inbound, quiet, entries }) {
      const place = entries.find(({ happening }) => happening === quiet)?.place
      if (place === undefined) return
      for (const { cancelled, id, method } of inbound) {
        if (cancelled === undefined) continue
        const running = handlers.find((handler) =>
          handler.id === id && handler.place < cancelled && (handler.ended === undefined || handler.ended.place > place)
        )
        if (running !== undefined) {
          yield { place: cancelled, problem: `the handler of ${method} (id ${JSON.stringify(id)}) goes on` }
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
        : entries.flatMap(({ happening }) => happening._tag === "Unwritable" ? [happening.id] : [])
      if (!graceful || side !== "server" || closing === undefined) return
      const toolOf = (nonce: unknown) => {
        for (const { happening } of all) {
          if (happening._tag === "Started" && happening.nonce === nonce) return happening.what
        }
        return "echo"
      }
      for (const { id, nonce, place } of handlers) {
        if (place > closing || toolOf(nonce) === "never" || unwritable.includes(id)) continue
        const served = inbound.findLast((one) => one.id === id && one.place < place && !one.duplicate)
        if (served === undefined || served.cancelled !== undefined || served.replied !== undefined) continue
        yield { place, problem: `${toolOf(nonce)} (id ${JSON.stringify(id)}) was begun, and never answered` }
      }
    }
  },
  {
    name: "law 5: only unreadable messages get a reply without a request, and few",
    lossy: true,
    *findings({ entries, side }) {
      const unreadable = entries.filter(({ happening }) =>
        happening._tag === "Event" && (happening.event._tag === "BadFrame" || happening.event._tag === "Malformed")
      )
      const complaints = entries.filter(({ happening }) =>
        happening._tag === "Sent" && !("method" in happening.message) && (happening.message.id ?? null) === null
      )
      for (const [index, { at, place }] of complaints.entries()) {
        if (side === "client") yield { place, problem: "a client answers what it cannot read" }
        if (unreadable.filter((bad) => bad.place < place).length <= index) {
          yield { place, problem: "a complaint about nothing" }
        }
        if (at - (complaints[index - 20]?.at ?? Number.NEGATIVE_INFINITY) < 1000) {
          yield { place, problem: "more than twenty complaints within a second" }
        }
      }
    }
  },
  {
    name: "law 5: the defect of a handler is not sent to the peer",
    lossy: true,
    *findings({ entries }) {
      for (const { happening, place } of entries) {
        if (happening._tag !== "Sent" || !JSON.stringify(happening.message).includes("a secret")) continue
        yield { place, problem: JSON.stringify(happening.message) }
      }
    }
  },
  {
    name: "law 7: the last line is delivered, also without a line feed",
    lossy: false,
    *findings({ entries, session, side }, { entries: all }) {
      const ended = all.findIndex((entry) =>
        entry.session === session && entry.happening._tag === "Commanded" &&
        typeof entry.happening.command === "object" &&
        entry.happening.command._tag === "HalfClose" && entry.happening.command.by === "client"
      )
      const half = all[ended]?.happening
      if (side !== "server" || half?._tag !== "Commanded" || typeof half.command === "string") return
      if (half.command._tag !== "HalfClose" || !half.command.unterminated) return
      const others = all.filter((entry) =>
        entry.session === session && entry.happening._tag === "Commanded" &&
        typeof entry.happening.command === "object" &&
        ["Cut", "Close", "FailWrite", "HalfClose", "Call", "CallAndInterrupt"].includes(entry.happening.command._tag)
      )
      const over = all.slice(0, ended).some((entry) =>
        entry.session === session && entry.happening._tag === "Event" &&
        entry.happening.event._tag === "StateChanged" &&
        (entry.happening.event.to === "Closing" || entry.happening.event.to === "Closed")
      )
      // Another event may end the session earlier.
      if (others.length > 1 || over) return
      const came = entries.some(({ happening }) =>
        happening._tag === "Received" && JsonRpc.isRequest(happening.message) &&
        happening.message.id === lastId
      )
      if (!came) yield { place: ended, problem: "the last line never came" }
    }
  },
  {
    name: "law 6: before the handshake only it has an effect, and a second one has none",
    lossy: false,
    *findings({ entries, handlers, opened, side }) {
      for (const { place } of handlers) {
        if (opened === undefined || place < opened) yield { place, problem: "a handler runs before the handshake" }
      }
      const said = entries.filter(({ happening }) =>
        happening._tag === "Sent" && "method" in happening.message &&
        happening.message.method === "notifications/initialized"
      )
      if (said.length > 1) yield { place: said[1]?.place ?? 0, problem: `initialized was said ${said.length} times` }
      let answers = 0
      const asked = new Set<unknown>()
      for (const { happening, place } of entries) {
        const message = happening._tag === "Sent" || happening._tag === "Received" ? happening.message : undefined
        if (message === undefined) continue
        if ("method" in message) {
          if (message.method === "initialize" && "id" in message) asked.add(message.id)
          const early = message.method === "notifications/initialized" && happening._tag === "Sent"
          if (early && (opened === undefined || place < opened)) {
            yield { place, problem: "initialized was said too early" }
          }
        } else if (
          side === "server" && happening._tag === "Sent" && asked.delete(message.id) && !JsonRpc.isFailure(message)
        ) {
          if (++answers > 1) yield { place, problem: "a second handshake was granted" }
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
        const came = logs.received[index]
        if (opened === undefined || place < opened) yield { place, problem: "a log message is handled too early" }
        if (came === undefined || JSON.stringify(came.data) !== JSON.stringify(data)) {
          yield { place, problem: `${JSON.stringify(data)} is handled, and ${JSON.stringify(came?.data)} came` }
          return
        }
      }
      const looked = entries.find(({ happening }) => happening === quiet)?.place
      if (looked === undefined || quiet?.state !== "Operating" || (closing ?? looked) < looked) return
      const due = logs.received.filter(({ place }) => place < looked).length
      const handled = logs.handled.filter(({ place }) => place < looked).length
      if (due !== handled) yield { place: looked, problem: `${due} log messages came, and ${handled} were handled` }
    }
  },
  {
    name: "law 7: messages arrive completely and in order, whatever arrives between them",
    lossy: false,
    *findings({ entries, session, side }, { conversation, entries: all }) {
      if (conversation.form !== "OneStream") return
      const broken = all.some((entry) =>
        entry.session === session && entry.happening._tag === "Commanded" &&
        typeof entry.happening.command === "object" &&
        ["Cut", "Close", "FailWrite", "HalfClose"].includes(entry.happening.command._tag)
      )
      const end = all.findIndex(({ happening }) => happening._tag === "Commanded" && happening.command === "End")
      const closed = all.findIndex((entry) =>
        entry.session === session && entry.happening._tag === "Event" &&
        entry.happening.event._tag === "StateChanged" &&
        entry.happening.event.to === "Closing"
      )
      if (broken || (closed !== -1 && closed < end)) return
      const messages = (of: "client" | "server", tag: "Sent" | "Received") =>
        all.slice(0, end).flatMap(({ happening, ...entry }) =>
          entry.session === session && entry.side === of && happening._tag === tag
            ? [JSON.stringify(happening.message)]
            : []
        )
      const came = messages(side, "Received")
      let at = 0
      for (const message of messages(side === "client" ? "server" : "client", "Sent")) {
        const found = came.indexOf(message, at)
        // A message that cannot be written was never on the wire.
        if (found === -1) {
          yield { place: entries.at(-1)?.place ?? 0, problem: `never came: ${message}` }
          return
        }
        at = found + 1
      }
    }
  },
  {
    name: "law 8: an interrupted request is cancelled at the peer, once; no other is, and never the handshake",
    lossy: false,
    *findings({ asked, closing, entries, outbound, quiet, strayCancels }, { conversation }) {
      for (const { place } of strayCancels) yield { place, problem: "what was cancelled was never sent" }
      const looked = entries.find(({ happening }) => happening === quiet)?.place ?? 0
      for (const { cancels, id, method, place, responses } of outbound) {
        // With a stream for each request, a request may have had no stream.
        if (
          conversation.form !== "OneStream" || quiet?.state !== "Operating" || closing !== undefined && closing < looked
        ) break
        if (place > looked || method === "initialize" || responses.some((response) => response.place < looked)) continue
        if (cancels !== 1) {
          yield {
            place,
            problem: `${method} (${JSON.stringify(id)}) has no response, and was cancelled ${cancels} times`
          }
        }
      }
      for (const { cancels, method, place } of outbound) {
        if (cancels > 1) yield { place, problem: `${method} was cancelled ${cancels} times` }
        if (cancels > 0 && method === "initialize") yield { place, problem: "the handshake was cancelled" }
      }
      for (const { ended, nonce, what } of asked) {
        const request = outbound.find((one) => one.nonce === nonce)
        if (ended === undefined || request === undefined) continue
        const { end: { kind }, place } = ended
        const answered = request.responses.some((response) => response.place < place)
        const named = `request ${nonce} (${what}, id ${JSON.stringify(request.id)})`
        if ((kind === "Success" || kind === "ErrorResponse") && request.cancels > 0) {
          yield { place, problem: `${named} had its response, and was cancelled` }
        }
        const alive = quiet !== undefined && (closing === undefined || quiet.state === "Operating")
        if ((kind === "Interrupted" || kind === "Timeout") && !answered && alive && request.cancels === 0) {
          yield { place, problem: `${named} ended as ${kind}, and was never cancelled` }
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
        const asked = entries.find(({ happening }) => happening._tag === "Started" && happening.nonce === nonce)
        if (asked?.session !== session) yield { place, problem: `call ${nonce} was made in another session` }
      }
    }
  },
  {
    name: "law 12: no more requests are served at the same time than the limit permits",
    lossy: true,
    *findings({ entries }, { incoming }) {
      const running = new Set<number>()
      for (const { happening, place } of entries) {
        if (happening._tag === "HandlerStarted") running.add(happening.run)
        if (happening._tag === "HandlerEnded") running.delete(happening.run)
        if (running.size > incoming) yield { place, problem: `${running.size} are served` }
      }
    }
  },
  {
    name: "[SHS-08] messages of a request use its stream",
    lossy: true,
    *findings({ entries, side }, { conversation }) {
      if (side !== "server" || conversation.form === "OneStream") return
      for (const { happening, place } of entries) {
        if (happening._tag !== "Sent" || !("method" in happening.message)) continue
        const { message: { method, params }, stream } = happening
        const data = params?.["data"]
        const of = method === "notifications/progress"
          ? params?.["progressToken"]
          : typeof data === "object" && data !== null && "of" in data
          ? data.of
          : undefined
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
      for (const { happening, place } of entries) {
        if (happening._tag !== "Sent" || !JsonRpc.isRequest(happening.message)) continue
        const { id } = happening.message
        if (ids.has(id)) yield { place, problem: `the id ${JSON.stringify(id)} again` }
        ids.add(id)
      }
    }
  },
  {
    name: "law 12: a request is rejected as one too many only if the limit is reached",
    lossy: false,
    *findings({ entries, handlers, inbound }, { incoming }) {
      for (const { happening, place } of entries) {
        if (happening._tag !== "Event" || happening.event._tag !== "Rejected" || happening.event.code !== overloaded) {
          continue
        }
        const { id } = happening.event
        const unanswered = inbound.filter((one) => one.place < place && one.id !== id && (one.taken ?? place) >= place)
        // A cancelled request counts while its handler continues, and so does one whose reply has not been handed over
        // yet.
        const counted = unanswered.filter(({ cancelled, id, place: came }) =>
          (cancelled ?? place) >= place ||
          handlers.some((handler) =>
            handler.id === id && handler.place > came && handler.place < place &&
            (handler.ended?.place ?? place) >= place
          )
        )
        if (counted.length < incoming - 1) {
          yield { place, problem: `refused as one too many of ${incoming}, beside ${counted.length}` }
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
