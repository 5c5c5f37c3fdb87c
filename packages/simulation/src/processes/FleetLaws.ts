/**
 * The laws of a fleet. Each judges the history of a script, and nothing of it comes from the library.
 *
 * A law names what it excuses: a store that fails costs what it was for, and nothing else.
 */
import { Search } from "@effect-mcp/testing/internal"
import type { ClientEvent, Event, History, Message, ProcessEvent, StoreKind } from "./History.ts"
import { EpochModel, OwnerModel } from "./OwnerModel.ts"
import type { Command } from "./Script.ts"

interface Law {
  readonly name: string
  /** Returns the problems of a history. */
  readonly problems: (record: Record) => ReadonlyArray<string>
}

const isOf = <Tag extends Event["_tag"]>(tag: Tag) => (event: Event): event is Extract<Event, { readonly _tag: Tag }> =>
  event._tag === tag

type Sent = Extract<ClientEvent, { readonly _tag: "Sent" }> & { readonly client: number }

/** A request of a client and what came back. The numbers are places in the history. */
interface Exchange {
  readonly sent: Sent
  readonly sentAt: number
  readonly at: number
  status: number | undefined
  respondedAt: number
  retryAfter: boolean
  readonly received: Array<{ readonly message: Message; readonly event: string | undefined; readonly index: number }>
  endedAt: number
}

/** A history, with what several laws need of it. */
class Record {
  readonly events: ReadonlyArray<Event>
  readonly exchanges = new Map<number, Exchange>()

  constructor({ events }: History) {
    this.events = events
    for (const [index, event] of events.entries()) this.#add(event, index)
  }

  #add(event: Event, index: number): void {
    if (!("client" in event)) return
    const exchange = this.exchanges.get(event.exchange)
    switch (event._tag) {
      case "Sent":
        this.exchanges.set(event.exchange, {
          sent: event,
          sentAt: index,
          at: event.at,
          status: undefined,
          respondedAt: Number.POSITIVE_INFINITY,
          retryAfter: false,
          received: [],
          endedAt: Number.POSITIVE_INFINITY
        })
        return
      case "Responded":
        if (exchange === undefined) return
        exchange.status = event.status
        exchange.respondedAt = index
        exchange.retryAfter = event.retryAfter
        return
      case "Received":
        exchange?.received.push({ message: event.message, event: event.event, index })
        return
      default:
        if (exchange !== undefined) exchange.endedAt = index
    }
  }

  /** The requests of the owner of the session. */
  get own(): ReadonlyArray<Exchange> {
    return Array.from(this.exchanges.values()).filter(({ sent }) => !sent.isIntruder)
  }

  /** The requests of other principals. */
  get intrusions(): ReadonlyArray<Exchange> {
    return Array.from(this.exchanges.values()).filter(({ sent }) => sent.isIntruder)
  }

  /** Returns the place of the first event of a kind. */
  placeOf(tag: Event["_tag"]): number {
    const place = this.events.findIndex(isOf(tag))
    return place === -1 ? this.events.length : place
  }

  /** Whether an operation of a store has failed. */
  hasFailed(kind: StoreKind): boolean {
    return this.events.some((event) => event._tag === "StoreFailed" && event.kind === kind)
  }

  /** Whether a command has one of these tags. */
  hasCommand(...tags: ReadonlyArray<Command["_tag"]>): boolean {
    return this.events.some((event) => event._tag === "Commanded" && tags.includes(event.command._tag))
  }

  /** Returns the session of the call with a number. */
  sessionOf(nonce: number): string | undefined {
    return this.callOf(nonce)?.session
  }

  /** Returns the first request of the call with a number. */
  callOf(nonce: number): Sent | undefined {
    return this.own.find(({ sent }) => sent.nonce === nonce && isCall(sent))?.sent
  }

  /** Returns the calls that were stored, without those that their clients have sent several times. */
  get durable(): ReadonlyArray<DurableCall> {
    const { events, own } = this
    return own.flatMap(({ sent }): ReadonlyArray<DurableCall> => {
      const { nonce } = sent
      const isOnce = own.filter((other) => isCall(other.sent) && other.sent.nonce === nonce).length === 1
      if (!isCall(sent) || nonce === undefined || !isOnce) return []
      const writes = events.filter(isOf("TaskStored")).filter((event) => event.nonce === nonce)
      if (writes.length === 0) return []
      const exchanges = own.filter((other) => other.sent.nonce === nonce)
      return [{ sent, nonce, takeOvers: writes.filter(isTakeOver).length, exchanges }]
    })
  }
}

/** A call that was stored. `exchanges` are all requests of its client about it. */
interface DurableCall {
  readonly sent: Sent
  readonly nonce: number
  readonly takeOvers: number
  readonly exchanges: ReadonlyArray<Exchange>
}

const isTakeOver = ({ before, epoch }: Extract<ProcessEvent, { readonly _tag: "TaskStored" }>): boolean =>
  before !== undefined && epoch !== undefined && epoch > before

const isCall = ({ kind }: Sent): boolean => kind === "call" || kind === "probe"

const oneFinal: Law = {
  name: "a request has one final response, over all streams and resumptions",
  problems: ({ own }) => {
    const finals = new Map<string, Set<string>>()
    const sends = new Map<string, number>()
    for (const { received, sent } of own) {
      const { exchange, session } = sent
      if (isCall(sent)) sends.set(`${session} ${sent.id}`, (sends.get(`${session} ${sent.id}`) ?? 0) + 1)
      for (const { event, message } of received) {
        if ((message._tag !== "Result" && message._tag !== "Error") || message.id === undefined) continue
        const key = `${session} ${message.id}`
        finals.set(key, (finals.get(key) ?? new Set()).add(event ?? `exchange ${exchange}`))
      }
    }
    return Array.from(sends).flatMap(([key, count]) => {
      const found = Array.from(finals.get(key) ?? [])
      return found.length > count ? [`request ${key} has ${found.join(", ")}`] : []
    })
  }
}

const answersMatch: Law = {
  name: "the answer to a question completes that question, and no other",
  problems: ({ own }) =>
    own.flatMap(({ received, sent }) =>
      sent.detail !== "ask" && sent.detail !== "book" && sent.kind !== "resume" ?
        [] :
        received.flatMap(({ index, message }) => {
          if (message._tag !== "Result" || message.answer === "done" || message.id !== sent.id) return []
          const isGiven = own.some((other) =>
            other.sent.kind === "answer" && other.sent.nonce === sent.nonce && other.sent.detail === message.answer &&
            other.sentAt < index
          )
          return isGiven
            ? []
            : [`call ${sent.nonce} returns ${JSON.stringify(message.answer)}`]
        })
    )
}

const everyEnd: Law = {
  name: Search.everyRequestEnds,
  problems: (record) => {
    const { events, own } = record
    const rested = record.placeOf("Rested")
    return [
      ...events.filter(isOf("Unfinished")).flatMap(({ id, session, why }) => {
        const isCancelled = own.some(({ sent }) =>
          sent.kind === "cancel" && sent.session === session &&
          own.some((call) => isCall(call.sent) && call.sent.nonce === sent.nonce && call.sent.id === id)
        )
        // The responses to the requests in flight are lost with the session that its client has ended.
        const isEnded = own.some(({ sent, sentAt }) =>
          sent.kind === "delete" && sent.session === session && sentAt < rested
        )
        // The stream of an event that was not stored cannot be resumed.
        const isExcused = isCancelled || isEnded || (record.hasFailed("events") && why !== noEnd)
        return isExcused ? [] : [`request ${id} of ${session}: ${why}`]
      }),
      ...own.flatMap(({ endedAt, sent, sentAt }) => {
        const isStandalone = sent.kind === "listen" || (sent.kind === "resume" && sent.id === undefined)
        return sentAt < rested && endedAt > rested && !isStandalone
          ? [`${sent.kind} ${sent.exchange} has no end`]
          : []
      })
    ]
  }
}

const noEnd = "it has no end"

const ownersByRules: Law = {
  name: "the store of owners grants what its rules permit",
  problems: ({ events }) => {
    const model = new OwnerModel()
    return events.flatMap((event) => model.apply(event) ?? [])
  }
}

const fenced: Law = {
  name: "a write of a superseded epoch fails, and so does an event of an ended stream, and no other write",
  problems: ({ events }) => {
    const model = new EpochModel()
    return events.flatMap((event) => model.apply(event) ?? [])
  }
}

const ownEpochs: Law = {
  name: "a process writes in epochs that it has claimed",
  problems: ({ events }) => {
    const claimed = new Set<string>()
    return events.flatMap((event) => {
      if (event._tag === "Claimed") claimed.add(`${event.process} ${event.session} ${event.claimed}`)
      return "outcome" in event && "epoch" in event && !claimed.has(`${event.process} ${event.session} ${event.epoch}`)
        ? [`${event._tag} of process ${event.process} in epoch ${event.epoch} of ${event.session}`]
        : []
    })
  }
}

const servedByOwner: Law = {
  name: "the owner of a session serves it while its lease stands, and no other process does",
  problems: (record) => {
    const model = new OwnerModel()
    return record.events.flatMap((event) => {
      model.apply(event)
      if (event._tag !== "Ran") return []
      const { detail, session } = record.callOf(event.nonce) ?? {}
      // Such a call is stored before it runs, which takes time.
      if (detail === "book") return []
      const owner = session === undefined ? undefined : model.row(session)?.owner
      const who = `process ${event.process} runs call ${event.nonce} of ${session}`
      if (owner !== event.process) return [`${who}, whose owner is ${owner}`]
      return model.stands(event.process, event.at) ? [] : [`${who}, and its lease is over`]
    })
  }
}

const takenOverForACause: Law = {
  name: "a session is taken over from a process that was disturbed, and not after an outage of the store",
  problems: ({ events }) => {
    const model = new OwnerModel()
    const disturbed = new Set<number>()
    return events.flatMap((event) => {
      if ("process" in event && isDisturbing(event)) disturbed.add(event.process)
      const before = event._tag === "Claimed" ? model.row(event.session)?.owner : undefined
      model.apply(event)
      return event._tag === "Claimed" && event.claimed !== undefined && before !== undefined &&
          before !== event.process && !disturbed.has(before)
        ? [`process ${event.process} takes ${event.session} over from process ${before}`]
        : []
    })
  }
}

/** Returns whether an event can cost a process its lease. */
const isDisturbing = (event: ProcessEvent): boolean =>
  event._tag === "Killed" || event._tag === "Paused" || event._tag === "Stopping" || event._tag === "ClockSet" ||
  (event._tag === "StoreFailed" && event.kind === "owners" && !event.isOutage)

/** Returns the exchanges about a session that its client had opened, and had not begun to end. */
const aboutLive = ({ own }: Record): ReadonlyArray<Exchange> =>
  own.filter(({ respondedAt, sent, sentAt }) => {
    const ready = own.find((other) =>
      other.sent.kind === "initialized" && other.sent.session === sent.session && other.status === 202
    )
    const ending = own.find((other) => other.sent.kind === "delete" && other.sent.session === sent.session)
    return sent.kind !== "initialize" && ready !== undefined && ready.respondedAt < sentAt &&
      (ending === undefined || ending.sentAt > respondedAt)
  })

const neverUnknown: Law = {
  name: "a live session is not unknown to its client",
  problems: (record) =>
    aboutLive(record).flatMap(({ sent, status }) =>
      status === 404 ? [`${sent.kind} ${sent.exchange} of ${sent.session} gets 404`] : []
    )
}

const deletedForGood: Law = {
  name: "a session that its client has ended is ended at every process",
  problems: ({ own }) =>
    own.flatMap(({ sent, sentAt, status }) => {
      const isEnded = own.some((other) =>
        other.sent.kind === "delete" && other.sent.session === sent.session && other.status === 204 &&
        other.respondedAt < sentAt
      )
      return isEnded && status !== undefined && status !== 404 && status !== 503
        ? [`${sent.kind} ${sent.exchange} of ${sent.session} gets ${status}`]
        : []
    })
}

/** The commands that disturb the fleet. */
const disturbances = ["Kill", "Pause", "Stop", "Store", "Outage", "Cut", "Network", "SetClock"] as const

const foreignUnknown: Law = {
  name: "a session is unknown to other principals, at every process and by every request",
  problems: (record) =>
    record.intrusions.flatMap(({ sent, status }) =>
      status === undefined || status === 404 || (status === 503 && record.hasCommand(...disturbances))
        ? []
        : [`${sent.kind} ${sent.exchange} of client ${sent.client} to ${sent.session} gets ${status}`]
    )
}

const runOnce: Law = {
  name: "a request runs once for each time that its client has sent it, and once at each next owner if it is stored",
  problems: ({ events, exchanges, own }) => {
    const running = new Set<string>()
    const runs = new Map<number, number>()
    const takeOvers = new Map<number, number>()
    const served = new Map<number, Set<number>>()
    return events.flatMap((event) => {
      if (event._tag === "Served") {
        const nonce = exchanges.get(event.exchange)?.sent.nonce
        if (nonce !== undefined) served.set(nonce, (served.get(nonce) ?? new Set()).add(event.exchange))
      }
      if (event._tag === "TaskStored" && isTakeOver(event)) {
        takeOvers.set(event.nonce, (takeOvers.get(event.nonce) ?? 0) + 1)
      }
      if (event._tag === "RanEnded") running.delete(`${event.process} ${event.nonce}`)
      if (event._tag !== "Ran") return []
      const { nonce, process } = event
      const isBeside = running.has(`${process} ${nonce}`)
      running.add(`${process} ${nonce}`)
      const count = (runs.get(nonce) ?? 0) + 1
      runs.set(nonce, count)
      const sends = own.filter(({ sent }) => isCall(sent) && sent.nonce === nonce).length
      return [
        ...isBeside ? [`call ${nonce} runs twice at a time at process ${process}`] : [],
        ...count > Math.min(sends, served.get(nonce)?.size ?? 0) + (takeOvers.get(nonce) ?? 0)
          ? [`call ${nonce} runs ${count} times`]
          : []
      ]
    })
  }
}

/** A setting of a session, and the messages of the tool `touch` that depend on it. */
interface Setting {
  readonly kind: "setLevel" | "subscribe"
  readonly message: "Log" | "Update"
  /** Returns whether a call sends the message after this request; `undefined` stands for no such request. */
  readonly sends: (detail: string | undefined) => boolean
}

const settings: ReadonlyArray<Setting> = [
  { kind: "setLevel", message: "Log", sends: (detail) => detail !== "error" },
  { kind: "subscribe", message: "Update", sends: (detail) => detail === "on" }
]

const settingsSurvive: Law = {
  name: "log level and subscriptions survive each change of the owner",
  problems: (record) =>
    record.hasFailed("sessions") || record.hasFailed("events") ?
      [] :
      settings.flatMap(({ kind, message, sends }) =>
        record.own.flatMap((call) => {
          const { nonce, session } = call.sent
          if (!isCall(call.sent) || call.sent.detail !== "touch") return []
          const messages = record.own.filter(({ sent }) => sent.nonce === nonce && sent.session === session)
            .flatMap(({ received }) => received)
          const result = messages.find(({ message }) => message._tag === "Result")
          if (result === undefined) return []
          const changes = record.own.filter(({ sent, sentAt }) =>
            sent.kind === kind && sent.session === session && sentAt < result.index
          )
          // A request without a result may have taken effect, or may take effect yet.
          if (changes.some((change) => !(resultOf(change) < call.sentAt))) return []
          const isSorted = changes.every((change, index) => {
            const before = changes[index - 1]
            return before === undefined || resultOf(before) < change.sentAt
          })
          if (!isSorted) return []
          const expected = sends(changes.at(-1)?.sent.detail)
          const isSent = messages.some((one) => one.message._tag === message)
          return expected === isSent ? [] : [`${message} of call ${nonce} is ${isSent ? "sent" : "not sent"}`]
        })
      )
}

/** Returns the place of the result of a request. */
const resultOf = ({ received }: Exchange): number =>
  received.find(({ message }) => message._tag === "Result")?.index ?? Number.POSITIVE_INFINITY

/** The code of the error of a request whose process has ended. */
const outcomeUnknown = -31013

const questionsCancelled: Law = {
  name: "a question is cancelled if the process that asked has lost the session",
  problems: ({ events, own }) => {
    const streams = new Map(
      events.flatMap((event) =>
        event._tag === "Appended" && event.event !== undefined ? [[event.event, event.stream]] : []
      )
    )
    return own.flatMap(({ sent }) => {
      if (!isCall(sent)) return []
      const messages = own.filter(({ sent: { nonce } }) => nonce === sent.nonce).flatMap(({ received }) => received)
      // A client that repeats a call has two streams, and the process that has lost one may not have had the other.
      const lost = new Set(
        messages.flatMap(({ event, message }) =>
          event !== undefined && message._tag === "Error" && message.code === outcomeUnknown
            ? [streams.get(event)]
            : []
        )
      )
      return messages.flatMap(({ event, message }) =>
        message._tag !== "Question" || !lost.has(streams.get(event ?? "")) ||
          messages.some((one) => one.message._tag === "Cancelled" && one.message.id === message.id)
          ? []
          : [`question ${message.id} of call ${sent.nonce} stays open`]
      )
    })
  }
}

/** The number of times that a durable call is taken over. */
const maxTakeOvers = 4

const durableGoesOn: Law = {
  name: "a stored call goes on at the next owner of its session, with its question",
  problems: (record) => {
    const { own } = record
    if (record.hasFailed("tasks") || record.hasFailed("events")) return []
    return record.durable.flatMap(({ exchanges, nonce, sent, takeOvers }) => {
      const isEnded = own.some((other) =>
        (other.sent.kind === "cancel" && other.sent.nonce === nonce) ||
        (other.sent.kind === "delete" && other.sent.session === sent.session)
      )
      if (isEnded || takeOvers >= maxTakeOvers) return []
      return exchanges.flatMap(({ received }) => received).flatMap(({ message }) =>
        message._tag === "Error"
          ? [`call ${nonce} ends with error ${message.code}`]
          : message._tag === "Cancelled"
          ? [`question ${message.id} of call ${nonce} is cancelled`]
          : []
      )
    })
  }
}

const askedOnce: Law = {
  name: "a stored call asks its question once, by one id",
  problems: (record) =>
    record.durable.flatMap(({ exchanges, nonce }) => {
      const ids = new Set<string>()
      const events = new Set<string>()
      for (const { received, sent } of exchanges) {
        for (const { event, message } of received) {
          if (message._tag !== "Question") continue
          ids.add(message.id)
          events.add(event ?? `exchange ${sent.exchange}`)
        }
      }
      return [
        ...ids.size > 1 && !record.hasFailed("tasks")
          ? [`call ${nonce} asks by ${Array.from(ids).join(", ")}`]
          : [],
        ...events.size > 1 && !record.hasFailed("events") && !record.hasFailed("tasks")
          ? [`call ${nonce} asks ${events.size} times`]
          : []
      ]
    })
}

const answerKept: Law = {
  name: "a stored call ends with the answer that was acknowledged",
  problems: ({ durable }) =>
    durable.flatMap(({ exchanges, nonce, sent: { id } }) => {
      const answers = exchanges.filter(({ sent }) => sent.kind === "answer")
      const acknowledged = answers.filter(({ status }) => status === 202).map(({ respondedAt }) => respondedAt)
      // A client that sends another answer before the acknowledgement has no claim on either.
      const given = answers.filter(({ sentAt }) => sentAt < Math.min(...acknowledged)).map(({ sent }) => sent.detail)
      return exchanges.flatMap(({ received }) => received).flatMap(({ message }) =>
        message._tag === "Result" && message.id === id && !given.includes(message.answer)
          ? [`call ${nonce} returns ${JSON.stringify(message.answer)}, and not ${JSON.stringify(given)}`]
          : []
      )
    })
}

const progressIncreases: Law = {
  name: "the progress on a stream increases, over all owners",
  problems: ({ events, own }) => {
    const places = new Map(
      events.flatMap((event, index) =>
        event._tag === "Appended" && event.event !== undefined ? [[event.event, { index, stream: event.stream }]] : []
      )
    )
    const streams = new Map<string, Map<number, number>>()
    for (const { received } of own) {
      for (const { event, message } of received) {
        const place = places.get(event ?? "")
        if (message._tag !== "Progress" || place === undefined) continue
        const steps = streams.get(place.stream) ?? new Map()
        streams.set(place.stream, steps.set(place.index, message.progress))
      }
    }
    return Array.from(streams).flatMap(([stream, steps]) => {
      const ordered = Array.from(steps).toSorted(([one], [other]) => one - other).map(([, step]) => step)
      return ordered.every((step, index) => step > (ordered[index - 1] ?? 0))
        ? []
        : [`the progress on ${stream} is ${ordered.join(", ")}`]
    })
  }
}

const chargedOnce: Law = {
  name: "a step of a stored call is stored before its handler goes on, and then does not run again",
  problems: (record) =>
    record.durable.flatMap(({ nonce }) => {
      let isStored = false
      return record.events.flatMap((event) => {
        if (!("nonce" in event) || event.nonce !== nonce) return []
        if (event._tag === "TaskStored") isStored ||= event.hasCharge
        if (event._tag === "Charged" && isStored) return [`call ${nonce} is charged again`]
        return event._tag === "Settled" && !isStored && !record.hasFailed("tasks")
          ? [`call ${nonce} goes on before its charge is stored`]
          : []
      })
    })
}

const deletedWithReply: Law = {
  name: "a stored call is deleted with its reply",
  problems: (record) => {
    if (record.hasFailed("tasks") || record.hasFailed("events")) return []
    const left = new Set(record.events.find(isOf("Rested"))?.calls)
    return record.durable.flatMap(({ exchanges, nonce }) =>
      left.has(nonce) && exchanges.some((exchange) => resultOf(exchange) < record.placeOf("Rested"))
        ? [`call ${nonce} is left`]
        : []
    )
  }
}

const fencedCalls: Law = {
  name: "a stored call is changed by the owner of its session, in its epoch",
  problems: (record) => {
    const durable = new Set(record.durable.map(({ nonce }) => nonce))
    const claimed = new Map<string, Set<number>>()
    return record.events.flatMap((event) => {
      if (event._tag === "Claimed" && event.claimed !== undefined) {
        const key = `${event.process} ${event.session}`
        claimed.set(key, (claimed.get(key) ?? new Set()).add(event.claimed))
      }
      if (event._tag !== "TaskStored" || !durable.has(event.nonce)) return []
      const { before = 0, isEnded, nonce, operation, process } = event
      const own = claimed.get(`${process} ${record.sessionOf(nonce)}`) ?? new Set()
      // A process ends and deletes the calls of earlier epochs, too.
      const epoch = isEnded ? undefined : event.epoch
      const writer = epoch ?? Math.max(...own)
      return own.has(writer) && writer >= before
        ? []
        : [`${operation} of call ${nonce} by process ${process} in epoch ${writer}, after ${before}`]
    })
  }
}

const storedFirst: Law = {
  name: "an event is stored before it is sent",
  problems: ({ events, exchanges }) => {
    const stored = new Set<string>()
    return events.flatMap((event) => {
      if (event._tag === "Appended" && event.event !== undefined) stored.add(event.event)
      return event._tag === "Received" && event.event !== undefined && !stored.has(event.event)
        ? [`exchange ${event.exchange} (${exchanges.get(event.exchange)?.sent.kind}) has ${event.event}`]
        : []
    })
  }
}

/** The statuses that a client can get from a fleet. */
const statuses = new Set([200, 202, 204, 400, 404, 405, 409, 502, 503])

/** The kinds of requests whose messages have no reply. */
const withoutReply = new Set(["initialized", "answer", "cancel"])

const knownStatuses: Law = {
  name: "a response has a status that its client can act on",
  problems: (record) =>
    record.own.flatMap(({ retryAfter, sent, status }) => {
      if (status === undefined) return []
      const isResuming = sent.kind === "resume" || sent.kind === "listen"
      // A call that the store of tasks may have is not carried out.
      const isNotStored = status === 429 && sent.detail === "book" && record.hasFailed("tasks")
      const isKnown = isNotStored || (statuses.has(status) && (status !== 400 || isResuming))
      return [
        ...isKnown && !(status === 200 && withoutReply.has(sent.kind))
          ? []
          : [`${sent.kind} ${sent.exchange} gets ${status}`],
        ...status === 503 && !retryAfter ? [`${sent.kind} ${sent.exchange} gets 503 without Retry-After`] : [],
        ...status === 503 && !record.hasCommand(...disturbances, "Delete")
          ? [`${sent.kind} ${sent.exchange} gets 503, and nothing is disturbed`]
          : []
      ]
    })
}

const undisturbed: Law = {
  name: "without faults, every call has its result",
  problems: (record) => {
    if (record.hasCommand(...disturbances, "Break", "Cancel", "Delete", "Repeat")) return []
    const served = new Set(record.events.flatMap((event) => event._tag === "Served" ? [event.exchange] : []))
    // A question that its user does not answer in time.
    const failed = new Set(
      record.events.flatMap((event) => event._tag === "RanEnded" && event.outcome === "failed" ? [event.nonce] : [])
    )
    return record.own.flatMap((exchange) => {
      const { detail, exchange: number, id, kind, nonce, session } = exchange.sent
      // No process listens in an empty slot.
      const isExcused = kind !== "call" || !served.has(number) || failed.has(nonce ?? 0)
      // The result comes on the last connection of its stream: a client that resumes it replaces the earlier one.
      const hasResult = record.own.some((other) =>
        other.sent.session === session && other.sent.id === id && resultOf(other) < Number.POSITIVE_INFINITY
      )
      return isExcused || hasResult
        ? []
        : [`call ${nonce} (${detail}) has no result`]
    })
  }
}

const recovers: Law = {
  name: "after the faults, every process serves every session",
  problems: (record) => {
    const rested = record.placeOf("Rested")
    const deleting = record.placeOf("Deleting")
    return record.own.flatMap((exchange) => {
      const { sent, sentAt, status } = exchange
      if (sent.kind !== "probe" || sentAt < rested || sentAt > deleting) return []
      // The response to DELETE was lost, and its effect may not be.
      const isEnding = record.own.some((other) =>
        other.sent.kind === "delete" && other.sent.session === sent.session && other.sentAt < sentAt
      )
      if (isEnding && status === 404) return []
      return status === 200 && resultOf(exchange) < Number.POSITIVE_INFINITY
        ? []
        : [`a call at slot ${sent.slot} for ${sent.session} gets ${status}`]
    })
  }
}

const oneHop: Law = {
  name: "a request is forwarded once, and again only if it was not processed, or is an answer",
  problems: ({ events, exchanges }) => {
    const hops = new Map<string, number>()
    const open = new Map<string, boolean>()
    return events.flatMap((event) => {
      if (event._tag === "Served") hops.set(`${event.process} ${event.exchange}`, event.hop)
      if (event._tag === "ForwardEnded") open.set(`${event.process} ${event.exchange}`, event.isUnprocessed)
      if (event._tag !== "Forwarded") return []
      const key = `${event.process} ${event.exchange}`
      const isAnswer = exchanges.get(event.exchange)?.sent.kind === "answer"
      const mayRepeat = isAnswer || (open.get(key) ?? true)
      open.set(key, false)
      return [
        ...(hops.get(key) ?? 0) > 0 ? [`process ${event.process} forwards exchange ${event.exchange} again`] : [],
        ...mayRepeat ? [] : [`process ${event.process} sends exchange ${event.exchange} again`]
      ]
    })
  }
}

const nothingLeft: Law = {
  name: Search.nothingLeft,
  problems: (record) => {
    const { events } = record
    const killed = new Set(processesWith(events, "Killed"))
    const closed = new Map(events.filter(isOf("Closed")).map(({ living, process }) => [process, living] as const))
    const retired = new Set(events.filter(isOf("Retired")).map(({ process }) => process))
    const ended = events.find(isOf("Ended"))
    const deleting = record.placeOf("Deleting")
    const deleted = new Set(
      record.own.flatMap(({ sent, sentAt, status }) =>
        sent.kind === "delete" && sentAt > deleting && status === 204 ? [sent.session] : []
      )
    )
    return [
      ...processesWith(events, "Started").flatMap((process) => {
        if (killed.has(process)) return []
        const living = closed.get(process)
        return living === undefined
          ? [`process ${process} does not end`]
          : living === 0
          ? []
          : [`process ${process} has left ${living} fibers`]
      }),
      // A renewal that is late can begin another lease, which no process extends.
      ...Array.from(closed.keys()).flatMap((process) =>
        retired.has(process) || isReleaseLost(events, process) ? [] : [`process ${process} has left its lease`]
      ),
      ...ended === undefined || ended.exchanges === 0 ? [] : [`${ended.exchanges} connections are left`],
      ...(ended?.left ?? []).flatMap(({ session, what }) =>
        deleted.has(session) ? [`${what} of ${session} is left`] : []
      ),
      // A call whose deletion fails stays until its lifetime is over.
      ...record.hasFailed("tasks") || record.hasFailed("events") ?
        [] :
        (ended?.calls ?? []).flatMap((nonce) => deleted.has(record.sessionOf(nonce)) ? [`call ${nonce} is left`] : [])
    ]
  }
}

/** Returns the processes that an event of this kind has happened to. */
const processesWith = (events: ReadonlyArray<Event>, tag: "Started" | "Killed"): ReadonlyArray<number> =>
  events.flatMap((event) => event._tag === tag ? [event.process] : [])

/** Returns whether a process could not end its lease, because the store was disturbed while it ended. */
const isReleaseLost = (events: ReadonlyArray<Event>, process: number): boolean =>
  events.some((event) => event._tag === "StoreFailed" && event.process === process && event.operation === "retire")

/** The laws. */
export const laws: ReadonlyArray<Law> = [
  oneFinal,
  answersMatch,
  runOnce,
  servedByOwner,
  ownersByRules,
  fenced,
  ownEpochs,
  takenOverForACause,
  neverUnknown,
  deletedForGood,
  foreignUnknown,
  settingsSurvive,
  questionsCancelled,
  durableGoesOn,
  askedOnce,
  answerKept,
  progressIncreases,
  chargedOnce,
  deletedWithReply,
  fencedCalls,
  storedFirst,
  oneHop,
  knownStatuses,
  undisturbed,
  everyEnd,
  recovers,
  nothingLeft
]

/** Returns the laws that do not hold. */
export const violations = (history: History): ReadonlyArray<Search.Violation> => {
  const record = new Record(history)
  return laws.flatMap(({ name, problems }) => problems(record).map((problem) => ({ law: name, problem })))
}
