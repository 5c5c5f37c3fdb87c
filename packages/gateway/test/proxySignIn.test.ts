/** The sign-in at a proxied server, of which clients of the proxy learn nothing. */
import { McpProxy } from "@effect-mcp/gateway"
import * as TransportError from "@effect-mcp/session/TransportError"
import { type ClientAuthorization, StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import { info } from "../../server/test/support/connect.ts"
import { describeForBothEras } from "../../server/test/support/eras.ts"
import { response, serve, withHandshake } from "../../transport/test/support/scriptedHttpServer.ts"
import { tool } from "./support/proxies.ts"

const page = "https://login.example/authorize?client_id=proxy&state=of-the-operator"
const code = "WDJB-MJHT"

/** An authorization that waits for a person for ever. */
const authorization: ClientAuthorization.ClientAuthorization["Service"] = {
  of: () =>
    Effect.succeed({
      headers: () => Effect.succeed({}),
      rejected: ({ url }) =>
        TransportError.make({
          _tag: "AuthorizationRequired",
          target: url.href,
          url: page,
          code,
          since: 1,
          authorized: Effect.never
        })
    })
}

describeForBothEras("a proxied server that needs a person to sign in again", ({ connect }) => {
  it.live("shows clients of the proxy neither the URL nor the code", () =>
    Effect.gen(function*() {
      let isSignedIn = true
      const served = withHandshake((received, reply) =>
        reply.json(response(received, received.kind === "tools/list" ? { tools: [tool("read")] } : { content: [] }))
      )
      const peer = yield* serve((received, reply) =>
        isSignedIn ? served(received, reply) : reply.raw(401, { "www-authenticate": "Bearer realm=\"remote\"" }, "")
      )
      const logged: Array<string> = []
      yield* Effect.gen(function*() {
        const remote = StreamableHttpClient.layerNode({ url: peer.url, authorization, standalone: false })
        const proxy = McpProxy.layer("remote", remote, {
          info,
          revisions: ["2025-11-25"],
          sessions: "shared",
          timeout: "300 millis"
        })
        const received: Array<unknown> = []
        const client = yield* connect(proxy, {
          client: { handlers: { "notifications/message": (message) => Effect.sync(() => void received.push(message)) } }
        })
        yield* client.callTool("read")
        isSignedIn = false
        const error = yield* Effect.flip(client.callTool("read"))
        const shown = JSON.stringify([error.message, error.reason, received])
        assert.include(shown, "tools/call: a person has to authorize the client at the server first")
        for (const secret of ["login.example", "of-the-operator", code]) assert.notInclude(shown, secret)
      }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))])))
      // The operator of the proxy learns where to sign in.
      assert.include(logged.join("\n"), page)
    }).pipe(Effect.scoped))
})
