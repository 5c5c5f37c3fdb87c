/**
 * A client of a fleet: a model that sends each request to the process that its script names, and resumes streams,
 * answers questions and sends again only when it is told to. It shares nothing with the library.
 */
import { exchangeHeader } from "./exchangeHeader.ts"
import type { ClientEvent, Message, RequestKind } from "./History.ts"
import * as Messages from "./Messages.ts"
import * as Network from "./Network.ts"
import type { Command } from "./Script.ts"
import type { World } from "./World.ts"

type Of<Tag extends Command["_tag"]> = Extract<Command, { readonly _tag: Tag }>

const protocolVersion = "2025-11-25"

/** A stream of the server, as far as the client has received it. */
interface ReceivedStream {
  /** The request that the stream answers; `undefined` for the standalone stream. */
  readonly call: Call | undefined
  firstEvent: string | undefined
  lastEvent: string | undefined
  /** Whether a connection carries it now. */
  isConnected: boolean
}

/** A request of a client. */
interface Call {
  readonly id: number
  readonly nonce: number
  readonly tool: string
  /** Whether it has its final response, or cannot get one any more. */
  isDone: boolean
}

/** A question of the server. */
interface Question {
  readonly id: string
  readonly nonce: number
  isOpen: boolean
  /** The number of answers that the client has sent. */
  answers: number
}

/** A session of a client. */
class Session {
  /** The session id, from the response to `initialize` on. */
  id: string | undefined = undefined
  name: string | undefined = undefined
  /** Whether the server has accepted the end of the handshake. */
  isReady = false
  isDeleted = false
  nextId = 1
  readonly calls: Array<Call> = []
  readonly streams: Array<ReceivedStream> = []
  readonly questions: Array<Question> = []
}

/** A request that the client sends, and what it does with the response. */
interface Outgoing {
  readonly kind: RequestKind
  readonly slot: number
  readonly session: Session
  readonly method: "POST" | "GET" | "DELETE"
  readonly body?: string | undefined
  readonly id?: number | undefined
  readonly nonce?: number | undefined
  readonly detail?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly isIntruder?: boolean
  readonly stream?: ReceivedStream | undefined
  readonly responded?: (status: number, headers: Readonly<Record<string, string>>) => void
  readonly received?: (message: Message) => void
  readonly over?: () => void
}

/** Returns the text of an answer. Each one to a question has its own. */
const answerTo = ({ answers, nonce }: Question): string => `answer ${answers} to ${nonce}`

export class ModelClient {
  readonly number: number
  readonly #world: World
  readonly #network: Network.Network
  /** Returns the address of the process in a slot. */
  readonly #addressOf: (slot: number) => string
  readonly #sessions: Array<Session> = []
  readonly #connections = new Set<() => void>()

  constructor(number: number, world: World, network: Network.Network, addressOf: (slot: number) => string) {
    this.number = number
    this.#world = world
    this.#network = network
    this.#addressOf = addressOf
  }

  /** The session that commands are about. */
  get #session(): Session | undefined {
    return this.#sessions.at(-1)
  }

  /** Whether the client has a session that it has not ended. */
  get hasSession(): boolean {
    return this.#ready !== undefined
  }

  get #ready(): Session | undefined {
    const session = this.#session
    return session?.id !== undefined && session.isReady && !session.isDeleted ? session : undefined
  }

  initialize(slot: number): void {
    const known = this.#session
    if (known !== undefined && !known.isDeleted && known.id !== undefined) return
    const session = new Session()
    this.#sessions.push(session)
    this.#send({
      kind: "initialize",
      slot,
      session,
      method: "POST",
      id: 0,
      body: Messages.request(0, "initialize", {
        protocolVersion,
        capabilities: { elicitation: {} },
        clientInfo: { name: "model", version: "1.0.0" }
      }),
      responded: (status, headers) => {
        const id = headers["mcp-session-id"]
        if (status !== 200 || id === undefined) return
        session.id = id
        session.name = this.#world.nameOf("session", id)
        this.#finishHandshake(session, slot)
      }
    })
  }

  #finishHandshake(session: Session, slot: number): void {
    this.#send({
      kind: "initialized",
      slot,
      session,
      method: "POST",
      body: Messages.notification("notifications/initialized"),
      responded: (status) => {
        if (status === 202) session.isReady = true
      }
    })
  }

  /** Sends the end of each handshake again that the server has not accepted. */
  finishHandshakes(slot: number): void {
    const session = this.#session
    if (session?.id !== undefined && !session.isReady && !session.isDeleted) this.#finishHandshake(session, slot)
  }

  call(slot: number, tool: string, kind: "call" | "probe" = "call"): void {
    const session = this.#ready
    if (session === undefined) return
    const call: Call = { id: session.nextId++, nonce: this.#world.nextNonce(), tool, isDone: false }
    session.calls.push(call)
    this.#post(session, call, slot, kind)
  }

  /** Sends the last call again. */
  repeat(slot: number): void {
    const session = this.#ready
    const call = session?.calls.at(-1)
    if (session !== undefined && call !== undefined) this.#post(session, call, slot, "call")
  }

  #post(session: Session, call: Call, slot: number, kind: "call" | "probe"): void {
    const { id, nonce, tool } = call
    this.#send({
      kind,
      slot,
      session,
      method: "POST",
      id,
      nonce,
      detail: tool,
      body: callOf(call),
      stream: { call, firstEvent: undefined, lastEvent: undefined, isConnected: true }
    })
  }

  answer(slot: number, which: Of<"Answer">["which"]): void {
    const session = this.#ready
    if (session === undefined) return
    const open = session.questions.filter(({ isOpen }) => isOpen)
    const question = which === "First"
      ? open[0]
      : which === "Last"
      ? open.at(-1)
      : session.questions.findLast(({ isOpen }) => !isOpen)
    if (question !== undefined) this.#answer(session, question, slot)
  }

  #answer(session: Session, question: Question, slot: number): void {
    const { id, nonce } = question
    question.answers++
    const text = answerTo(question)
    this.#send({
      kind: "answer",
      slot,
      session,
      method: "POST",
      nonce,
      detail: text,
      body: Messages.answer(id, text),
      responded: (status) => {
        if (status === 202) question.isOpen = false
      }
    })
  }

  /** Answers all open questions. */
  answerAll(slotOf: () => number): void {
    const session = this.#ready
    for (const question of session?.questions ?? []) {
      if (session !== undefined && question.isOpen) this.#answer(session, question, slotOf())
    }
  }

  cancel(slot: number): void {
    const session = this.#ready
    const call = session?.calls.findLast(({ isDone }) => !isDone)
    if (session === undefined || call === undefined) return
    this.#send({
      kind: "cancel",
      slot,
      session,
      method: "POST",
      nonce: call.nonce,
      body: Messages.notification("notifications/cancelled", { requestId: call.id }),
      responded: (status) => {
        // A cancelled request has no response.
        if (status === 202) call.isDone = true
      }
    })
  }

  resume(slot: number, which: Of<"Resume">["which"]): void {
    const session = this.#ready
    if (session === undefined) return
    const broken = session.streams.filter(isBroken)
    const stream = which === "First"
      ? broken[0]
      : which === "Last"
      ? broken.at(-1)
      : session.streams.findLast(({ firstEvent }) => firstEvent !== undefined)
    if (stream !== undefined) this.#resume(session, stream, slot, which === "Again")
  }

  #resume(session: Session, stream: ReceivedStream, slot: number, again: boolean): void {
    const after = again ? stream.firstEvent : stream.lastEvent
    if (after === undefined) return
    stream.isConnected = true
    this.#send({
      kind: "resume",
      slot,
      session,
      method: "GET",
      id: stream.call?.id,
      nonce: stream.call?.nonce,
      headers: { "last-event-id": after },
      stream,
      responded: (status) => {
        if (status >= 400 && status < 500 && stream.call?.isDone === false) {
          stream.call.isDone = true
          this.#unfinished(session, stream.call, `resuming its stream was answered with ${status}`)
        }
        // The standalone stream is lost as well. The client would open another one.
        if (status >= 400 && status < 500) stream.lastEvent = undefined
      }
    })
  }

  /** Resumes all streams whose connections have broken. */
  resumeAll(slotOf: () => number): void {
    const session = this.#ready
    for (const stream of session?.streams ?? []) {
      if (session !== undefined && isBroken(stream)) this.#resume(session, stream, slotOf(), false)
    }
  }

  listen(slot: number): void {
    const session = this.#ready
    if (session === undefined) return
    this.#send({
      kind: "listen",
      slot,
      session,
      method: "GET",
      stream: { call: undefined, firstEvent: undefined, lastEvent: undefined, isConnected: true }
    })
  }

  subscribe(slot: number, isOn: boolean, uri: string): void {
    const session = this.#ready
    if (session === undefined) return
    const id = session.nextId++
    const method = isOn ? "resources/subscribe" : "resources/unsubscribe"
    const body = Messages.request(id, method, { uri })
    this.#send({ kind: "subscribe", slot, session, method: "POST", id, detail: isOn ? "on" : "off", body })
  }

  setLevel(slot: number, level: string): void {
    const session = this.#ready
    if (session === undefined) return
    const id = session.nextId++
    const body = Messages.request(id, "logging/setLevel", { level })
    this.#send({ kind: "setLevel", slot, session, method: "POST", id, detail: level, body })
  }

  delete(slot: number): void {
    const session = this.#ready
    if (session === undefined) return
    this.#send({
      kind: "delete",
      slot,
      session,
      method: "DELETE",
      responded: (status) => {
        if (status === 204) session.isDeleted = true
      }
    })
  }

  /** Calls the last session that was ended. */
  callDeleted(slot: number): void {
    const session = this.#sessions.findLast(({ isDeleted }) => isDeleted)
    if (session === undefined) return
    const call: Call = { id: session.nextId++, nonce: this.#world.nextNonce(), tool: "echo", isDone: true }
    this.#post(session, call, slot, "probe")
  }

  /** Uses the session of another client. */
  intrude(slot: number, by: Of<"Intrude">["by"], victim: ModelClient): void {
    const session = victim.#ready
    if (session?.id === undefined) return
    const own: Session = new Session()
    own.id = session.id
    own.name = session.name
    const sent = { slot, session: own, detail: by, isIntruder: true }
    const question = session.questions.findLast(({ isOpen }) => isOpen)
    const call = session.calls.findLast(({ isDone }) => !isDone)
    const after = session.streams.findLast(({ firstEvent }) => firstEvent !== undefined)?.firstEvent
    switch (by) {
      case "Call": {
        const nonce = this.#world.nextNonce()
        const body = callOf({ id: 1_000_000 + nonce, nonce, tool: "echo" })
        return this.#send({ ...sent, kind: "call", method: "POST", id: 1_000_000 + nonce, nonce, body })
      }
      case "Answer":
        if (question === undefined) return
        return this.#send({ ...sent, kind: "answer", method: "POST", body: Messages.answer(question.id, "forged") })
      case "Cancel": {
        if (call === undefined) return
        const body = Messages.notification("notifications/cancelled", { requestId: call.id })
        return this.#send({ ...sent, kind: "cancel", method: "POST", body })
      }
      case "Listen":
        return this.#send({ ...sent, kind: "listen", method: "GET" })
      case "Resume":
        if (after === undefined) return
        return this.#send({ ...sent, kind: "resume", method: "GET", headers: { "last-event-id": after } })
      case "Delete":
        return this.#send({ ...sent, kind: "delete", method: "DELETE" })
    }
  }

  /** Breaks all connections. */
  breakAll(): void {
    for (const close of Array.from(this.#connections)) close()
  }

  /** Records the requests without an end. */
  finish(): void {
    for (const session of this.#sessions) {
      for (const call of session.calls) {
        if (!call.isDone) this.#unfinished(session, call, "it has no end")
      }
    }
  }

  #unfinished(session: Session, { id }: Call, why: string): void {
    this.#world.record({ _tag: "Unfinished", session: session.name ?? "", id, why })
  }

  #record(event: ClientEvent): void {
    this.#world.events.push({ at: this.#world.runtime.now(), client: this.number, ...event })
  }

  #send(outgoing: Outgoing): void {
    const { body, detail, headers, id, isIntruder = false, kind, method, nonce, session, slot } = outgoing
    const exchange = this.#world.nextExchange()
    this.#record({
      _tag: "Sent",
      exchange,
      kind,
      session: session.name,
      slot,
      id,
      nonce,
      ...(detail === undefined ? {} : { detail }),
      isIntruder
    })
    const stream = isIntruder ? undefined : outgoing.stream
    const reader = new Messages.EventStreamReader()
    let isEventStream = false
    let text = ""
    const decoder = new TextDecoder()
    const receive = (data: string, event: string | undefined): void => {
      const message = Messages.read(data)
      if (message === undefined) return
      this.#record({
        _tag: "Received",
        exchange,
        session: session.name,
        event: event === undefined ? undefined : this.#world.nameOf("event", event),
        message
      })
      if (!isIntruder) this.#receive(session, outgoing, message)
    }
    const over = (): void => {
      this.#connections.delete(disconnect)
      if (stream === undefined) return
      stream.isConnected = false
      const { call } = stream
      // Without an event id, nothing can be resumed. The outcome is unknown.
      if (call !== undefined && stream.lastEvent === undefined) call.isDone = true
    }
    const close = this.#network.send(Network.client, this.#addressOf(slot), {
      method,
      headers: {
        accept: method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
        authorization: `Bearer token-${this.number}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(session.id === undefined
          ? {}
          : { "mcp-session-id": session.id, "mcp-protocol-version": protocolVersion }),
        [exchangeHeader]: String(exchange),
        ...headers
      },
      body
    }, {
      connected: () => {},
      head: (status, received) => {
        this.#record({ _tag: "Responded", exchange, status, retryAfter: received["retry-after"] !== undefined })
        isEventStream = received["content-type"]?.startsWith("text/event-stream") === true
        if (stream !== undefined && isEventStream && !session.streams.includes(stream)) session.streams.push(stream)
        outgoing.responded?.(status, received)
      },
      data: (bytes) => {
        if (!isEventStream) {
          text += decoder.decode(bytes, { stream: true })
          return
        }
        for (const { data, id } of reader.read(bytes)) {
          if (stream !== undefined && id !== undefined) {
            stream.firstEvent ??= id
            stream.lastEvent = id
          }
          if (data !== "") receive(data, id)
        }
      },
      end: () => {
        if (!isEventStream && text !== "") receive(text, undefined)
        this.#record({ _tag: "Completed", exchange })
        over()
      },
      broken: (isRefused) => {
        this.#record({ _tag: "Broke", exchange, isRefused })
        over()
      }
    })
    const disconnect = () => {
      close()
      this.#record({ _tag: "Broke", exchange, isRefused: false })
      over()
    }
    this.#connections.add(disconnect)
  }

  #receive(session: Session, { stream }: Outgoing, message: Message): void {
    switch (message._tag) {
      case "Result":
      case "Error": {
        const call = session.calls.find(({ id }) => id === message.id)
        // The same id can be sent again, and rejected while the first one runs.
        if (call !== undefined && (stream === undefined || stream.call === call)) call.isDone = true
        return
      }
      case "Question":
        if (session.questions.some(({ id }) => id === message.id)) return
        session.questions.push({ id: message.id, nonce: message.nonce, isOpen: true, answers: 0 })
        return
      case "Cancelled":
        for (const question of session.questions) if (question.id === message.id) question.isOpen = false
    }
  }
}

const isBroken = ({ call, isConnected, lastEvent }: ReceivedStream): boolean =>
  !isConnected && lastEvent !== undefined && call?.isDone !== true

const callOf = ({ id, nonce, tool }: Pick<Call, "id" | "nonce" | "tool">): string =>
  Messages.request(id, "tools/call", { name: tool, arguments: { nonce }, _meta: { progressToken: nonce } })
