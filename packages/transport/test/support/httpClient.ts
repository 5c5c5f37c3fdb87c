/** A raw HTTP client of Streamable HTTP, which records the responses as they arrive on the connection. */
import type { Revision } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as http from "node:http"
import { until } from "./process.ts"
import { info } from "./server.ts"

/** One event of a stream, unparsed. */
export interface Event {
  readonly id: string | undefined
  readonly data: string
}

const fieldsOf = (block: string, name: string): ReadonlyArray<string> =>
  block.split("\n").filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trim())

/** A response, as far as it has arrived. */
export class ReceivedResponse {
  status = 0
  headers: http.IncomingHttpHeaders = {}
  text = ""
  /** Whether the whole body has arrived. */
  ended = false
  /** Whether the connection is closed. */
  isClosed = false
  response: http.IncomingMessage | undefined
  readonly request: http.ClientRequest

  constructor(request: http.ClientRequest) {
    this.request = request
    request.on("error", () => {})
    request.on("close", () => {
      this.isClosed = true
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

  /** The complete blocks of the stream. */
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

  /** The messages of the JSON body, or of the events. */
  get messages(): ReadonlyArray<Message> {
    if (!this.isStream) return this.text === "" ? [] : [JSON.parse(this.text)]
    return this.events.filter(({ data }) => data !== "").map(({ data }) => JSON.parse(data))
  }

  /** Breaks the connection, as a network does. */
  disconnect(): void {
    this.request.destroy()
  }

  /** Stops reading, until `response.resume()` is called. */
  stall(): void {
    this.response?.pause()
  }

  /** Waits for the status and the headers, or for the end of the connection. */
  readonly awaitHeaders = until(() => this.status !== 0 || this.isClosed)
  /** Waits for the end of the body, or of the connection. */
  readonly awaitEnd = until(() => this.ended || this.isClosed)
  /** Waits until this many messages have arrived, or for the end of the connection. */
  awaitMessages(count: number) {
    return until(() => this.messages.length >= count || this.isClosed)
  }
}

/** The members of a message that tests read. */
export interface Message {
  readonly jsonrpc?: string
  readonly id?: string | number | null
  readonly method?: string
  readonly params?: { readonly [name: string]: unknown }
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

export interface RequestOptions {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  /** A body that is sent as it is. */
  readonly raw?: string | Buffer
  readonly agent?: http.Agent
}

const unfinished = new Set<ReceivedResponse>()

/** Returns the number of these responses that have not ended, and whose connection is open. */
export const countOpen = (responses: ReadonlyArray<ReceivedResponse>): number =>
  responses.filter((one) => unfinished.has(one)).length

/** Sends a request on its own connection, and does not wait for the response. */
const sendUnscoped = ({ port }: { readonly port: number }, options: RequestOptions): ReceivedResponse => {
  const { agent, body, headers, method = "POST", path = "/mcp", raw } = options
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
  const received = new ReceivedResponse(request)
  unfinished.add(received)
  request.on("close", () => unfinished.delete(received))
  request.end(bytes)
  return received
}

/** Sends a request, and does not wait for the response. Closing the scope breaks the connection. */
export const send = (
  server: { readonly port: number },
  options: RequestOptions
): Effect.Effect<ReceivedResponse, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => sendUnscoped(server, options)),
    (received) => Effect.sync(() => received.disconnect())
  )

/** Sends a request, and waits for the whole response. Closing the scope breaks the connection. */
export const exchange = Effect.fnUntraced(function*(server: { readonly port: number }, options: RequestOptions) {
  const received = yield* send(server, options)
  yield* received.awaitEnd
  return received
})

export const initialize = (revision: string, capabilities: object = {}) => ({
  jsonrpc: "2.0",
  id: "init",
  method: "initialize",
  params: { protocolVersion: revision, capabilities, clientInfo: info }
})

export interface ClientOptions {
  readonly revision?: Revision.LegacyRevision
  readonly capabilities?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** The client of one session. */
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

  /** Sends a request of the session, and does not wait for the response. */
  send(options: RequestOptions): Effect.Effect<ReceivedResponse> {
    const headers = { "mcp-session-id": this.id, ...this.headers, ...options.headers }
    return Scope.provide(send(this.server, { ...options, headers }), this.scope)
  }

  /** Sends a request of the session, and waits for the whole response. */
  exchange(options: RequestOptions): Effect.Effect<ReceivedResponse> {
    return Effect.tap(this.send(options), ({ awaitEnd }) => awaitEnd)
  }

  /** Calls a tool, and does not wait for the response. */
  call(
    id: string | number,
    name: string,
    args: object = {},
    headers?: RequestOptions["headers"]
  ): Effect.Effect<ReceivedResponse> {
    const body = {
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name, arguments: args, _meta: { progressToken: id } }
    }
    return this.send({ body, ...(headers === undefined ? undefined : { headers }) })
  }

  /** Opens the standalone stream, or resumes a stream after one of its events. Waits for the headers. */
  get(after?: string, headers?: RequestOptions["headers"]): Effect.Effect<ReceivedResponse> {
    return Effect.tap(
      this.send({
        method: "GET",
        headers: { ...(after === undefined ? undefined : { "last-event-id": after }), ...headers }
      }),
      ({ awaitHeaders }) => awaitHeaders
    )
  }

  notify(method: string, params: object = {}): Effect.Effect<ReceivedResponse> {
    return this.exchange({ body: { jsonrpc: "2.0", method, params } })
  }

  ping(id: string | number = "ping"): Effect.Effect<ReceivedResponse> {
    return this.exchange({ body: { jsonrpc: "2.0", id, method: "ping" } })
  }

  /** Responds to a request of the server. */
  respond(id: unknown, result: object): Effect.Effect<ReceivedResponse> {
    return this.exchange({ body: { jsonrpc: "2.0", id, result } })
  }

  get delete(): Effect.Effect<ReceivedResponse> {
    return this.exchange({ method: "DELETE" })
  }
}

/** Opens a session, with the whole handshake. */
export const connect = Effect.fnUntraced(function*(
  server: { readonly port: number },
  { capabilities, headers = {}, revision = "2025-11-25" }: ClientOptions = {}
): Effect.fn.Return<Client, never, Scope.Scope> {
  const response = yield* exchange(server, { body: initialize(revision, capabilities), headers })
  const id = response.headers["mcp-session-id"]
  if (typeof id !== "string") {
    return yield* Effect.die(new Error(`initialize was answered with ${response.status} ${response.text}`))
  }
  const client = new Client(server, id, { "mcp-protocol-version": revision, ...headers }, yield* Effect.scope)
  yield* client.notify("notifications/initialized")
  return client
})
