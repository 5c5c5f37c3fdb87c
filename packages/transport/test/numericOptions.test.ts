/** Options of transports with numbers and durations that make no sense. */
import { NumericOption, SessionHost } from "@effect-mcp/session"
import {
  Authentication,
  EventStreamFraming,
  HttpFallbackClient,
  HttpSseClient,
  HttpSseServer,
  LineFraming,
  StdioClient,
  StdioServer,
  StreamableHttpClient,
  StreamableHttpServer,
  UnixSocketClient,
  UnixSocketServer,
  WebSocketClient,
  WebSocketServer
} from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"

type Values = { readonly [name: string]: unknown }

/** Makes something with these options, beside those that it needs. */
type Make = (options: object) => Effect.Effect<unknown, unknown>

const info = { name: "test", version: "1.0.0" }
const url = "http://127.0.0.1:1/mcp"

const surroundings = Layer.merge(SessionHost.layer({}, { info }), Authentication.anonymous)

const built = <A, E>(layer: () => Layer.Layer<A, E, SessionHost.SessionHost | Authentication.Authentication>) =>
  Effect.scoped(Effect.asVoid(Layer.build(Layer.provide(Layer.suspend(layer), surroundings))))

const numbers: ReadonlyArray<unknown> = [Number.NaN, -1, 0.5, "5"]
const durations: ReadonlyArray<unknown> = [Number.NaN, -1, "-1 second", "soon"]

const named = (values: ReadonlyArray<unknown>, ...names: ReadonlyArray<string>): Values =>
  Object.fromEntries(names.map((name) => [name, values]))

const bodies = {
  ...named(
    numbers,
    "maxTotalBodyBytes",
    "maxBodyBytes",
    "maxBodyNodes",
    "maxInitializeBytes",
    "maxPipelinedRequests",
    "maxStreamCharacters",
    "maxUnreadBytes",
    "maxTotalUnreadBytes"
  ),
  ...named(durations, "bodyTimeout", "identifyTimeout", "keepAliveInterval", "readerStallTimeout")
}
const port = named(numbers, "port")
const messages = named(numbers, "messageLimitBytes", "messageLimitNodes")

const constructors: ReadonlyArray<readonly [name: string, make: Make, options: Values]> = [
  [
    "StdioServer",
    (options) => Effect.scoped(Effect.provide(StdioServer.make(options), StdioServer.layerStdio)),
    { ...messages, ...named(durations, "flushWithin") }
  ],
  [
    "StdioServer.runMain",
    (options) => Effect.sync(() => StdioServer.runMain(Effect.void, options)),
    named(durations, "handlersWithin", "endWithin")
  ],
  [
    "StdioClient",
    (options) => built(() => StdioClient.layerNode({ command: "true", ...options })),
    { ...messages, ...named(numbers, "keptStderrLines"), ...named(durations, "exitWithin", "terminateWithin") }
  ],
  [
    "UnixSocketServer",
    (options) => built(() => UnixSocketServer.layerNode({ path: "/nowhere/at.sock", ...options })),
    {
      ...messages,
      ...named(numbers, "maxInitializeBytes", "sendBufferBytes", "mode"),
      ...named(durations, "flushWithin")
    }
  ],
  [
    "UnixSocketClient",
    (options) => Effect.sync(() => UnixSocketClient.make({ path: "/nowhere/at.sock", ...options })),
    { ...messages, ...named(numbers, "sendBufferBytes"), ...named(durations, "flushWithin") }
  ],
  [
    "WebSocketServer",
    (options) => built(() => WebSocketServer.layerNode({ port: 0, ...options })),
    {
      ...messages,
      ...port,
      ...named(numbers, "maxInitializeBytes", "payloadLimitBytes"),
      ...named(durations, "identifyTimeout", "ping", "closeWithin")
    }
  ],
  [
    "WebSocketClient",
    (options) => built(() => WebSocketClient.layerNode({ url: "ws://127.0.0.1:1", ...options })),
    { ...messages, ...named(numbers, "payloadLimitBytes"), ...named(durations, "connectWithin", "closeWithin", "ping") }
  ],
  ["HttpSseServer", (options) => built(() => HttpSseServer.layerNode({ port: 0, ...options })), { ...bodies, ...port }],
  [
    "HttpSseClient",
    (options) => built(() => HttpSseClient.layerFetch({ url, ...options })),
    { ...messages, ...named(durations, "openWithin") }
  ],
  [
    "HttpFallbackClient",
    (options) => built(() => HttpFallbackClient.layerFetch({ url, ...options })),
    { ...messages, ...named(durations, "openWithin", "closeWithin") }
  ],
  [
    "StreamableHttpServer",
    (options) => built(() => StreamableHttpServer.layerNode({ port: 0, ...options })),
    {
      ...bodies,
      ...port,
      ...named(durations, "adaptiveTimeout", "detachedRequestTimeout", "retryInterval", "eventStoreTimeout")
    }
  ],
  [
    "StreamableHttpServer without sessions",
    (options) => built(() => StreamableHttpServer.layerNodeSessionless({}, { info, port: 0, ...options })),
    { ...bodies, ...port, ...named(durations, "adaptiveTimeout") }
  ],
  [
    "StreamableHttpClient",
    (options) => built(() => StreamableHttpClient.layerFetch({ url, ...options })),
    { ...messages, ...named(durations, "closeWithin") }
  ],
  [
    "StreamableHttpClient's reconnect",
    (reconnect) => built(() => StreamableHttpClient.layerFetch({ url, reconnect })),
    { ...named(numbers, "factor", "attempts", "renewals"), ...named(durations, "initial", "max") }
  ],
  [
    "LineFraming",
    (options) => Effect.sync(() => LineFraming.decoder(() => {}, options)),
    named(numbers, "limitBytes", "limitNodes")
  ],
  [
    "EventStreamFraming",
    (options) => Effect.sync(() => EventStreamFraming.decoder(() => {}, options)),
    named(numbers, "limitBytes")
  ]
]

describe.each(constructors)("%s", (_, make, options) => {
  it.live.each(Object.entries(options))(
    "dies of a value of %s that makes no sense, and says which it takes",
    ([name, values]) =>
      Effect.gen(function*() {
        for (const value of Array.isArray(values) ? values : []) {
          const exit = yield* Effect.exit(Effect.suspend(() => make({ [name]: value })))
          assert(Exit.isFailure(exit), `${name}: ${String(value)} was taken`)
          const defect = Cause.squash(exit.cause)
          assert(defect instanceof NumericOption.InvalidOption, String(defect))
          assert.match(defect.message, new RegExp(String.raw`^(?:reconnect\.)?${name} takes a?.*, not `))
        }
      })
  )
})
