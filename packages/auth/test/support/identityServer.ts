/** `oidc-provider` as a real authorization server, in this process and on a socket. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as http from "node:http"
import { Provider } from "oidc-provider"

/** A request to the authorization server. */
export interface Request {
  readonly path: string
  readonly method: string
  readonly query: URLSearchParams
  readonly headers: http.IncomingHttpHeaders
  /** The parameters of the body. */
  readonly body: URLSearchParams
}

/** The authorization server. */
export interface IdentityServer {
  readonly issuer: string
  readonly provider: Provider
  readonly requests: Array<Request>
  /** Returns the requests to a path. */
  readonly to: (path: string) => ReadonlyArray<Request>
  /** Answers instead of the provider if it returns `true`. */
  intercept: ((request: http.IncomingMessage, response: http.ServerResponse) => boolean) | undefined
}

/** Settings that differ between tests. */
export interface Settings {
  readonly accessTokenSeconds?: number
  readonly deviceCodeSeconds?: number
  readonly withoutRefreshTokens?: boolean
  readonly withDpopNonces?: boolean
  readonly clients?: ReadonlyArray<object>
  /** The scopes of each resource. */
  readonly scopes?: string
  /** The Client ID Metadata Documents by URL; without them, the provider supports none. */
  readonly documents?: Readonly<Record<string, object>>
  readonly grants?: (provider: Provider) => void
}

/** Returns the document of a client in place of its server, which would need a certificate. */
const documentIn = (documents: Readonly<Record<string, object>>) => (url: string | URL): Promise<Response> => {
  const document = documents[String(url)]
  return Promise.resolve(
    document === undefined
      ? new Response(null, { status: 404 })
      : new Response(JSON.stringify(document), { headers: { "content-type": "application/json" } })
  )
}

const configuration = (settings: Settings): object => ({
  ...(settings.documents === undefined ? {} : { fetch: documentIn(settings.documents) }),
  clients: settings.clients ?? [],
  cookies: { keys: ["key of the tests"] },
  findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
  scopes: ["openid", "offline_access"],
  clientAuthMethods: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    deviceFlow: { enabled: true },
    clientCredentials: { enabled: true },
    clientIdMetadataDocument: { enabled: settings.documents !== undefined, ack: "draft-02" },
    dPoP: settings.withDpopNonces === true
      ? { enabled: true, nonceSecret: Buffer.alloc(32, 7), requireNonce: () => true }
      : { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      useGrantedResource: () => true,
      getResourceServerInfo: (_context: unknown, resource: string) => ({
        audience: resource,
        scope: settings.scopes ?? "notes:read notes:write",
        accessTokenFormat: "opaque",
        accessTokenTTL: settings.accessTokenSeconds ?? 3600
      })
    }
  },
  issueRefreshToken: () => settings.withoutRefreshTokens !== true,
  rotateRefreshToken: true,
  pkce: { required: () => true },
  ttl: {
    AccessToken: settings.accessTokenSeconds ?? 3600,
    ClientCredentials: settings.accessTokenSeconds ?? 3600,
    RefreshToken: 86_400,
    Grant: 86_400,
    Session: 86_400,
    Interaction: 600,
    DeviceCode: settings.deviceCodeSeconds ?? 60
  }
})

/** Starts the authorization server. */
export const start = (settings: Settings = {}): Effect.Effect<IdentityServer, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<{ readonly identity: IdentityServer; readonly server: http.Server }>((resume) => {
        const server = http.createServer()
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          const port = typeof address === "object" && address !== null ? address.port : 0
          const issuer = `http://localhost:${port}`
          // The provider prints notes about its default settings.
          const { info, warn } = console
          console.info = console.warn = () => {}
          const provider = new Provider(issuer, configuration(settings))
          settings.grants?.(provider)
          const callback = provider.callback()
          Object.assign(console, { info, warn })
          const requests: Array<Request> = []
          const identity: IdentityServer = {
            issuer,
            provider,
            requests,
            to: (path) => requests.filter((request) => request.path === path),
            intercept: undefined
          }
          server.on("request", (request: http.IncomingMessage, response: http.ServerResponse) => {
            const { headers, method = "" } = request
            const { pathname, searchParams } = new URL(request.url ?? "/", issuer)
            const chunks: Array<Buffer> = []
            const push = request.push.bind(request)
            // The parser of HTTP pushes the body. A listener for it would take it from a provider that reads it later.
            request.push = (chunk: Buffer | null) => {
              if (chunk !== null) chunks.push(chunk)
              else {
                const body = new URLSearchParams(Buffer.concat(chunks).toString())
                requests.push({ path: pathname, method, query: searchParams, headers, body })
              }
              return push(chunk)
            }
            if (identity.intercept?.(request, response) === true) return
            callback(request, response)
          })
          resume(Effect.succeed({ identity, server }))
        })
      }),
      ({ server }) =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    ),
    ({ identity }) => identity
  )
