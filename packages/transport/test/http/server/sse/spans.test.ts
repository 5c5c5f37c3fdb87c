import { SessionHost } from "@effect-mcp/session"
import { HttpSseServer } from "@effect-mcp/transport/node"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import * as Tracer from "effect/Tracer"
import { createServer } from "node:http"
import { reasonOf, request } from "../../../support/httpClientConnection.ts"
import { connectSse } from "../../../support/httpSse.ts"
import { connect, serveStream } from "../../../support/scriptedSseServer.ts"
import { serveWith, text, tools } from "../../../support/server.ts"

/** Creates a tracer, and functions that return the queries and all attributes of its spans. */
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
    attributes: () =>
      JSON.stringify(
        spans.map(({ attributes, status }) => [...attributes, status]),
        (_, value) => typeof value === "bigint" ? undefined : value
      )
  }
}

describe.concurrent("[SHS-23] spans show no session id", () => {
  it.live("of a client, whatever the name of its query parameter", () =>
    Effect.gen(function*() {
      const { attributes, queries, tracer } = recording()
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
      assert.notInclude(attributes(), "secret")
    }))

  it.live("of a server on its own port", () =>
    Effect.gen(function*() {
      const { attributes, queries, tracer } = recording()
      const server = yield* serveWith(
        Layer.provide(HttpSseServer.layerNode({ port: 0 }), Layer.succeed(Tracer.Tracer, tracer)),
        tools({ now: Effect.succeed(text("now")) })
      )
      const client = yield* connectSse(server)
      assert.deepStrictEqual(queries(), ["sessionId=REDACTED", "sessionId=REDACTED"])
      assert.notInclude(attributes(), client.id)
    }))

  it.live("of a backend to which `layerRedactedSessionParameter` is provided", () =>
    Effect.gen(function*() {
      for (
        const [redacted, isShown] of [[HttpSseServer.layerRedactedSessionParameter, false], [
          Layer.empty,
          true
        ]] as const
      ) {
        const { attributes, tracer } = recording()
        const backend = SessionHost.layerDrain.pipe(
          Layer.provideMerge(HttpRouter.serve(HttpSseServer.layer(), { disableLogger: true, disableListenLog: true })),
          Layer.provide(redacted),
          Layer.provideMerge(NodeHttpServer.layerServer(() => createServer(), { port: 0, host: "127.0.0.1" })),
          Layer.provide(Layer.succeed(Tracer.Tracer, tracer))
        )
        const server = yield* serveWith(backend, tools({ now: Effect.succeed(text("now")) }))
        const client = yield* connectSse(server)
        assert.strictEqual(attributes().includes(client.id), isShown)
      }
    }))
})
