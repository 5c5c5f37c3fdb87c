import { Transport } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import { reasonOf, request, until } from "../../../fixtures/httpConnection.ts"
import { type Handler, type HttpPeer, mcp, response, serve } from "../../../fixtures/httpPeer.ts"

const options = (peer: HttpPeer): StreamableHttpClient.Options => ({
  url: peer.url,
  headers: { "x-example": "yes" },
  standalone: false
})

/** The first request of a connection. */
const ask = (layer: Layer.Layer<Transport.Transport>) =>
  Effect.gen(function*() {
    const transport = yield* Transport.Transport
    const connection = yield* transport.connect
    yield* connection.request?.(request(0, "initialize")) ?? Effect.die("requests have streams of their own")
    return yield* connection.request?.(request(1)) ?? Effect.void
  }).pipe(Effect.scoped, Effect.provide(layer))

const redirect = (to: HttpPeer): Handler => mcp((_, reply) => reply.raw(307, { location: to.url }, ""))

const layers: ReadonlyArray<[string, (peer: HttpPeer) => Layer.Layer<Transport.Transport>]> = [
  ["layerNode", (peer) => StreamableHttpClient.layerNode(options(peer))],
  ["layerFetch", (peer) => StreamableHttpClient.layerFetch(options(peer))],
  ["a client of fetch", (peer) => Layer.provide(StreamableHttpClient.layer(options(peer)), FetchHttpClient.layer)]
]

for (const [name, layer] of layers) {
  it.live(`${name} carries messages and ends the session`, () =>
    Effect.gen(function*() {
      const peer = yield* serve(mcp((received, reply) => reply.stream().event(response(received)).end()))
      yield* ask(layer(peer))
      assert.deepStrictEqual(peer.asked(), ["initialize", "tools/call", "DELETE"])
      for (const { headers } of peer.received) assert.strictEqual(headers["x-example"], "yes")
      yield* until(() => peer.open() === 0)
    }))

  it.live(`${name} follows no redirect`, () =>
    Effect.gen(function*() {
      const elsewhere = yield* serve((_, reply) => reply.json({}))
      const peer = yield* serve(redirect(elsewhere))
      const reason = yield* reasonOf(ask(layer(peer)))
      assert.isTrue(reason._tag === "Rejected" && reason.status === 307)
      assert.lengthOf(elsewhere.received, 0)
    }))

  it.live(`${name} knows that nothing was sent when nobody was there`, () =>
    Effect.gen(function*() {
      const peer = yield* Effect.scoped(serve(() => {}))
      assert.strictEqual((yield* reasonOf(ask(layer(peer))))._tag, "ConnectFailed")
    }))
}

it.live("the options of fetch that a program sets still hold, but for redirects", () =>
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
    assert.strictEqual((yield* reasonOf(ask(layer)))._tag, "Rejected")
    assert.strictEqual(peer.received[0]?.headers["x-option"], "kept")
    assert.lengthOf(elsewhere.received, 0)
  }))
