/** A server that needs tokens of an {@link IdentityServer}: its metadata, its challenges, and one endpoint. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as http from "node:http"
import type { IssuedToken } from "oidc-provider"
import type { IdentityServer } from "./identityServer.ts"

/** A request to the endpoint. */
export interface Call {
  readonly authorization: string | undefined
  readonly dpop: string | undefined
  readonly operation: string | undefined
}

/** The answer to a request: a status, and the parameters of its challenge. */
export interface Answer {
  readonly status: number
  readonly challenge?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The server. */
export interface ProtectedServer {
  readonly url: URL
  readonly resource: string
  readonly calls: Array<Call>
  /** The requests for metadata. */
  readonly metadataRequests: Array<string>
  /** The issuers of its metadata. */
  issuers: ReadonlyArray<string>
  /** Decides instead of the server, if it returns an answer. */
  judge: ((call: Call, token: IssuedToken | undefined) => Answer | undefined) | undefined
  /** The scope of the challenge for a missing token. */
  challengedScope: string | undefined
}

/** Starts the server, whose operation `write` needs the scope `notes:write`. */
export const start = (identity: IdentityServer): Effect.Effect<ProtectedServer, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<{ readonly protectedServer: ProtectedServer; readonly server: http.Server }>((resume) => {
        const server = http.createServer()
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          const origin = `http://localhost:${typeof address === "object" && address !== null ? address.port : 0}`
          const metadata = "/.well-known/oauth-protected-resource/mcp"
          const resource = `${origin}/mcp`
          const result: ProtectedServer = {
            url: new URL(resource),
            resource,
            calls: [],
            metadataRequests: [],
            issuers: [identity.issuer],
            judge: undefined,
            challengedScope: "notes:read"
          }
          const challenge = (parameters: string) => `Bearer ${parameters}resource_metadata="${origin}${metadata}"`
          const answerOf = (call: Call, token: IssuedToken | undefined): Answer => {
            const judged = result.judge?.(call, token)
            if (judged !== undefined) return judged
            const scope = result.challengedScope === undefined ? "" : `scope="${result.challengedScope}", `
            if (token === undefined || token.aud !== resource) return { status: 401, challenge: scope }
            const isMissing = call.operation === "write" && token.scope?.split(" ").includes("notes:write") !== true
            return isMissing
              ? { status: 403, challenge: "error=\"insufficient_scope\", scope=\"notes:write\", " }
              : { status: 200 }
          }
          const respond = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<unknown> => {
            request.resume()
            if (request.url === metadata) {
              result.metadataRequests.push(metadata)
              const json = { resource, authorization_servers: result.issuers, scopes_supported: ["notes:read"] }
              return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(json))
            }
            if (request.url?.startsWith("/mcp") !== true) {
              result.metadataRequests.push(request.url ?? "")
              return response.writeHead(404).end()
            }
            const { authorization, dpop } = request.headers
            const operation = request.headers["x-operation"]
            const call: Call = {
              authorization,
              dpop: typeof dpop === "string" ? dpop : undefined,
              operation: typeof operation === "string" ? operation : undefined
            }
            result.calls.push(call)
            const text = /^(?:Bearer|DPoP) (.+)$/.exec(authorization ?? "")?.[1]
            const { AccessToken, ClientCredentials } = identity.provider
            const token = text === undefined
              ? undefined
              : (await AccessToken.find(text)) ?? (await ClientCredentials.find(text))
            const answer = answerOf(call, token)
            const own = answer.challenge === undefined
              ? undefined
              : answer.challenge.startsWith("DPoP ")
              ? answer.challenge
              : challenge(answer.challenge)
            const body = JSON.stringify({ account: token?.accountId ?? token?.clientId, scope: token?.scope })
            return response.writeHead(answer.status, {
              "content-type": "application/json",
              ...answer.headers,
              ...(own === undefined ? {} : { "www-authenticate": own })
            }).end(body)
          }
          server.on("request", (request, response) => void respond(request, response))
          resume(Effect.succeed({ protectedServer: result, server }))
        })
      }),
      ({ server }) =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    ),
    ({ protectedServer }) => protectedServer
  )
