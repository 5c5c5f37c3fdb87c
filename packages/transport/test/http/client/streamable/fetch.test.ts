import { Transport } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import { reasonOf, request, until } from "../../../support/httpClientConnection.ts"
import {
  type Handler,
  response,
  type ScriptedServer,
  serve,
  withHandshake
} from "../../../support/scriptedHttpServer.ts"

const options = (peer: ScriptedServer): StreamableHttpClient.Options => ({
  url: peer.url,
  headers: { "x-example": "yes" },
  standalone: false
})

/** Opens a connection, and sends `initialize` and one request. */
const sendTwoRequests = (layer: Layer.Layer<Transport.Transport>) =>
  Effect.gen(function*() {
    const transport = yield* Transport.Transport
    const connection = yield* transport.connect
    yield* connection.request?.(request(0, "initialize")) ?? Effect.die("the connection has no streams for requests")
    return yield* connection.request?.(request(1)) ?? Effect.void
  }).pipe(Effect.scoped, Effect.provide(layer))

const redirect = (to: ScriptedServer): Handler => withHandshake((_, reply) => reply.raw(307, { location: to.url }, ""))

const layers: ReadonlyArray<[string, (peer: ScriptedServer) => Layer.Layer<Transport.Transport>]> = [
  ["layerNode", (peer) => StreamableHttpClient.layerNode(options(peer))],
  ["layerFetch", (peer) => StreamableHttpClient.layerFetch(options(peer))],
  ["a client of fetch", (peer) => Layer.provide(StreamableHttpClient.layer(options(peer)), FetchHttpClient.layer)]
]

for (const [name, layer] of layers) {
  it.live(`${name} sends messages, and ends the session`, () =>
    Effect.gen(function*() {
      const peer = yield* serve(withHandshake((received, reply) => reply.stream().event(response(received)).end()))
      yield* sendTwoRequests(layer(peer))
      assert.deepStrictEqual(peer.kinds(), ["initialize", "tools/call", "DELETE"])
      for (const { headers } of peer.received) assert.strictEqual(headers["x-example"], "yes")
      yield* until(() => peer.openResponses() === 0)
    }))

  it.live(`${name} follows no redirect to another origin`, () =>
    Effect.gen(function*() {
      const elsewhere = yield* serve((_, reply) => reply.json({}))
      const peer = yield* serve(redirect(elsewhere))
      const reason = yield* reasonOf(sendTwoRequests(layer(peer)))
      assert.isTrue(reason._tag === "Rejected" && reason.status === 307)
      assert.lengthOf(elsewhere.received, 0)
    }))

  it.live(`${name} fails with ConnectFailed if the server has stopped`, () =>
    Effect.gen(function*() {
      const peer = yield* Effect.scoped(serve(() => {}))
      assert.strictEqual((yield* reasonOf(sendTwoRequests(layer(peer))))._tag, "ConnectFailed")
    }))
}

it.live("the program's RequestInit is used, except for its redirect mode", () =>
  Effect.gen(function*() {
    const elsewhere = yield* serve((_, reply) => reply.json({}))
    const peer = yield* serve(redirect(elsewhere))
    const fetchOptions = Layer.succeed(FetchHttpClient.RequestInit, {
      redirect: "follow",
      headers: { "x-option": "kept" }
    })
    const layer = StreamableHttpClient.layer(options(peer)).pipe(
      Layer.provide(FetchHttpClient.layer),
      Layer.provide(fetchOptions)
    )
    assert.strictEqual((yield* reasonOf(sendTwoRequests(layer)))._tag, "Rejected")
    assert.strictEqual(peer.received[0]?.headers["x-option"], "kept")
    assert.lengthOf(elsewhere.received, 0)
  }))
