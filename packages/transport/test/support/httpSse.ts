/** A server of HTTP+SSE on a real socket, and a client that speaks it by hand. */
import type { Revision } from "@effect-mcp/protocol"
import { HttpSseServer } from "@effect-mcp/transport"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { until } from "../fixtures/process.ts"
import { type Answer, type Ask, ask, initialize, listen, type Message } from "./client.ts"
import { type ServerHandlers, serveWith, type Settings } from "./server.ts"

export interface SseSettings extends Omit<Settings, "http"> {
  readonly sse?: Omit<HttpSseServer.NodeOptions, "port">
}

/** Serves at the usual paths, on this machine. */
export const serveSse = (handlers: ServerHandlers, settings: SseSettings = {}) =>
  serveWith(HttpSseServer.layerNode({ port: 0, ...settings.sse }), handlers, settings)

/** One event, with its type. */
export interface TypedEvent {
  readonly type: string
  readonly data: string
}

const fieldOf = (block: string, name: string): string | undefined =>
  block.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)

/** What a stream has said so far. */
export const eventsOf = ({ blocks }: Answer): ReadonlyArray<TypedEvent> =>
  blocks.flatMap((block) => {
    const data = fieldOf(block, "data")
    return data === undefined ? [] : [{ type: fieldOf(block, "event") ?? "message", data }]
  })

/** The client's side of one session. */
export class SseClient {
  readonly server: { readonly port: number }
  readonly stream: Answer
  readonly headers: Readonly<Record<string, string>>

  constructor(
    server: { readonly port: number },
    stream: Answer,
    headers: Readonly<Record<string, string>>
  ) {
    this.server = server
    this.stream = stream
    this.headers = headers
  }

  /** Where to POST to, as the first event says. */
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

  /** Waits for the message that answers this request. */
  reply(id: string | number): Effect.Effect<Message | undefined> {
    const found = () => this.messages.find((message) => message.id === id && message.method === undefined)
    return Effect.map(until(() => found() !== undefined || this.stream.gone), found)
  }

  /** Waits until so many messages have come. */
  said(count: number): Effect.Effect<void> {
    return until(() => this.messages.length >= count || this.stream.gone)
  }

  /** POSTs something, and waits for the answer of HTTP. */
  post(body: unknown, asked: Ask = {}): Effect.Effect<Answer> {
    const headers = { accept: "*/*", ...this.headers, ...asked.headers }
    return Effect.scoped(ask(this.server, { path: this.endpoint, body, ...asked, headers }))
  }

  ask(method: string, params: object = {}, id: string | number = method): Effect.Effect<Message | undefined> {
    return Effect.andThen(this.post({ jsonrpc: "2.0", id, method, params }), this.reply(id))
  }

  /** Calls a tool, and does not wait for its result. */
  call(id: string | number, name: string, args: object = {}): Effect.Effect<Answer> {
    const params = { name, arguments: args, _meta: { progressToken: id } }
    return this.post({ jsonrpc: "2.0", id, method: "tools/call", params })
  }

  tell(method: string, params: object = {}): Effect.Effect<Answer> {
    return this.post({ jsonrpc: "2.0", method, params })
  }
}

/** Opens the stream, and waits for its first event, or for its refusal. It is cut when the scope closes. */
export const openSse = Effect.fnUntraced(function*(
  server: { readonly port: number },
  asked: Ask = {}
): Effect.fn.Return<SseClient, never, Scope.Scope> {
  const stream = yield* listen(server, { method: "GET", path: "/sse", ...asked })
  yield* until(() => eventsOf(stream).length > 0 || stream.ended || stream.gone)
  const headers = Object.entries(asked.headers ?? {}).flatMap(([name, value]) =>
    value === undefined || name === "accept" ? [] : [[name, value] as const]
  )
  return new SseClient(server, stream, Object.fromEntries(headers))
})

/** Shakes hands. */
export const connectSse = Effect.fnUntraced(function*(
  server: { readonly port: number },
  asked: Ask = {},
  revision: Revision.Revision = "2024-11-05"
): Effect.fn.Return<SseClient, never, Scope.Scope> {
  const client = yield* openSse(server, asked)
  yield* client.post(initialize(revision))
  yield* client.reply("init")
  yield* client.tell("notifications/initialized")
  return client
})
