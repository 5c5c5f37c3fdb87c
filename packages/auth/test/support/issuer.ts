/** An authorization server in this process, with outages, new keys, and tokens that break rules. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as jose from "jose"
import * as http from "node:http"
import type { Socket } from "node:net"
import * as OidcProvider from "../fixtures/oidcProvider.mjs"

/** The state of the server: it answers, is down, or accepts requests and never answers. */
export type State = "up" | "down" | "silent"

export interface Issuer {
  readonly url: string
  /** The paths of all requests. */
  readonly requests: Array<string>
  /** The number of requests of a path. */
  readonly count: (path: string) => number
  /** The exchanges that were requested. */
  readonly exchanges: Array<OidcProvider.ExchangeRequest>
  /** The keys, the present one last. */
  readonly keys: Array<OidcProvider.Key>
  /** The key of the client with `private_key_jwt`. */
  readonly clientKey: OidcProvider.Key
  state: State
  /** The lifetime of new tokens, in seconds. */
  lifetime: number
  /** Signs with a new key from now on, and publishes only that. */
  readonly rotate: Effect.Effect<void>
  /** Returns a token by client credentials: `sub` is the client. */
  readonly token: (
    parameters: Readonly<Record<string, string>>,
    options?: { readonly client?: string; readonly headers?: Readonly<Record<string, string>> }
  ) => Effect.Effect<string>
  /** Revokes a token. */
  readonly revoke: (token: string) => Effect.Effect<void>
  /** Signs a token with the present key. Its defaults are those of a good token; `undefined` removes a claim. */
  readonly sign: (
    claims: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
    key?: OidcProvider.Key
  ) => Effect.Effect<string>
}

export const secret = "secret-of-a-client-with-32-characters"

const clientOf = (id: string, more: Readonly<Record<string, unknown>> = {}) => ({
  client_id: id,
  client_secret: secret,
  redirect_uris: [],
  response_types: [],
  grant_types: ["client_credentials", "urn:ietf:params:oauth:grant-type:token-exchange"],
  token_endpoint_auth_method: "client_secret_basic",
  ...more
})

const basic = (client: string): string => `Basic ${Buffer.from(`${client}:${secret}`).toString("base64")}`

/** Starts an authorization server on a free port. */
export const start: Effect.Effect<Issuer, never, Scope.Scope> = Effect.gen(function*() {
  const keys = [yield* Effect.promise(() => OidcProvider.makeKey())]
  const clientKey = yield* Effect.promise(() => OidcProvider.makeKey())
  const requests: Array<string> = []
  const exchanges: Array<OidcProvider.ExchangeRequest> = []
  const sockets = new Set<Socket>()
  let handle: ReturnType<typeof OidcProvider.make> | undefined
  const present = (): OidcProvider.Key => {
    const key = keys.at(-1)
    if (key === undefined) throw new Error("no key")
    return key
  }

  const server = http.createServer((request, response) => {
    const path = (request.url ?? "").split("?")[0] ?? ""
    requests.push(path)
    if (issuer.state === "silent") return
    if (issuer.state === "down") return void request.socket.destroy()
    void handle?.(request, response)
  })
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
    () =>
      Effect.promise(() =>
        new Promise<void>((resolve) => {
          server.close(() => resolve())
          sockets.forEach((socket) => socket.destroy())
        })
      )
  )
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`

  const sign: Issuer["sign"] = (claims, header = {}, key = present()) =>
    Effect.promise(() => {
      const now = Math.floor(Date.now() / 1000)
      const all = {
        iss: url,
        sub: "ada",
        client_id: "app",
        iat: now,
        exp: now + 600,
        jti: crypto.randomUUID(),
        ...claims
      }
      const protectedHeader = { alg: "ES256", typ: "at+jwt", kid: key.kid, ...header }
      return new jose.SignJWT(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)))
        .setProtectedHeader(JSON.parse(JSON.stringify(protectedHeader)))
        .sign(key.privateKey)
    })

  const build = () => {
    handle = OidcProvider.make({
      issuer: url,
      jwks: { keys: [present().privateJwk] },
      clients: [
        clientOf("app"),
        clientOf("other-app"),
        clientOf("notes-server"),
        clientOf("posting-server", { token_endpoint_auth_method: "client_secret_post" }),
        clientOf("keyed-server", {
          client_secret: undefined,
          token_endpoint_auth_method: "private_key_jwt",
          token_endpoint_auth_signing_alg: "ES256",
          jwks: { keys: [clientKey.publicJwk] }
        })
      ],
      lifetime: () => issuer.lifetime,
      exchange: async (request) => {
        exchanges.push(request)
        if (request.resource === "https://forbidden.example") {
          return { error: "invalid_target", error_description: "no such \"resource\"" }
        }
        const { payload } = await jose.jwtVerify(request.subject, present().publicKey)
        const aud = request.resource ?? request.audience
        return {
          access_token: await Effect.runPromise(sign({ sub: payload.sub, aud, act: { sub: request.client } })),
          issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
          token_type: "Bearer",
          expires_in: issuer.lifetime,
          ...(request.scope === undefined ? {} : { scope: request.scope })
        }
      }
    })
  }

  const post = async (
    path: string,
    form: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>>
  ) => await fetch(`${url}${path}`, { method: "POST", body: new URLSearchParams(form), headers })

  const issuer: Issuer = {
    url,
    requests,
    count: (path) => requests.filter((one) => one === path).length,
    exchanges,
    keys,
    clientKey,
    state: "up",
    lifetime: 600,
    rotate: Effect.promise(async () => {
      keys.push(await OidcProvider.makeKey())
      build()
    }),
    token: (parameters, { client = "app", headers = {} } = {}) =>
      Effect.promise(async () => {
        const response = await post("/token", { grant_type: "client_credentials", ...parameters }, {
          authorization: basic(client),
          ...headers
        })
        const body: unknown = await response.json()
        if (typeof body === "object" && body !== null && "access_token" in body) return String(body.access_token)
        throw new Error(JSON.stringify(body))
      }),
    revoke: (token) =>
      Effect.promise(async () => {
        await post("/token/revocation", { token }, { authorization: basic("app") })
      }),
    sign
  }
  build()
  return issuer
})
