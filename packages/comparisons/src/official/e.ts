/** An HTTP server that accepts the tokens of an OAuth issuer, with scopes by tool, written with the official SDK. */
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from "@modelcontextprotocol/node"
import {
  type AuthInfo,
  createMcpHandler,
  getOAuthProtectedResourceMetadataUrl,
  McpServer,
  OAuthError,
  OAuthErrorCode,
  oauthMetadataResponse,
  requireBearerAuth,
  requireScopes
} from "@modelcontextprotocol/server"
import { createRemoteJWKSet, errors, jwtVerify } from "jose"
import { createServer } from "node:http"
import * as z from "zod/v4"

const port = Number(process.env["PORT"] ?? 3461)
const issuer = process.env["ISSUER"] ?? "http://localhost:4000"
const resourceServerUrl = new URL(`http://127.0.0.1:${port}/mcp`)
const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(resourceServerUrl)
const metadata = {
  oauthMetadata: {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ["code"]
  },
  resourceServerUrl,
  scopesSupported: ["notes:read", "notes:write"]
}

const Claims = z.object({ sub: z.string(), client_id: z.string(), exp: z.number(), scope: z.string().default("") })
const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`))

const verifyAccessToken = async (token: string): Promise<AuthInfo> => {
  const options = {
    issuer,
    audience: resourceServerUrl.href,
    typ: "at+jwt",
    requiredClaims: ["exp"],
    clockTolerance: 30
  }
  try {
    const { client_id: clientId, exp, scope, sub } = Claims.parse((await jwtVerify(token, keys, options)).payload)
    return { token, clientId, scopes: scope.split(" "), expiresAt: exp + 30, extra: { owner: sub } }
  } catch (error) {
    if (error instanceof errors.JWKSTimeout || error instanceof TypeError) throw error
    throw new OAuthError(OAuthErrorCode.InvalidToken, "The token is not accepted")
  }
}
const authenticate = requireBearerAuth({ verifier: { verifyAccessToken }, resourceMetadataUrl })

const notes = new Map<string, ReadonlyArray<string>>()

const mcp = createMcpHandler(({ authInfo }) => {
  const owner = z.string().parse(authInfo?.extra?.["owner"])
  const server = new McpServer({ name: "notes", version: "1.0.0" })
  server.registerTool("read", {
    description: "Returns your notes",
    outputSchema: z.object({ notes: z.array(z.string()) }),
    scopeChallenge: requireScopes("notes:read")
  }, () => {
    const output = { notes: notes.get(owner) ?? [] }
    return { content: [{ type: "text", text: JSON.stringify(output) }], structuredContent: output }
  })
  server.registerTool("write", {
    description: "Adds a note to yours",
    inputSchema: z.object({ text: z.string().min(1) }),
    scopeChallenge: requireScopes("notes:write")
  }, ({ text }) => {
    notes.set(owner, [...notes.get(owner) ?? [], text])
    return { content: [] }
  })
  return server
})

const handler = toNodeHandler({
  fetch: async (request) => {
    const document = oauthMetadataResponse(request, metadata)
    if (document !== undefined) return document
    if (new URL(request.url).pathname !== "/mcp") return new Response("Not found", { status: 404 })
    const authInfo = await authenticate(request)
    return authInfo instanceof Response ? authInfo : mcp.fetch(request, { authInfo })
  }
})
const validateHost = localhostHostValidation()
const validateOrigin = localhostOriginValidation()

createServer((request, response) => {
  if (!validateHost(request, response) || !validateOrigin(request, response)) return
  const { method = "GET", url = "/" } = request
  void handler(Object.assign(request, { method, url }), response)
}).listen(port, "127.0.0.1")
