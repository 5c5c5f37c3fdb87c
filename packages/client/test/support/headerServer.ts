/** A server over HTTP that returns headers of its client. */
import { Content } from "@effect-mcp/protocol"
import { RequestContext, SessionHost } from "@effect-mcp/session"
import { Authentication } from "@effect-mcp/transport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"

const host = SessionHost.layer({
  "tools/list": () => Effect.succeed({ tools: [{ name: "who", inputSchema: { type: "object" } }] }),
  "tools/call": () =>
    Effect.map(RequestContext.RequestContext, ({ principal }) => ({
      content: [Content.text(principal?.id ?? "anonymous")]
    }))
}, { info: { name: "remote", version: "1.0.0" } })

const identities = Authentication.layer(({ headers }) =>
  Effect.succeed({ id: `${headers["authorization"]} ${headers["x-team"]}` })
)

/** Starts a server, whose tools return the headers `authorization` and `x-team`. Returns its port. */
export const portOf = <E>(
  server: Layer.Layer<HttpServer, E, Authentication.Authentication | SessionHost.SessionHost>
) =>
  Effect.map(Layer.build(Layer.provide(server, Layer.merge(host, identities))), (context) => {
    const { address } = Context.get(context, HttpServer)
    return "port" in address ? address.port : 0
  })
