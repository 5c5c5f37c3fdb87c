/**
 * The laws of credentials. Each judges the history of a script.
 *
 * A process that is killed or suspended loses its lease, and so does one whose store does not prolong it. The laws of
 * requests except what such a process and its successor do, and nothing else.
 */
import { Search } from "@effect-mcp/testing/internal"
import type { Event, History, ProcessEvent, TokenRequest } from "./History.ts"
import { server } from "./World.ts"

interface Law {
  readonly name: string
  /** Returns the problems of a history. */
  readonly problems: (history: History) => ReadonlyArray<string>
}

const isOf = <Tag extends Event["_tag"]>(tag: Tag) => (event: Event): event is Extract<Event, { readonly _tag: Tag }> =>
  event._tag === tag

const processOf = (event: Event): number | undefined => "process" in event ? event.process : undefined

/** Returns whether the event can cost a process its lease, or what it has received. */
const isDisturbing = (event: Event): boolean =>
  event._tag === "Killed" || event._tag === "Suspended" ||
  (event._tag === "StoreFailed" && event.operation === "acquire")

/** Returns whether a process was killed or suspended, or could not acquire a lease, in a part of the history. */
const isDisturbed = (events: ReadonlyArray<Event>, process: number): boolean =>
  events.some((event) => processOf(event) === process && isDisturbing(event))

/** A refresh, with the place of its beginning in the history. */
interface Refresh {
  readonly process: number
  readonly index: number
  readonly request: TokenRequest
}

const refreshesIn = (events: ReadonlyArray<Event>): ReadonlyArray<Refresh> =>
  events.flatMap((event, index) =>
    event._tag === "TokenRequested" && event.request.grant === "refresh_token"
      ? [{ process: event.process, index, request: event.request }]
      : []
  )

/** Returns the place in the history at which a process has a response, or has given up. */
const endOf = (events: ReadonlyArray<Event>, { index, request }: Refresh): number => {
  const end = events.findIndex((event, at) =>
    at > index && (event._tag === "TokenReceived" || event._tag === "TokenLost") && event.request.id === request.id
  )
  return end === -1 ? events.length : end
}

const oneRefresh: Law = {
  name: "one token request with a refresh token is in flight",
  problems: ({ events }) =>
    refreshesIn(events).flatMap((one, at, all) =>
      all.slice(at + 1).flatMap((other) => {
        const isBeside = one.request.presented === other.request.presented && other.index < endOf(events, one)
        const meanwhile = events.slice(one.index, other.index)
        return isBeside && !isDisturbed(meanwhile, one.process) && !isDisturbed(meanwhile, other.process)
          ? [`processes ${one.process} and ${other.process} present ${one.request.presented}`]
          : []
      })
    )
}

const rotatedOnce: Law = {
  name: "a rotated refresh token is not presented again",
  problems: ({ events }) => {
    const refreshes = refreshesIn(events)
    return events.flatMap((event, rotated) => {
      if (event._tag !== "Rotated") return []
      const first = refreshes.find(({ request }) => request.id === event.request)
      if (first === undefined) return [`no process has sent request ${event.request}`]
      const end = endOf(events, first)
      if (events[end]?._tag !== "TokenReceived") return []
      return refreshes.flatMap(({ index, process, request }) => {
        const isAgain = index > rotated && request.presented === event.refreshToken
        const meanwhile = events.slice(first.index, index)
        return isAgain && !isDisturbed(meanwhile, first.process) && !isDisturbed(meanwhile, process)
          ? [`process ${process} presents ${request.presented}, which process ${first.process} has replaced`]
          : []
      })
    })
  }
}

/** Returns the events of each process. */
const byProcess = (events: ReadonlyArray<Event>) => {
  const processes = new Map<number, Array<ProcessEvent>>()
  for (const event of events) {
    if (!("process" in event)) continue
    processes.set(event.process, [...(processes.get(event.process) ?? []), event])
  }
  return [...processes].map(([process, own]) => ({
    process,
    own,
    count: (...tags: ReadonlyArray<ProcessEvent["_tag"]>) => own.filter(({ _tag }) => tags.includes(_tag)).length
  }))
}

const oneWindow: Law = {
  name: "one window of a process is open at a time",
  problems: ({ events }) =>
    byProcess(events).flatMap(({ own, process }) => {
      let open = 0
      return own.flatMap(({ _tag }) => {
        if (_tag === "WindowOpened") open++
        if (_tag === "WindowClosed") open--
        return _tag === "WindowOpened" && open > 1 ? [`process ${process} has ${open} windows`] : []
      })
    })
}

const windowsByActs: Law = {
  name: "a window needs the start of the program, a login or a confirmation",
  problems: ({ events }) =>
    byProcess(events).flatMap(({ count, process }) => {
      const acts = count("Started", "LoggedIn", "Confirmed")
      const windows = count("WindowOpened")
      return windows > acts ? [`process ${process} opens ${windows} windows, and a person acts ${acts} times`] : []
    })
}

const ownPlaces: Law = {
  name: "credentials go to the issuer that has issued them, and tokens to the server",
  problems: ({ events }) =>
    events.filter(isOf("Presented")).flatMap(({ origin, owner, process, secret }) => {
      const isForServer = secret.includes("/access/") && origin === new URL(server).origin
      return origin === owner || isForServer ? [] : [`process ${process} sends ${secret} to ${origin}`]
    })
}

const ends: Law = {
  name: "each call, login and logout ends with a result or a typed error",
  problems: ({ events }) => {
    const killed = new Set(events.flatMap((event) => event._tag === "Killed" ? [event.process] : []))
    const before = events.slice(0, events.findIndex(isOf("Closing")))
    const ended = new Map(before.filter(isOf("ActEnded")).map(({ act, outcome }) => [act, outcome]))
    return events.filter(isOf("ActStarted")).flatMap(({ act, at, name, process }) => {
      if (killed.has(process)) return []
      const outcome = ended.get(act)
      if (outcome === undefined) return [`${name} of process ${process} at ${at} ms does not end`]
      return outcome === "defect" ? [`${name} of process ${process} at ${at} ms ends with a defect`] : []
    })
  }
}

const recovers: Law = {
  name: "after the faults, calls succeed without a window if the issuer accepts the stored tokens",
  problems: ({ events }) => {
    const calm = events.findIndex(isOf("Calm"))
    const event = events[calm]
    if (event?._tag !== "Calm" || !event.isGranted) return []
    const after = events.slice(calm, events.findIndex(isOf("Ended")))
    // The server has rejected tokens that were just issued for it. Only a person knows whether that will change.
    const rejected = new Set(
      events.filter(isOf("ActEnded")).flatMap(({ outcome, process }) => outcome === "TokenRejected" ? [process] : [])
    )
    return [
      ...after.filter(isOf("WindowOpened")).map(({ process }) => `process ${process} opens a window`),
      ...after.filter(isOf("ActEnded")).flatMap(({ name, outcome, process }) =>
        name !== "read" || outcome === "200" || rejected.has(process)
          ? []
          : [`a call of process ${process} ends with ${outcome}`]
      )
    ]
  }
}

const removedLast: Law = {
  name: "stored tokens are removed only after the issuer has rejected them, or at a logout",
  problems: ({ events }) =>
    events.flatMap((event, index) => {
      if (event._tag !== "Removed") return []
      const before = events.slice(0, index)
      const isAllowed = before.some((earlier) =>
        earlier._tag === "Migrated" || earlier._tag === "Forgot" ||
        (earlier._tag === "Rejected" && earlier.refreshToken === event.refreshToken) ||
        (earlier._tag === "LoggedOut" && earlier.process === event.process)
      )
      return isAllowed ? [] : [`process ${event.process} removes ${event.refreshToken}`]
    })
}

const nothingLeft: Law = {
  name: Search.nothingLeft,
  problems: ({ events }) =>
    byProcess(events).flatMap(({ count, own, process }) => {
      if (count("Killed") > 0) return []
      const closed = own.find((event) => event._tag === "Closed")
      if (closed?._tag !== "Closed") return [`process ${process} does not end`]
      return [
        ...(closed.living === 0 ? [] : [`process ${process} has left ${closed.living} fibers`]),
        ...(isReleaseLost(own) ? [] : leasesOf(own).map((key) => `process ${process} has left a lease of ${key}`))
      ]
    })
}

/** Returns whether a lease of the process had to expire, because its release has failed or has come too late. */
const isReleaseLost = (own: ReadonlyArray<ProcessEvent>): boolean =>
  own.some((event) => event._tag === "Suspended" || (event._tag === "StoreFailed" && event.operation === "release"))

/** Returns the keys whose leases a process has not released. */
const leasesOf = (own: ReadonlyArray<ProcessEvent>): ReadonlyArray<string> => {
  const held = new Map<string, string>()
  for (const event of own) {
    if (event._tag === "Acquired") held.set(event.owner, event.key)
    if (event._tag === "Released") held.delete(event.owner)
  }
  return [...held.values()]
}

const secrecy: Law = {
  name: "no secret is in a log, a span or an error",
  problems: ({ events, secrets }) =>
    events.filter(isOf("Said")).flatMap(({ process, text }) => {
      const shown = [...secrets].find((secret) => text.includes(secret))
      return shown === undefined ? [] : [`process ${process} says ${shown}: ${text}`]
    })
}

/** The laws. */
export const laws: ReadonlyArray<Law> = [
  oneRefresh,
  rotatedOnce,
  oneWindow,
  windowsByActs,
  ownPlaces,
  removedLast,
  ends,
  recovers,
  nothingLeft,
  secrecy
]

/** Returns the laws that do not hold. */
export const violations = (history: History): ReadonlyArray<Search.Violation> =>
  laws.flatMap(({ name, problems }) => problems(history).map((problem) => ({ law: name, problem })))
