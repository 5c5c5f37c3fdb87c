/** An endpoint whose responses a test scripts, and the state of a client connection over it. */
import type { Transport } from "@effect-mcp/session"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type { HttpResponse } from "../../src/internal/http/client/HttpCall.ts"
import type { Called, McpEndpoint, Membership } from "../../src/internal/http/client/McpEndpoint.ts"
import { ClientState, sessionIdentity } from "../../src/internal/http/client/streamable/ClientState.ts"
import * as ReconnectDelay from "../../src/internal/http/client/streamable/ReconnectDelay.ts"

/** One request that the client has sent. */
export interface Sent {
  readonly method: "DELETE" | "GET" | "POST"
  /** The parsed message of a POST. */
  readonly message: { readonly id?: unknown; readonly method?: string } | undefined
  readonly session: Membership["session"]
  readonly revision: Membership["revision"]
  readonly lastEventId: string | undefined
}

export type Script = (sent: Sent, index: number) => HttpResponse | TransportError.TransportError

export const response = (
  status: number,
  headers: Readonly<Record<string, string>> = {},
  body = "",
  brokenBy?: Error
): HttpResponse => {
  const chunks = body === "" ? Stream.empty : Stream.make(new TextEncoder().encode(body))
  return {
    url: new URL("http://localhost/mcp"),
    status,
    header: (name) => headers[name],
    chunks: brokenBy === undefined ? chunks : Stream.concat(chunks, Stream.fail(brokenBy)),
    isCompressed: false
  }
}

export const json = (value: unknown, headers: Readonly<Record<string, string>> = {}): HttpResponse =>
  response(200, { "content-type": "application/json", ...headers }, JSON.stringify(value))

/** Returns a response that is an SSE stream of events with ids. The stream then breaks, if there is an error. */
export const events = (
  all: ReadonlyArray<readonly [id: string, data: unknown]>,
  brokenBy?: Error
): HttpResponse => {
  const text = all.map(([id, data]) => `id: ${id}\ndata: ${data === "" ? "" : JSON.stringify(data)}\n\n`).join("")
  return response(200, { "content-type": "text/event-stream" }, text, brokenBy)
}

/** Creates an endpoint that responds by a script, and lists the requests to it. */
export const scripted = (script: Script) => {
  const sent: Array<Sent> = []
  let resets = 0
  const called = (one: Sent): Called =>
    Effect.suspend(() => {
      const outcome = script(one, sent.push(one) - 1)
      return outcome instanceof TransportError.TransportError ? Effect.fail(outcome) : Effect.succeed(outcome)
    })
  const endpoint: McpEndpoint = {
    url: () => new URL("http://localhost/mcp"),
    post: (text, membership, making = (one) => one) =>
      making(called({ method: "POST", message: JSON.parse(text), lastEventId: undefined, ...membership })),
    get: (membership, headers) =>
      called({ method: "GET", message: undefined, lastEventId: headers?.["last-event-id"], ...membership }),
    remove: (membership) => called({ method: "DELETE", message: undefined, lastEventId: undefined, ...membership }),
    at: () => endpoint,
    resetRedirects: () => resets++
  }
  return { endpoint, sent, resets: () => resets }
}

const settings = {
  maxMessageBytes: 10_000,
  maxMessageNodes: 1_000,
  reconnect: ReconnectDelay.make({ initialMillis: 1_000, factor: 2, maxMillis: 8_000, maxAttempts: 3, maxRenewals: 2 })
}

/** Creates the state of a connection in a session, and records what it delivers and reports. */
export const stateOver = Effect.fnUntraced(function*(script: Script, sessionId: string | undefined = "one") {
  const { endpoint, resets, sent } = scripted(script)
  const state = new ClientState(endpoint, settings, yield* sessionIdentity(sessionId, false))
  state.revision = "2025-11-25"
  state.initializeRequest = { jsonrpc: "2.0", id: 0, method: "initialize", params: {} }
  const delivered: Array<unknown> = []
  const reported: Array<Transport.TransportEvent> = []
  state.subscribe(
    ({ frame }) => void delivered.push(Result.merge(frame)),
    (event) => void reported.push(event)
  )
  return { state, sent, delivered, reported, resets }
})

export const connectFailed = TransportError.make({ _tag: "ConnectFailed", target: "x", cause: new Error("refused") })
