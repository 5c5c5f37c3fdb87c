/** An MCP server on a real socket that needs tokens of an authorization server. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { IdentityServer } from "../../../auth/test/support/identityServer.ts"
import {
  response,
  type ScriptedServer,
  serve,
  withHandshake
} from "../../../transport/test/support/scriptedHttpServer.ts"

/** The server. */
export interface ProtectedMcp extends ScriptedServer {
  /** The tokens that it rejects, although the authorization server has issued them. */
  rejects: (token: string) => boolean
}

const served = withHandshake((received, reply) =>
  reply.json(response(received, {
    ...(received.kind === "tools/list" ? { tools: [{ name: "read", inputSchema: { type: "object" } }] } : {}),
    ...(received.kind === "tools/call" ? { content: [] } : {})
  }))
)

/** Starts the server. */
export const start = Effect.fnUntraced(function*(
  { issuer, provider }: IdentityServer
): Effect.fn.Return<ProtectedMcp, never, Scope.Scope> {
  const peer: ScriptedServer = yield* serve((received, reply) => {
    const resource = peer.url
    const metadata = new URL("/.well-known/oauth-protected-resource/mcp", resource).href
    if (received.path.startsWith("/.well-known/")) {
      if (!metadata.endsWith(received.path)) return reply.status(404)
      return reply.json({ resource, authorization_servers: [issuer], scopes_supported: ["notes:read"] })
    }
    const text = /^Bearer (.+)$/.exec(received.headers.authorization ?? "")?.[1]
    const isAccepted = async (token: string) =>
      !result.rejects(token) && (await provider.AccessToken.find(token))?.aud === resource
    void (text === undefined ? Promise.resolve(false) : isAccepted(text)).then((isKnown) =>
      isKnown
        ? served(received, reply)
        : reply.raw(401, { "www-authenticate": `Bearer resource_metadata="${metadata}"` }, "")
    )
  })
  const result: ProtectedMcp = { ...peer, rejects: () => false }
  return result
})
