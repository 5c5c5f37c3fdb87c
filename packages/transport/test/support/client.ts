/** A client that speaks HTTP by hand, and sees what really comes over the wire. */
import type { Revision } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as http from "node:http"
import { until } from "../fixtures/process.ts"
import { info } from "./server.ts"

/** One event of a stream, as it stands there. */
export interface Event {
  readonly id: string | undefined
  readonly data: string
}

const fieldsOf = (block: string, name: string): ReadonlyArray<string> =>
  block.split("\n").filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trim())

/** A response, as far as it has come. */
export class Answer {
  status = 0
  headers: http.IncomingHttpHeaders = {}
  text = ""
  /** It came to its end as it should. */
  ended = false
  /** Its connection is gone. */
  gone = false
  response: http.IncomingMessage | undefined
  readonly request: http.ClientRequest

  constructor(request: http.ClientRequest) {
    this.request = request
    request.on("error", () => {})
    request.on("close", () => {
      this.gone = true
    })
    request.on("response", (response) => {
      this.response = response
      this.status = response.statusCode ?? 0
      this.headers = response.headers
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => {
        this.text += chunk
      })
      response.on("error", () => {})
      response.on("end", () => {
        this.ended = response.complete
      })
    })
  }

  /** The blocks of the stream that are whole. */
  get blocks(): ReadonlyArray<string> {
    return this.text.split("\n\n").slice(0, -1)
  }

  get events(): ReadonlyArray<Event> {
    return this.blocks.flatMap((block) => {
      const data = fieldsOf(block, "data")
      return data.length === 0 ? [] : [{ id: fieldsOf(block, "id").at(0), data: data.join("\n") }]
    })
  }

  get lastId(): string | undefined {
    return this.events.findLast(({ id }) => id !== undefined)?.id
  }

  get retries(): ReadonlyArray<string> {
    return this.blocks.flatMap((block) => fieldsOf(block, "retry"))
  }

  get comments(): ReadonlyArray<string> {
    return this.blocks.filter((block) => block.startsWith(":"))
  }

  get isStream(): boolean {
    return this.headers["content-type"]?.startsWith("text/event-stream") === true
  }

  /** What was said, in JSON or in events. */
  get messages(): ReadonlyArray<Message> {
    if (!this.isStream) return this.text === "" ? [] : [JSON.parse(this.text)]
    return this.events.filter(({ data }) => data !== "").map(({ data }) => JSON.parse(data))
  }

  /** Breaks the connection off, as a network does. */
  cut(): void {
    this.request.destroy()
  }

  /** Takes nothing any more, until it does again. */
  stall(): void {
    this.response?.pause()
  }

  readonly begun = until(() => this.status !== 0 || this.gone)
  readonly done = until(() => this.ended || this.gone)
  said(count: number) {
    return until(() => this.messages.length >= count || this.gone)
  }
}

/** As much of a message as tests look at. */
export interface Message {
  readonly jsonrpc?: string
  readonly id?: string | number | null
  readonly method?: string
  readonly params?: { readonly [name: string]: unknown }
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string }
}

export interface Ask {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  /** A body that is sent as it is. */
  readonly raw?: string | Buffer
  readonly agent?: http.Agent
}

const unfinished = new Set<Answer>()

/** How many responses of these are still open: begun or awaited, and neither at their end nor without a connection. */
export const openOf = (answers: ReadonlyArray<Answer>): number => answers.filter((one) => unfinished.has(one)).length

/** Sends a request on a connection of its own, and does not wait for the answer. */
export const send = ({ port }: { readonly port: number }, ask: Ask): Answer => {
  const { agent, body, headers, method = "POST", path = "/mcp", raw } = ask
  const bytes = raw ?? (body === undefined ? undefined : JSON.stringify(body))
  const all: Record<string, string | undefined> = {
    ...(method === "POST" ? { "content-type": "application/json" } : undefined),
    ...(bytes === undefined ? undefined : { "content-length": String(Buffer.byteLength(bytes)) }),
    accept: method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
    ...headers
  }
  const request = http.request({
    host: "127.0.0.1",
    port,
    path,
    method,
    agent: agent ?? false,
    headers: Object.fromEntries(
      Object.entries(all).flatMap(([name, value]) => value === undefined ? [] : [[name, value]])
    )
  })
  const answer = new Answer(request)
  unfinished.add(answer)
  request.on("close", () => unfinished.delete(answer))
  request.end(bytes)
  return answer
}

/** Sends a request and waits for all of the answer. What is open when the scope closes is cut. */
export const ask = Effect.fnUntraced(function*(server: { readonly port: number }, asked: Ask) {
  const answer = yield* listen(server, asked)
  yield* answer.done
  return answer
})

/** Sends a request and does not wait. It is cut when the scope closes. */
export const listen = (
  server: { readonly port: number },
  asked: Ask
): Effect.Effect<Answer, never, Scope.Scope> =>
  Effect.acquireRelease(Effect.sync(() => send(server, asked)), (answer) => Effect.sync(() => answer.cut()))

export const initialize = (revision: string, capabilities: object = {}) => ({
  jsonrpc: "2.0",
  id: "init",
  method: "initialize",
  params: { protocolVersion: revision, capabilities, clientInfo: info }
})

export interface ClientOptions {
  readonly revision?: Revision.Revision
  readonly capabilities?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** The client's side of one session. */
export class Client {
  readonly server: { readonly port: number }
  readonly id: string
  readonly headers: Readonly<Record<string, string>>
  readonly scope: Scope.Scope

  constructor(
    server: { readonly port: number },
    id: string,
    headers: Readonly<Record<string, string>>,
    scope: Scope.Scope
  ) {
    this.server = server
    this.id = id
    this.headers = headers
    this.scope = scope
  }

  #ask(asked: Ask): Ask {
    return { ...asked, headers: { "mcp-session-id": this.id, ...this.headers, ...asked.headers } }
  }

  /** Sends something, and does not wait for its answer. */
  send(asked: Ask): Effect.Effect<Answer> {
    return Scope.provide(listen(this.server, this.#ask(asked)), this.scope)
  }

  ask(asked: Ask): Effect.Effect<Answer> {
    return Effect.tap(this.send(asked), (answer) => answer.done)
  }

  /** Calls a tool, and does not wait for its answer. */
  call(id: string | number, name: string, args: object = {}, headers?: Ask["headers"]): Effect.Effect<Answer> {
    const body = {
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name, arguments: args, _meta: { progressToken: id } }
    }
    return this.send({ body, ...(headers === undefined ? undefined : { headers }) })
  }

  /** Listens to the standalone stream, or behind an event of any. */
  get(after?: string, headers?: Ask["headers"]): Effect.Effect<Answer> {
    return Effect.tap(
      this.send({
        method: "GET",
        headers: { ...(after === undefined ? undefined : { "last-event-id": after }), ...headers }
      }),
      (answer) => answer.begun
    )
  }

  tell(method: string, params: object = {}): Effect.Effect<Answer> {
    return this.ask({ body: { jsonrpc: "2.0", method, params } })
  }

  ping(id: string | number = "ping"): Effect.Effect<Answer> {
    return this.ask({ body: { jsonrpc: "2.0", id, method: "ping" } })
  }

  /** Answers a request of the server's. */
  reply(id: unknown, result: object): Effect.Effect<Answer> {
    return this.ask({ body: { jsonrpc: "2.0", id, result } })
  }

  get delete(): Effect.Effect<Answer> {
    return this.ask({ method: "DELETE" })
  }
}

/** Shakes hands. */
export const connect = Effect.fnUntraced(function*(
  server: { readonly port: number },
  { capabilities, headers = {}, revision = "2025-11-25" }: ClientOptions = {}
): Effect.fn.Return<Client, never, Scope.Scope> {
  const answer = yield* ask(server, { body: initialize(revision, capabilities), headers })
  const id = answer.headers["mcp-session-id"]
  if (typeof id !== "string") {
    return yield* Effect.die(new Error(`initialize was answered with ${answer.status} ${answer.text}`))
  }
  const client = new Client(server, id, { "mcp-protocol-version": revision, ...headers }, yield* Effect.scope)
  yield* client.tell("notifications/initialized")
  return client
})
