/** Clients of every revision with this library's servers, over the transports with sessions. */
import { McpError } from "@effect-mcp/protocol"
import { RequestContext, Transport } from "@effect-mcp/session"
import { SocketClient, WebSocketClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { forkNow, until } from "./support/httpClientConnection.ts"
import { fallbackTo, sessionOver, streamableTo } from "./support/modernClient.ts"
import { serve as serveHttp, text, tools } from "./support/server.ts"
import * as UnixServer from "./support/unixServer.ts"
import * as WebSocketServing from "./support/webSocketServer.ts"

const handlersOf = (seen: Array<string>) =>
  tools({
    greet: Effect.gen(function*() {
      const answer = yield* Effect.mapError(
        RequestContext.elicit({
          message: "Name?",
          requestedSchema: { type: "object", properties: { name: { type: "string" } } }
        }),
        ({ message }) => McpError.invalidRequest(message)
      )
      return text(`Hello, ${String(answer.content?.["name"])}`)
    }),
    wait: Effect.suspend(() => {
      seen.push("started")
      return Effect.onInterrupt(Effect.never, () => Effect.sync(() => void seen.push("interrupted")))
    })
  })

const transportOf = <E>(layer: Layer.Layer<Transport.Transport, E>) =>
  Effect.map(Layer.build(layer), (context) => Context.get(context, Transport.Transport))

type Connected = Effect.Effect<Transport.Transport["Service"], unknown, Scope.Scope>

/** Starts a server, and makes the transport of its clients. */
const transports: ReadonlyArray<readonly [name: string, serve: (seen: Array<string>) => Connected]> = [
  [
    "a Unix socket",
    (seen) =>
      Effect.flatMap(
        UnixServer.serve(handlersOf(seen)),
        ({ path }) => transportOf(SocketClient.layerUnix({ path }))
      )
  ],
  [
    "WebSocket",
    (seen) =>
      Effect.flatMap(
        WebSocketServing.serve(handlersOf(seen)),
        ({ port }) => transportOf(WebSocketClient.layerNode({ url: `ws://127.0.0.1:${port}/mcp` }))
      )
  ],
  [
    "Streamable HTTP",
    (seen) =>
      Effect.flatMap(serveHttp(handlersOf(seen)), ({ port }) => streamableTo({ url: `http://127.0.0.1:${port}/mcp` }))
  ],
  [
    "HTTP with a fallback",
    (seen) =>
      Effect.flatMap(serveHttp(handlersOf(seen)), ({ port }) => fallbackTo({ url: `http://127.0.0.1:${port}/mcp` }))
  ]
]

describe.concurrent("a client and a server of every revision", () => {
  for (const [name, serve] of transports) {
    it.live(`[MSG-14] [TRN-02] over ${name} speak 2026-07-28, with questions and cancellation, beside 2025-11-25`, () =>
      Effect.gen(function*() {
        const seen: Array<string> = []
        const transport = yield* serve(seen)
        const modern = yield* sessionOver(transport, {
          handlers: { "elicitation/create": () => Effect.succeed({ action: "accept", content: { name: "Ada" } }) }
        })
        const legacy = yield* sessionOver(transport, {
          revisions: ["2025-11-25"],
          handlers: { "elicitation/create": () => Effect.succeed({ action: "accept", content: { name: "Bob" } }) }
        })
        assert.strictEqual(modern.session.profile.revision, "2026-07-28")
        assert.strictEqual(legacy.session.profile.revision, "2025-11-25")
        assert.deepStrictEqual(
          (yield* Effect.all([modern.session.callTool("greet"), legacy.session.callTool("greet")], {
            concurrency: "unbounded"
          })).map(({ content }) => content),
          [text("Hello, Ada").content, text("Hello, Bob").content]
        )
        const calling = yield* forkNow(modern.session.callTool("wait"))
        yield* until(() => seen.length === 1)
        yield* Fiber.interrupt(calling)
        yield* until(() => seen.length === 2)
        assert.deepStrictEqual(seen, ["started", "interrupted"])
      }))
  }
})
