/** One call of the tool `book`, and everything that its client does meanwhile. */
import { setTimeout as sleep } from "node:timers/promises"
import type { CallOptions } from "./CallOptions.ts"
import type { Exchange, Moment, Purpose } from "./History.ts"
import type * as Message from "./Message.ts"
import type { Random } from "./Random.ts"
import type { Pending } from "./RawClient.ts"
import { Signal } from "./Signal.ts"

/** The client of a booking. */
export interface Caller {
  readonly random: Random
  readonly nextId: () => number
  readonly book: (city: string, options: CallOptions & { readonly id: number }) => Promise<unknown>
  /** Sends a message until a process has accepted it. */
  readonly deliver: (purpose: Purpose, message: unknown) => Promise<Exchange>
  /** Returns the process that has the session. */
  readonly owner: () => Promise<string | undefined>
  readonly onMoment: (moment: Moment, pid: string) => void
}

/** The manner in which a client treats the question of a booking. */
type Manner =
  /** It answers at once, or after seconds. */
  | "prompt"
  | "late"
  /** It closes the stream, and answers when it has resumed the stream. */
  | "resumed"
  /** It closes the stream, answers meanwhile, and resumes the stream after seconds. */
  | "away"
  /** It cancels the call, before the question or after it. */
  | "cancelled"
  /** It reads nothing of the response for seconds. */
  | "slow"

const manners: ReadonlyArray<Manner> = [
  "prompt",
  "prompt",
  "prompt",
  "prompt",
  "late",
  "late",
  "resumed",
  "away",
  "cancelled",
  "slow"
]

const secondAnswer = 0.25

/** Waits until something has happened, and no longer than this. */
const within = (millis: number, happened: Promise<unknown>): Promise<unknown> =>
  Promise.race([happened, sleep(millis, undefined, { ref: false })])

/** Books a journey. */
export const book = async (caller: Caller, city: string): Promise<void> => {
  const { deliver, random } = caller
  const manner = random.pick(manners) ?? "prompt"
  const owner = await caller.owner()
  const reached = (moment: Moment) => {
    if (owner !== undefined) caller.onMoment(moment, owner)
  }
  const id = caller.nextId()
  let current: Pending | undefined
  let isCancelled = false
  const begun = new Signal<void>()
  const resumed = new Signal<void>()
  let present = Promise.resolve()

  const accept = (question: Message.Id, seat: string) =>
    deliver("answer", { jsonrpc: "2.0", id: question, result: { action: "accept", content: { seat } } })

  const answer = async (question: Message.Id) => {
    reached("asked")
    if (manner === "cancelled") return
    if (manner === "late") await sleep(random.between(1500, 3500))
    if (manner === "prompt") await sleep(random.between(0, 300))
    if (manner === "resumed") {
      current?.abandon()
      await within(10_000, resumed.happened)
    }
    if (manner === "away") {
      present = sleep(random.between(2000, 5000))
      current?.abandon()
    }
    const accepted = accept(question, `1 of ${city}`)
    void sleep(random.between(0, 15)).then(() => reached("answering"))
    const { status } = await accepted
    if (status === 202) reached("answered")
    // The first answer counts.
    if (status === 202 && random.chance(secondAnswer)) await accept(question, `2 of ${city}`)
  }

  const cancel = async () => {
    await begun.happened
    await sleep(random.between(0, 800))
    // From now on the client does not resume the stream.
    isCancelled = true
    const params = { requestId: id, reason: "enough" }
    await deliver("cancel", { jsonrpc: "2.0", method: "notifications/cancelled", params })
  }

  let isBegun = false
  const call = caller.book(city, {
    id,
    answer,
    isCancelled: () => isCancelled,
    onEvent: () => {
      if (isBegun) return
      isBegun = true
      begun.give()
      void sleep(random.between(0, 5)).then(() => reached("begun"))
    },
    onRequest: (pending) => {
      current = pending
    },
    onResumed: (status) => {
      if (status === 200) resumed.give()
    },
    present: () => present,
    ...(manner === "slow" ? { slowMillis: 2000 } : undefined)
  })
  // A call that ends without an event has nothing to cancel.
  await Promise.all([call, manner === "cancelled" ? Promise.race([cancel(), call]) : undefined])
}
