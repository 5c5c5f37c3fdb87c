/** A client of the fleet with one session, each of whose requests goes to a random process. */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import * as Booking from "./Booking.ts"
import type { CallOptions } from "./CallOptions.ts"
import type { Exchange, Moment, Principal, Purpose, ReceivedEvent } from "./History.ts"
import * as Message from "./Message.ts"
import type { Random } from "./Random.ts"
import type { Pending, Place, Recorder, Sent } from "./RawClient.ts"
import { answerTo } from "./rules/callRules.ts"
import { markOf } from "./rules/sessionRules.ts"

/** A session that a client of another principal can try to use. */
export interface Known {
  readonly principal: Principal
  readonly session: string
  lastEventId: string | undefined
  /** The time at which the newest call was sent that had a result. */
  servedSince: number
}

/** Things that all clients of a run share. */
export interface World {
  readonly recorder: Recorder
  readonly places: () => ReadonlyArray<Place & { readonly isPaused: boolean }>
  /** The sessions that are open. */
  readonly sessions: Set<Known>
  /** Whether clients begin nothing new. */
  isEnding: boolean
  /** Receives the moments of bookings, with the process that has their session. */
  readonly onMoment: (moment: Moment, pid: string) => void
}

type Options = Omit<Sent, "principal" | "to" | "session">

/** The time for which a client tries to finish what it has begun. */
const patienceMillis = 25_000

/** The part of the requests that go to a process which is paused, as a load balancer without health checks does. */
const pausedShare = 0.15

/** The number of streams that a client reads again at the end, and the time for which they can be read. */
const rereadCount = 20
const rereadMillis = 20_000

const levels = ["debug", "info", "warning", "error"]

/** The resources that all sessions subscribe to. */
const places = ["harbour", "bridge", "market", "station", "lighthouse"].map((name) => `fleet://${name}`)

export class Client {
  readonly name: string
  readonly principal: Principal
  readonly #world: World
  readonly #random: Random
  #known: Known = { principal: "ada", session: "", lastEventId: undefined, servedSince: 0 }
  #nextId = 1
  #nextMark = 1
  #isOver = false
  #streams: Pending | undefined
  /** The calls whose final response was stored: an early event of each, and the time of the response. */
  readonly #readable: Array<{ readonly first: string; readonly at: number }> = []

  constructor(name: string, principal: Principal, world: World, random: Random) {
    this.name = name
    this.principal = principal
    this.#world = world
    this.#random = random
  }

  get session(): string {
    return this.#known.session
  }

  get #isDone(): boolean {
    return this.#isOver || this.#world.isEnding
  }

  #mark(): string {
    return markOf(this.name, this.#nextMark++)
  }

  #place(): Place {
    const places = this.#world.places()
    const running = places.filter(({ isPaused }) => !isPaused)
    const chosen = this.#random.pick(this.#random.chance(pausedShare) || running.length === 0 ? places : running)
    // Nothing listens at port 1: the request is refused, as it is without a process.
    return chosen ?? { name: "none", port: 1 }
  }

  #begin(options: Options, session: string | undefined = this.session, to = this.#place()): Pending {
    return this.#world.recorder.send({ ...options, principal: this.principal, to, session })
  }

  /** Sends a request again until a process listens. */
  async #send(options: Options, onRequest?: (pending: Pending) => void): Promise<Exchange> {
    for (const end = performance.now() + patienceMillis;;) {
      const pending = this.#begin(options)
      onRequest?.(pending)
      const exchange = await pending.done
      if (exchange.ending !== "refused" || performance.now() > end) return exchange
      await sleep(100)
    }
  }

  /** Sends a message that may be sent twice, until a process has accepted it. */
  async #deliver(
    purpose: Purpose,
    message: unknown,
    isAway: (status: number) => boolean = (status) => status === 503
  ): Promise<Exchange> {
    for (const end = performance.now() + patienceMillis;;) {
      const exchange = await this.#send({ purpose, method: "POST", message, limitMillis: 3000 })
      const isDelivered = exchange.status !== undefined && !isAway(exchange.status) && exchange.ending === "complete"
      if (isDelivered || this.#isOver || performance.now() > end) return exchange
      await sleep(200)
    }
  }

  /** Opens the session. Returns whether it could. */
  async open(): Promise<boolean> {
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: { elicitation: {} },
      clientInfo: { name: this.name, version: "1" }
    }
    const message = { jsonrpc: "2.0", id: 0, method: "initialize", params }
    for (const end = performance.now() + patienceMillis; performance.now() < end && !this.#world.isEnding;) {
      const place = this.#place()
      const { recorder } = this.#world
      const exchange = await recorder.send({
        principal: this.principal,
        to: place,
        purpose: "open",
        method: "POST",
        message,
        limitMillis: 5000
      }).done
      if (exchange.status === 200 && exchange.ending === "complete" && exchange.opened !== undefined) {
        const { principal } = this
        this.#known = { principal, session: exchange.opened, lastEventId: undefined, servedSince: exchange.startedAt }
        await this.#deliver("ready", { jsonrpc: "2.0", method: "notifications/initialized" })
        this.#world.sessions.add(this.#known)
        return true
      }
      await sleep(200)
    }
    return false
  }

  async #answer(id: Message.Id, question: unknown): Promise<void> {
    // A late answer can arrive when another process owns the session.
    await sleep(this.#random.chance(0.2) ? this.#random.between(1500, 3500) : this.#random.between(0, 300))
    const result = { action: "accept", content: { answer: answerTo(question) } }
    await this.#deliver("answer", { jsonrpc: "2.0", id, result })
    if (this.#random.chance(0.2)) await this.#deliver("answer", { jsonrpc: "2.0", id, result })
  }

  /** Sends a request, resumes its stream as often as it breaks, and returns its final response. */
  async #call(
    method: string,
    params: Message.Json,
    options: CallOptions = {}
  ): Promise<Message.Message | undefined> {
    const id = options.id ?? this.#nextId++
    const { isCancelled = () => false, onRequest, onResumed } = options
    const answer = options.answer ?? ((id, question) => this.#answer(id, question))
    const asked = new Set<Message.Id>()
    const seen: Array<string> = []
    let final: Message.Message | undefined
    const onEvent = ({ data, id: eventId }: ReceivedEvent) => {
      options.onEvent?.()
      if (eventId !== undefined) seen.push(eventId)
      const message = Message.parse(data)
      if (message === undefined) return
      if (Message.isResponseTo(message, id)) {
        final = message
        const [first] = seen
        if (first !== undefined && eventId !== undefined) this.#readable.push({ first, at: performance.now() })
      }
      if (message.method === "elicitation/create" && message.id !== undefined && !asked.has(message.id)) {
        asked.add(message.id)
        void answer(message.id, message.params["message"])
      }
    }
    const silenceMillis = this.#random.between(2500, 6000)
    const meta = { _meta: { progressToken: id } }
    const message = { jsonrpc: "2.0", id, method, params: { ...params, ...meta } }
    const post = await this.#send({
      purpose: "call",
      method: "POST",
      message,
      onEvent,
      silenceMillis,
      ...(options.slowMillis === undefined ? undefined : { slowMillis: options.slowMillis, silenceMillis: 10_000 }),
      ...(options.limitMillis === undefined ? undefined : { limitMillis: options.limitMillis })
    }, onRequest)
    if (post.body !== "") final = Message.parse(post.body)
    const end = performance.now() + patienceMillis
    while (final === undefined && !this.#isOver && !isCancelled() && performance.now() < end) {
      const last = seen.at(-1)
      if (last === undefined) break
      await options.present?.()
      await sleep(this.#random.between(50, 300))
      if (this.#isOver || isCancelled()) break
      const { status } = await this.#send({
        purpose: "resume",
        method: "GET",
        lastEventId: last,
        onEvent,
        silenceMillis,
        ...(onResumed === undefined ? undefined : { onStatus: onResumed })
      }, onRequest)
      if (status !== undefined && status >= 400 && status !== 503) break
      if (status === 503) await sleep(300)
    }
    return final
  }

  #tool(name: string, input: Message.Json, options?: CallOptions) {
    return this.#call("tools/call", { name, arguments: input }, options)
  }

  /** Reads the standalone stream, for as long as the session lives. */
  async listen(): Promise<void> {
    const known = this.#known
    while (!this.#isOver && !(this.#world.isEnding && known.lastEventId !== undefined)) {
      const pending = this.#begin({
        purpose: "listen",
        method: "GET",
        lastEventId: known.lastEventId,
        silenceMillis: this.#random.between(3000, 6000),
        onEvent: ({ id }) => {
          if (id !== undefined) known.lastEventId = id
        }
      })
      this.#streams = pending
      const { status } = await pending.done
      // The stream is over: another one begins. After 400 as well, which the checker reports.
      if (status === 400 || status === 405) known.lastEventId = undefined
      await sleep(status === 200 ? this.#random.between(20, 200) : 300)
    }
  }

  /** Calls a tool at short intervals, whether earlier calls have returned or not. */
  async ping(): Promise<void> {
    const known = this.#known
    const echo = async () => {
      const startedAt = this.#world.recorder.now()
      const response = await this.#tool("echo", { text: this.#mark() }, { limitMillis: 3000 })
      if (response?.result !== undefined) known.servedSince = Math.max(known.servedSince, startedAt)
    }
    while (!this.#isDone) {
      void echo()
      await sleep(300)
    }
  }

  /** Sets log levels, and sends log messages, one after the other. */
  async logs(): Promise<void> {
    // A process that forgets it sends messages of all levels.
    await this.#call("logging/setLevel", { level: "error" })
    while (!this.#isDone) {
      if (this.#random.chance(0.15)) await this.#call("logging/setLevel", { level: this.#random.pick(levels) })
      else await this.#tool("log", { level: this.#random.pick(levels) ?? "info", text: this.#mark() })
      await sleep(this.#random.between(100, 500))
    }
  }

  /** Lets the tool ask, again and again. */
  async asks(): Promise<void> {
    while (!this.#isDone) {
      await this.#tool("ask", { question: this.#mark() })
      await sleep(this.#random.between(100, 500))
    }
  }

  /** Books one journey after the other. */
  async books(): Promise<void> {
    const caller: Booking.Caller = {
      random: this.#random.fork(),
      nextId: () => this.#nextId++,
      book: (city, options) => this.#tool("book", { city }, options),
      // An answer that was not accepted is sent again.
      deliver: (purpose, message) => this.#deliver(purpose, message, (status) => status >= 500),
      owner: async () => {
        const who = await this.#tool("who", {}, { limitMillis: 3000 })
        return who === undefined ? undefined : Message.textOf(who)
      },
      onMoment: this.#world.onMoment
    }
    while (!this.#isDone) {
      await Booking.book(caller, this.#mark())
      await sleep(this.#random.between(100, 500))
    }
  }

  /** Tries to use sessions of the other principal, again and again. */
  async trespasses(): Promise<void> {
    while (!this.#isDone) {
      await sleep(this.#random.between(400, 800))
      await this.#trespass()
    }
  }

  /** Begins a call that takes this time, and waits until it runs: a later message could overtake it otherwise. */
  async #begun(ms: number, options: { readonly id: number; readonly isCancelled?: () => boolean }) {
    let onBegun = () => {}
    const begun = new Promise<void>((resolve) => {
      onBegun = resolve
    })
    const call = this.#tool("slow", { ms }, { ...options, onEvent: () => onBegun() })
    await Promise.race([begun, call])
    return { call }
  }

  async #cancel(): Promise<void> {
    const id = this.#nextId++
    let isCancelled = false
    const { call } = await this.#begun(3000, { id, isCancelled: () => isCancelled })
    await sleep(this.#random.between(0, 500))
    // From now on the client does not resume the stream.
    isCancelled = true
    const params = { requestId: id, reason: "enough" }
    await this.#deliver("cancel", { jsonrpc: "2.0", method: "notifications/cancelled", params })
    await call
  }

  async #duplicate(): Promise<void> {
    const id = this.#nextId++
    const { call } = await this.#begun(1000, { id })
    const params = { name: "echo", arguments: { text: this.#mark() } }
    const message = { jsonrpc: "2.0", id, method: "tools/call", params }
    await this.#begin({ purpose: "duplicate", method: "POST", message, limitMillis: 5000 }).done
    await call
  }

  /** Returns an early event of each of the newest streams. The store deletes older ones. */
  #stored(count: number): ReadonlyArray<string> {
    const since = performance.now() - rereadMillis
    return this.#readable.slice(-count).filter(({ at }) => at > since).map(({ first }) => first)
  }

  async #reread(lastEventId = this.#random.pick(this.#stored(5))): Promise<void> {
    if (lastEventId === undefined) return
    await this.#begin({ purpose: "reread", method: "GET", lastEventId, limitMillis: 3000 }).done
  }

  /** Tries to use the session of another principal, in the same way as one that does not exist. */
  async #trespass(): Promise<void> {
    const others = [...this.#world.sessions].filter(({ principal }) => principal !== this.principal)
    const other = this.#random.pick(others)
    if (other === undefined) return
    // Longer than a process looks for the owner of a session.
    const limitMillis = 6000
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "who", arguments: {} } }
    const cancel = {
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: this.#random.between(1, 99) }
    }
    const forms: ReadonlyArray<Options> = [
      { purpose: "foreign", method: "POST", message: call, limitMillis },
      { purpose: "foreign", method: "POST", message: cancel, limitMillis },
      { purpose: "foreign", method: "GET", limitMillis },
      { purpose: "foreign", method: "GET", lastEventId: other.lastEventId, limitMillis },
      { purpose: "foreign", method: "DELETE", limitMillis }
    ]
    const form = this.#random.pick(forms)
    if (form === undefined) return
    // In the same moment and at the same process: both have the same answer, whatever is broken.
    const place = this.#place()
    await Promise.all([
      this.#begin({ ...form, purpose: "unknown" }, randomUUID(), place).done,
      this.#begin(form, other.session, place).done
    ])
    if (other.lastEventId === undefined) return
    const foreign = { method: "GET", limitMillis } as const
    await this.#begin({ ...foreign, purpose: "unknown-event", lastEventId: "0-0.0" }).done
    await this.#begin({ ...foreign, purpose: "foreign-event", lastEventId: other.lastEventId }).done
  }

  /** Does one thing after the other. */
  async work(): Promise<void> {
    for (const uri of places) await this.#call("resources/subscribe", { uri })
    const things: ReadonlyArray<readonly [weight: number, thing: () => Promise<unknown>]> = [
      [3, () => this.#tool("slow", { ms: this.#random.between(2, 25) * 100 })],
      [1, () => this.#tool("echo", { text: this.#mark() + "x".repeat(1_500_000) }, { slowMillis: 2000 })],
      [2, () => this.#cancel()],
      [2, () => this.#duplicate()],
      [2, () => this.#reread()],
      [4, () => this.#tool("touch", { uri: this.#random.pick(places) })]
    ]
    const all = things.flatMap(([weight, thing]) => Array.from({ length: weight }, () => thing))
    while (!this.#isDone) {
      await this.#random.pick(all)?.()
      await sleep(this.#random.between(0, 150))
    }
  }

  /** Ends the session, and looks for it at every process. */
  async delete(): Promise<void> {
    this.#world.sessions.delete(this.#known)
    this.#isOver = true
    for (const end = performance.now() + patienceMillis; performance.now() < end;) {
      const { ending, status } = await this.#send({ purpose: "delete", method: "DELETE", limitMillis: 5000 })
      if (status !== undefined && status !== 503 && ending === "complete") break
      await sleep(200)
    }
    this.#streams?.abandon()
    for (const place of this.#world.places()) await this.#lookAt(place)
  }

  #lookAt(to: Place): Promise<Exchange> {
    const { principal, session } = this
    const params = { name: "echo", arguments: { text: this.#mark() } }
    const message = { jsonrpc: "2.0", id: this.#nextId++, method: "tools/call", params }
    const sent = { principal, session, to, message, purpose: "call", method: "POST", limitMillis: 5000 } as const
    return this.#world.recorder.send(sent).done
  }

  /** Uses the session once at every process, and reads streams again, at the end of a run without faults. */
  async visit(): Promise<void> {
    if (this.#isOver) return
    // What a store has of a call is what its client received.
    for (const first of this.#stored(rereadCount)) await this.#reread(first)
    for (const place of this.#world.places()) await this.#lookAt(place)
  }

  /** Ends the streams. */
  close(): void {
    this.#isOver = true
    this.#streams?.abandon()
  }
}
