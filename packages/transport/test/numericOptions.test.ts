/** Invalid numbers and durations in the options of all transports. */
import { InvalidOptionError, SessionHost } from "@effect-mcp/session"
import {
  Authentication,
  HttpFallbackClient,
  HttpSseClient,
  HttpSseServer,
  JsonLines,
  SocketClient,
  SocketServer,
  Sse,
  StatelessHttpServer,
  StdioClient,
  StdioServer,
  StreamableHttpClient,
  StreamableHttpServer,
  WebSocketClient,
  WebSocketServer
} from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"

type Values = { readonly [name: string]: unknown }

/** Builds a transport with these options, in addition to the required ones. */
type Make = (options: object) => Effect.Effect<unknown, unknown>

const info = { name: "test", version: "1.0.0" }
const url = "http://127.0.0.1:1/mcp"

const services = Layer.merge(SessionHost.layer({}, { info }), Authentication.anonymous)

const built = <A, E>(layer: () => Layer.Layer<A, E, SessionHost.SessionHost | Authentication.Authentication>) =>
  Effect.scoped(Effect.asVoid(Layer.build(Layer.provide(Layer.suspend(layer), services))))

const numbers: ReadonlyArray<unknown> = [Number.NaN, -1, 0.5, "5"]
const durations: ReadonlyArray<unknown> = [Number.NaN, -1, "-1 second", "soon"]

const named = (values: ReadonlyArray<unknown>, ...names: ReadonlyArray<string>): Values =>
  Object.fromEntries(names.map((name) => [name, values]))

const bodies = {
  ...named(
    numbers,
    "maxTotalIncomingBytes",
    "maxMessageBytes",
    "maxMessageNodes",
    "maxInitializeBytes",
    "maxPipelinedRequests",
    "maxStreamCharacters",
    "maxUnreadBytes",
    "maxTotalUnreadBytes"
  ),
  ...named(durations, "bodyTimeout", "identifyTimeout", "keepAliveInterval", "writeTimeout")
}
const port = named(numbers, "port")
const messages = named(numbers, "maxMessageBytes", "maxMessageNodes")

const constructors: ReadonlyArray<readonly [name: string, make: Make, options: Values]> = [
  [
    "StdioServer",
    (options) => Effect.scoped(Effect.provide(StdioServer.make(options), StdioServer.layerStdioNode)),
    { ...messages, ...named(durations, "closeTimeout", "halfCloseTimeout") }
  ],
  [
    "StdioServer.runMain",
    (options) => Effect.sync(() => StdioServer.runMain(Effect.void, options)),
    named(durations, "gracefulTimeout", "shutdownTimeout")
  ],
  [
    "StdioClient",
    (options) => built(() => StdioClient.layerNode({ command: "true", ...options })),
    { ...messages, ...named(numbers, "maxStderrLines"), ...named(durations, "exitTimeout", "terminateTimeout") }
  ],
  [
    "SocketServer",
    (options) => built(() => SocketServer.layerUnix({ path: "/nowhere/at.sock", ...options })),
    {
      ...messages,
      ...named(numbers, "maxInitializeBytes", "maxSendBufferBytes", "mode"),
      ...named(durations, "closeTimeout")
    }
  ],
  [
    "SocketClient",
    (options) => built(() => SocketClient.layerUnix({ path: "/nowhere/at.sock", ...options })),
    { ...messages, ...named(numbers, "maxSendBufferBytes"), ...named(durations, "closeTimeout") }
  ],
  [
    "WebSocketServer",
    (options) => built(() => WebSocketServer.layerNode({ port: 0, ...options })),
    {
      ...messages,
      ...port,
      ...named(numbers, "maxInitializeBytes", "maxPayloadBytes"),
      ...named(durations, "identifyTimeout", "keepAliveInterval", "closeTimeout")
    }
  ],
  [
    "WebSocketClient",
    (options) => built(() => WebSocketClient.layerNode({ url: "ws://127.0.0.1:1", ...options })),
    {
      ...messages,
      ...named(numbers, "maxPayloadBytes"),
      ...named(durations, "connectTimeout", "closeTimeout", "keepAliveInterval")
    }
  ],
  ["HttpSseServer", (options) => built(() => HttpSseServer.layerNode({ port: 0, ...options })), { ...bodies, ...port }],
  [
    "HttpSseClient",
    (options) => built(() => HttpSseClient.layerFetch({ url, ...options })),
    { ...messages, ...named(durations, "connectTimeout") }
  ],
  [
    "HttpFallbackClient",
    (options) => built(() => HttpFallbackClient.layerFetch({ url, ...options })),
    { ...messages, ...named(durations, "connectTimeout", "closeTimeout") }
  ],
  [
    "StreamableHttpServer",
    (options) => built(() => StreamableHttpServer.layerNode({ port: 0, ...options })),
    {
      ...bodies,
      ...port,
      ...named(durations, "adaptiveTimeout", "detachedRequestTimeout", "retryInterval"),
      ...named([...durations, "Infinity"], "eventStoreTimeout")
    }
  ],
  [
    "StreamableHttpServer without sessions",
    (options) => built(() => StatelessHttpServer.layerNode({}, { info, port: 0, ...options })),
    { ...bodies, ...port, ...named(durations, "adaptiveTimeout") }
  ],
  [
    "StreamableHttpClient",
    (options) => built(() => StreamableHttpClient.layerFetch({ url, ...options })),
    { ...messages, ...named(durations, "closeTimeout") }
  ],
  [
    "StreamableHttpClient's reconnect",
    (reconnect) => built(() => StreamableHttpClient.layerFetch({ url, reconnect })),
    { ...named(numbers, "factor", "maxAttempts", "maxRenewals"), ...named(durations, "initialInterval", "maxInterval") }
  ],
  [
    "JsonLines",
    (options) => Effect.sync(() => JsonLines.decoder(() => {}, options)),
    named(numbers, "maxMessageBytes", "maxMessageNodes")
  ],
  [
    "Sse",
    (options) => Effect.sync(() => Sse.decoder(() => {}, options)),
    named(numbers, "maxEventBytes")
  ]
]

describe.each(constructors)("%s", (_, make, options) => {
  it.live.each(Object.entries(options))(
    "dies of an invalid %s, with a message that names the valid values",
    ([name, values]) =>
      Effect.gen(function*() {
        for (const value of Array.isArray(values) ? values : []) {
          const exit = yield* Effect.exit(Effect.suspend(() => make({ [name]: value })))
          assert(Exit.isFailure(exit), `${name}: ${String(value)} was accepted`)
          const defect = Cause.squash(exit.cause)
          assert(defect instanceof InvalidOptionError.InvalidOptionError, String(defect))
          assert.match(defect.message, new RegExp(String.raw`^(?:reconnect\.)?${name} must be .*, not `))
        }
      })
  )
})

it("a server with its own listener rejects a number where it is written, before the Layer is built", () => {
  const port = 0
  for (
    const make of [
      () => StreamableHttpServer.layerNode({ port, retryInterval: Number.NaN }),
      () => StreamableHttpServer.layerNode({ port, maxMessageBytes: -1 }),
      () => HttpSseServer.layerNode({ port, maxMessageBytes: -1 }),
      () => WebSocketServer.layerNode({ port, maxMessageBytes: -1 })
    ]
  ) {
    assert.throws(make, /InvalidOptionError|retryInterval|maxMessageBytes/)
  }
})
