/** A server of HTTP+SSE on a real socket, and a raw client of it. */
import type { Revision } from "@effect-mcp/protocol"
import { HttpSseServer } from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { exchange, initialize, type Message, type ReceivedResponse, type RequestOptions, send } from "./httpClient.ts"
import { until } from "./process.ts"
import { type ServerHandlers, serveWith, type Settings } from "./server.ts"

export interface SseSettings extends Omit<Settings, "http"> {
  readonly sse?: Omit<HttpSseServer.NodeOptions, "port">
}

/** Serves at the default paths, on this machine. */
export const serveSse = (handlers: ServerHandlers, settings: SseSettings = {}) =>
  serveWith(HttpSseServer.layerNode({ port: 0, ...settings.sse }), handlers, settings)

/** One event, with its type. */
export interface TypedEvent {
  readonly type: string
  readonly data: string
}

const fieldOf = (block: string, name: string): string | undefined =>
  block.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)

/** Returns the events that have arrived on a stream. */
export const eventsOf = ({ blocks }: ReceivedResponse): ReadonlyArray<TypedEvent> =>
  blocks.flatMap((block) => {
    const data = fieldOf(block, "data")
    return data === undefined ? [] : [{ type: fieldOf(block, "event") ?? "message", data }]
  })

/** The client of one session. */
export class SseClient {
  readonly server: { readonly port: number }
  readonly stream: ReceivedResponse
  readonly headers: Readonly<Record<string, string>>

  constructor(
    server: { readonly port: number },
    stream: ReceivedResponse,
    headers: Readonly<Record<string, string>>
  ) {
    this.server = server
    this.stream = stream
    this.headers = headers
  }

  /** The reference for POSTs, which the first event carries. */
  get endpoint(): string {
    const [first] = eventsOf(this.stream)
    if (first?.type !== "endpoint") throw new Error(`no endpoint: ${this.stream.status} ${this.stream.text}`)
    return first.data
  }

  get id(): string {
    return new URL(this.endpoint, "http://localhost/sse").searchParams.get("sessionId") ?? ""
  }

  get messages(): ReadonlyArray<Message> {
    return eventsOf(this.stream).flatMap(({ data, type }) => type === "message" ? [JSON.parse(data)] : [])
  }

  /** Waits for the response to the request with this id. */
  awaitResponse(id: string | number): Effect.Effect<Message | undefined> {
    const found = () => this.messages.find((message) => message.id === id && message.method === undefined)
    return Effect.map(until(() => found() !== undefined || this.stream.isClosed), found)
  }

  /** Waits until this many messages have arrived. */
  awaitMessages(count: number): Effect.Effect<void> {
    return until(() => this.messages.length >= count || this.stream.isClosed)
  }

  /** Sends a POST, and waits for its HTTP response. */
  post(body: unknown, options: RequestOptions = {}): Effect.Effect<ReceivedResponse> {
    const headers = { accept: "*/*", ...this.headers, ...options.headers }
    return Effect.scoped(exchange(this.server, { path: this.endpoint, body, ...options, headers }))
  }

  /** Sends a request, and waits for its response on the stream. */
  request(method: string, params: object = {}, id: string | number = method): Effect.Effect<Message | undefined> {
    return Effect.andThen(this.post({ jsonrpc: "2.0", id, method, params }), this.awaitResponse(id))
  }

  /** Calls a tool, and does not wait for its result. */
  call(id: string | number, name: string, args: object = {}): Effect.Effect<ReceivedResponse> {
    const params = { name, arguments: args, _meta: { progressToken: id } }
    return this.post({ jsonrpc: "2.0", id, method: "tools/call", params })
  }

  notify(method: string, params: object = {}): Effect.Effect<ReceivedResponse> {
    return this.post({ jsonrpc: "2.0", method, params })
  }
}

/** Opens the stream, and waits for its first event or its end. Closing the scope breaks the connection. */
export const openSse = Effect.fnUntraced(function*(
  server: { readonly port: number },
  options: RequestOptions = {}
): Effect.fn.Return<SseClient, never, Scope.Scope> {
  const stream = yield* send(server, { method: "GET", path: "/sse", ...options })
  yield* until(() => eventsOf(stream).length > 0 || stream.ended || stream.isClosed)
  const headers = Object.entries(options.headers ?? {}).flatMap(([name, value]) =>
    value === undefined || name === "accept" ? [] : [[name, value] as const]
  )
  return new SseClient(server, stream, Object.fromEntries(headers))
})

/** Opens a session, with the whole handshake. */
export const connectSse = Effect.fnUntraced(function*(
  server: { readonly port: number },
  options: RequestOptions = {},
  revision: Revision.LegacyRevision = "2024-11-05"
): Effect.fn.Return<SseClient, never, Scope.Scope> {
  const client = yield* openSse(server, options)
  yield* client.post(initialize(revision))
  yield* client.awaitResponse("init")
  yield* client.notify("notifications/initialized")
  return client
})
