/** An MCP server over HTTP that accepts the tokens of the issuer, which it asks about each of them. */
import { ResourceServer, TokenVerifier } from "@effect-mcp/auth"
import { SessionHost } from "@effect-mcp/session"
import { LawServer } from "@effect-mcp/testing/laws"
import { StreamableHttpServer } from "@effect-mcp/transport"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { createServer } from "node:http"
import * as Hosted from "../Hosted.ts"
import type { Counts } from "../Subject.ts"
import * as Http from "../subjects/http.ts"

/** The server. */
export interface ProtectedServer {
  readonly url: string
  readonly tables: Effect.Effect<Counts>
}

/** Starts the server. Its port is chosen before, because its tokens name it. */
export const start = Effect.fnUntraced(function*(
  issuer: string,
  port: number
): Effect.fn.Return<ProtectedServer, unknown, Scope.Scope> {
  const url = `http://127.0.0.1:${port}/mcp`
  const verifier = TokenVerifier.introspection(issuer, {
    client: { clientId: "server", secret: Redacted.make("secret"), issuer },
    clockSkew: 0
  })
  const auth = ResourceServer.layer({
    resource: url,
    issuers: [verifier],
    scopes: ["read"],
    // The default lets the memory grow until 10,000 tokens have been seen.
    maxRememberedTokens: 200
  })
  const routes = Layer.merge(StreamableHttpServer.layer(Http.limits), ResourceServer.routes)
  const context = yield* Layer.build(Layer.fresh(
    HttpRouter.serve(routes, { disableListenLog: true, disableLogger: true }).pipe(
      Layer.provideMerge(SessionHost.layer(LawServer.make(), Hosted.options("unlimited"))),
      Layer.provide(auth),
      Layer.provideMerge(NodeHttpServer.layerServer(() => createServer(), { port, host: "127.0.0.1" }))
    )
  ))
  return { url, tables: Hosted.tables(Context.get(context, SessionHost.SessionHost)) }
})
