/** Tools with scopes, and tokens with and without them, for tests of every transport. */
import { McpError } from "@effect-mcp/protocol"
import { type Principal, RequestContext, type ServerSession } from "@effect-mcp/session"
import { Authentication } from "@effect-mcp/transport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { text, tools } from "./server.ts"

export const principals: Readonly<Record<string, Principal.Principal>> = {
  reader: { id: "ada", scopes: ["notes:read"] },
  writer: { id: "ada", scopes: ["notes:read", "notes:write"] },
  plain: { id: "bob", claims: { scope: "notes:read notes:write" } }
}

/** Accepts the tokens of `principals`, and requests without a token. */
export const authentication = Effect.map(
  Layer.build(Authentication.layerBearer({
    realm: "notes",
    verify: (token) => Effect.sync(() => principals[Redacted.value(token)])
  })),
  (context): Authentication.Authentication["Service"] => {
    const bearer = Context.get(context, Authentication.Authentication)
    return {
      ...bearer,
      identify: (request) =>
        request.headers["authorization"] === undefined ? Effect.succeed("anonymous") : bearer.identify(request)
    }
  }
)

export const withToken = (token: string | undefined): { readonly authorization?: string } =>
  token === undefined ? {} : { authorization: `Bearer ${token}` }

const scopes = new Map([["read", ["notes:read"]], ["write", ["notes:read", "notes:write"]]])

/** The scopes of the tools. */
export const scopesOf: NonNullable<ServerSession.Options["scopesOf"]> = ({ method, params }) => {
  const name = method === "tools/call" ? params?.["name"] : undefined
  if (name === "broken") throw new Error("broken")
  return typeof name === "string" ? scopes.get(name) : undefined
}

/** Tools that record their calls. */
export const recording = (calls: Array<string>) => {
  const called = (name: string) => Effect.sync(() => void calls.push(name))
  const demanded = RequestContext.requireScopes(["notes:read", "notes:admin"])
  return tools({
    read: Effect.as(called("read"), text("read")),
    write: Effect.as(called("write"), text("written")),
    open: Effect.as(called("open"), text("open")),
    broken: Effect.as(called("broken"), text("broken")),
    // Demands scopes by its arguments, before or after the response has begun.
    purge: ({ after }) =>
      Effect.gen(function*() {
        if (after === "progress") yield* RequestContext.progress({ progress: 1 })
        if (after === "time") yield* Effect.sleep("20 millis")
        yield* demanded
        return text("purged")
      }),
    forged: Effect.fail(McpError.received({ code: -31_012, message: "no", data: { scopes: ["a b", "\"x\""] } }))
  })
}

export const call = (name: string, id: string | number = 1, args: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args, _meta: { progressToken: id } }
})
