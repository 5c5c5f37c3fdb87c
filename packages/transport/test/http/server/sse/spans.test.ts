import { SessionHost } from "@effect-mcp/session"
import { HttpSseServer } from "@effect-mcp/transport"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import * as Tracer from "effect/Tracer"
import { createServer } from "node:http"
import { reasonOf, request } from "../../../support/httpClientConnection.ts"
import { connect, serveStream } from "../../../support/scriptedSseServer.ts"
import { connectSse } from "../../../support/httpSse.ts"
import { serveWith, text, tools } from "../../../support/server.ts"

/** A tracer, and what its spans say of URLs. */
const recording = () => {
  const spans: Array<Tracer.Span> = []
  return {
    tracer: Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    }),
    queries: () => spans.flatMap(({ attributes }) => attributes.get("url.query") ?? []),
    everything: () =>
      JSON.stringify(
        spans.map(({ attributes, status }) => [...attributes, status]),
        (_, value) => typeof value === "bigint" ? undefined : value
      )
  }
}

describe.concurrent("[SHS-23] a span shows no session", () => {
  it.live("of a client, whatever its server calls it", () =>
    Effect.gen(function*() {
      const { everything, queries, tracer } = recording()
      const peer = yield* serveStream(
        (_, reply) => reply.raw(404, {}, "no"),
        "event: endpoint\ndata: /in?place=secret\n\n"
      )
      yield* Effect.withTracer(
        Effect.gen(function*() {
          const client = yield* connect(peer)
          yield* reasonOf(client.send(request(1)))
        }),
        tracer
      )
      assert.deepStrictEqual(queries(), ["place=REDACTED"])
      assert.notInclude(everything(), "secret")
    }))

  it.live("of a server of its own", () =>
    Effect.gen(function*() {
      const { everything, queries, tracer } = recording()
      const server = yield* serveWith(
        Layer.provide(HttpSseServer.layerNode({ port: 0 }), Layer.succeed(Tracer.Tracer, tracer)),
        tools({ now: Effect.succeed(text("now")) })
      )
      const client = yield* connectSse(server)
      assert.deepStrictEqual(queries(), ["sessionId=REDACTED", "sessionId=REDACTED"])
      assert.notInclude(everything(), client.id)
    }))

  it.live("of a backend that it is mounted in, below which `layerRedacted` is", () =>
    Effect.gen(function*() {
      for (const [redacted, isShown] of [[HttpSseServer.layerRedacted, false], [Layer.empty, true]] as const) {
        const { everything, tracer } = recording()
        const backend = SessionHost.layerDrain.pipe(
          Layer.provideMerge(HttpRouter.serve(HttpSseServer.layer(), { disableLogger: true, disableListenLog: true })),
          Layer.provide(redacted),
          Layer.provideMerge(NodeHttpServer.layerServer(() => createServer(), { port: 0, host: "127.0.0.1" })),
          Layer.provide(Layer.succeed(Tracer.Tracer, tracer))
        )
        const server = yield* serveWith(backend, tools({ now: Effect.succeed(text("now")) }))
        const client = yield* connectSse(server)
        assert.strictEqual(everything().includes(client.id), isShown)
      }
    }))
})
