import { McpProxy } from "@effect-mcp/gateway"
import { Content } from "@effect-mcp/protocol"
import { McpGroup, McpRequest, McpServer } from "@effect-mcp/server"
import { ClientSession, RequestContext } from "@effect-mcp/session"
import { Authentication, StreamableHttpClient, StreamableHttpServer } from "@effect-mcp/transport/node"
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { info } from "../../server/test/support/connect.ts"
import { describeForBothEras } from "../../server/test/support/eras.ts"
import { answering, answersOf } from "./support/proxies.ts"

describeForBothEras("over Streamable HTTP", ({ client }) => {
  const tokens = Authentication.layerBearer({ verify: (token) => Effect.succeed({ id: Redacted.value(token) }) })

  const serve = Effect.fnUntraced(function*<A, E>(groups: Layer.Layer<A, E, McpServer.McpServer>) {
    const context = yield* Layer.build(
      StreamableHttpServer.layerNode({ port: 0 }).pipe(
        Layer.provide(McpServer.layerHost(groups, { info })),
        Layer.provide(tokens),
        Layer.fresh
      )
    )
    const { address } = Context.get(context, HttpServer)
    return `http://127.0.0.1:${"port" in address ? address.port : 0}/mcp`
  })

  const transport = (url: string, token: string) =>
    StreamableHttpClient.layerNode({ url, headers: { authorization: `Bearer ${token}` } })

  const Asking = McpGroup.make("asking", Tool.make("ask", { success: Schema.Array(Schema.String) }))

  it.live("two principals get their own answers, and the server never their tokens", () =>
    Effect.gen(function*() {
      const remote = yield* serve(Asking.toLayer((handlers) =>
        handlers.tool("ask", () =>
          Effect.gen(function*() {
            const { principal } = yield* RequestContext.RequestContext
            const { name } = yield* McpRequest.elicit("Who?", Schema.Struct({ name: Schema.String }))
            return [principal?.id ?? "", name]
          }))
      ))
      const proxy = yield* serve(McpProxy.layer("asking", transport(remote, "gateway"), { info }))
      const ask = Effect.fnUntraced(function*(name: string) {
        const session = yield* ClientSession.make({ info, ...client, handlers: answering(name) })
        return yield* Effect.repeat(answersOf(session), { times: 4 })
      })
      const answers = yield* Effect.forEach(
        ["ada", "bob"],
        (name) => Effect.provide(ask(name), transport(proxy, name)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(answers, [
        [Content.text("[\"gateway\",\"ada\"]")],
        [Content.text("[\"gateway\",\"bob\"]")]
      ])
    }).pipe(Effect.scoped))
})
