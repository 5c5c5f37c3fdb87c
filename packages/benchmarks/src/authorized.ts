/**
 * Benchmarks of calls that OAuth authorizes, over Streamable HTTP in this process. The tokens are signed by a small
 * authorization server, which is asked for keys and for one token.
 */
import { Grant, OAuth, ResourceServer } from "@effect-mcp/auth"
import { Content } from "@effect-mcp/protocol"
import { ClientSession, SessionHost } from "@effect-mcp/session"
import { Authentication, StreamableHttpClient, StreamableHttpServer } from "@effect-mcp/transport/node"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { HttpRouter } from "effect/http"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as crypto from "node:crypto"
import * as http from "node:http"
import { alternate, millisOf, type Samples } from "./measure.ts"
import type { Options } from "./Part.ts"
import { fromEffects, type Peer } from "./peers/Peer.ts"
import { info, numberIn, sum } from "./peers/tools.ts"

/** The names of what is compared. */
export const names = {
  constant: "a constant token at both sides",
  verified: "a constant token, verified by `ResourceServer`",
  authorized: "`OAuth` and `ResourceServer`"
}

/** Microseconds for each number of calls in flight, by what is compared, with one number per round. */
export interface Comparison {
  readonly [load: string]: { readonly [name: string]: Samples }
}

const widths = [1, 32]

/** The number of rounds until the just-in-time compiler has finished. */
const warmUpRounds = 4

const hour = 3600

interface Issuer {
  readonly url: string
  /** Issues a token for a resource. */
  readonly issue: (resource: string) => string
}

const portOf = (server: http.Server): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

/** Starts the authorization server. */
const issuer = Effect.map(
  Effect.acquireRelease(
    Effect.callback<http.Server>((resume) => {
      const server = http.createServer()
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  ),
  (server): Issuer => {
    const url = `http://localhost:${portOf(server)}`
    const { privateKey, publicKey } = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" })
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
    const issue = (resource: string): string => {
      const now = Math.floor(Date.now() / 1000)
      const claims = { iss: url, sub: "ada", aud: resource, client_id: "job", jti: "1", scope: "add", iat: now }
      const signed = `${part({ alg: "ES256", typ: "at+jwt", kid: "1" })}.${part({ ...claims, exp: now + hour })}`
      const signature = crypto.sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" })
      return `${signed}.${signature.toString("base64url")}`
    }
    const metadata = {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/keys`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      grant_types_supported: ["client_credentials"],
      token_endpoint_auth_methods_supported: ["client_secret_basic"]
    }
    const keys = { keys: [{ ...publicKey.export({ format: "jwk" }), alg: "ES256", kid: "1", use: "sig" }] }
    server.on("request", (request, response) => {
      let body = ""
      request.on("data", (chunk: Buffer) => {
        body += chunk.toString()
      })
      request.on("end", () => {
        const respond = (status: number, value: object) =>
          response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))
        if (request.url === "/.well-known/oauth-authorization-server") respond(200, metadata)
        else if (request.url === "/keys") respond(200, keys)
        else if (request.url === "/token") {
          const resource = new URLSearchParams(body).get("resource") ?? ""
          respond(200, { access_token: issue(resource), token_type: "Bearer", expires_in: hour, scope: "add" })
        } else respond(404, {})
      })
    })
    return { url, issue }
  }
)

/** Returns a port that is free now. The resource of a server is its URL, so the port is known before it listens. */
const freePort = Effect.callback<number>((resume) => {
  const server = http.createServer()
  server.listen(0, "127.0.0.1", () => {
    const port = portOf(server)
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** Serves calls, and returns a client that makes them. */
const connect = Effect.fnUntraced(function*(name: string, issuer: Issuer) {
  const scope = yield* Scope.make()
  const port = yield* freePort
  const url = `http://127.0.0.1:${port}/mcp`
  const token = issuer.issue(url)
  const host = SessionHost.layer(
    { "tools/call": (params) => Effect.succeed({ content: [Content.text(sum(params.arguments))] }) },
    { info }
  )
  const constant = Authentication.layerBearer({
    verify: (given) => Effect.succeed(Redacted.value(given) === token ? { id: "ada" } : undefined)
  })
  const resource = ResourceServer.layer({ resource: url, issuers: [issuer.url], scopes: ["add"] })
  const listener = NodeHttpServer.layer(http.createServer, { port, host: "127.0.0.1" })
  const quiet = { disableLogger: true, disableListenLog: true }
  const server = name === names.constant
    ? HttpRouter.serve(Layer.provide(StreamableHttpServer.layer(), constant), quiet)
    : HttpRouter.serve(Layer.merge(StreamableHttpServer.layer(), ResourceServer.routes), quiet).pipe(
      Layer.provide(resource)
    )
  yield* Scope.provide(Layer.build(server.pipe(Layer.provide(host), Layer.provide(listener))), scope)
  const session = ClientSession.layer({ info })
  const client = name === names.authorized
    ? Layer.provide(session, StreamableHttpClient.layerNode({ url })).pipe(
      Layer.provide(OAuth.layer({
        grant: Grant.clientCredentials,
        identity: { preRegistered: [{ issuer: issuer.url, clientId: "job", secret: Redacted.make("secret") }] }
      }))
    )
    : Layer.provide(
      session,
      StreamableHttpClient.layerNode({ url, headers: { authorization: Redacted.make(`Bearer ${token}`) } })
    )
  const built = yield* Scope.provide(Layer.build(client), scope)
  const { callTool } = Context.get(built, ClientSession.ClientSession)
  return fromEffects({
    name,
    add: (tool, a, b) => Effect.map(callTool(tool, { a, b }), numberIn),
    close: Scope.close(scope, Exit.void)
  })
})

const compare = async (peers: ReadonlyArray<Peer>, { calls, rounds }: Options): Promise<Comparison> => {
  const results: { [load: string]: { [name: string]: Samples } } = {}
  for (const inFlight of widths) {
    const contenders = peers.map(({ name, run }) => ({
      name,
      once: async () => await millisOf(() => run("add", calls, inFlight)) * 1000 / calls
    }))
    await alternate(contenders, warmUpRounds)
    results[inFlight === 1 ? "call" : `call, ${inFlight} in flight`] = Object.fromEntries(
      await alternate(contenders, rounds)
    )
  }
  return results
}

/** Measures `tools/call` with a constant token, and with one of OAuth. */
export const measure = (options: Options): Promise<Comparison> =>
  Effect.gen(function*() {
    const issuing = yield* issuer
    const peers = yield* Effect.forEach(Object.values(names), (name) => connect(name, issuing))
    const results = yield* Effect.promise(() => compare(peers, options))
    yield* Effect.promise(() => Promise.all(peers.map(({ close }) => close())))
    return results
  }).pipe(Effect.scoped, Effect.runPromise)
