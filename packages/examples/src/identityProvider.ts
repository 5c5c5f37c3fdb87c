/**
 * An authorization server for trying the examples, with `oidc-provider`, which is no part of this library. It accepts
 * every name and every password, registers every client, and keeps nothing. It knows the scopes `notes:read` and
 * `notes:write`, and denies a sign-in for a server that has none of them. It exchanges no tokens.
 *
 * ```sh
 * node packages/examples/src/identityProvider.ts --port 4000
 * node packages/examples/src/identityProvider.ts --port 4000 --seconds 60 --job-key nightly.pem
 * ```
 *
 * Access tokens are valid for the given number of seconds; default 600. `--job-key` registers the client `nightly`,
 * which authenticates by a private key, and writes the key to this file. Each request for tokens is printed.
 */
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import * as http from "node:http"
import { parseArgs } from "node:util"
import { Provider } from "oidc-provider"

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "4000" },
    seconds: { type: "string", default: "600" },
    "job-key": { type: "string" }
  }
})
const issuer = `http://localhost:${values.port}`
const seconds = Number(values.seconds)

/** Makes a key pair for signatures. */
const makeKey = () => {
  const { privateKey, publicKey } = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" })
  const of = (key: crypto.KeyObject) => ({ ...key.export({ format: "jwk" }), alg: "ES256", kid: "1", use: "sig" })
  return {
    privateJwk: of(privateKey),
    publicJwk: of(publicKey),
    pem: privateKey.export({ format: "pem", type: "pkcs8" })
  }
}

/** Registers the client of the job, and writes its key to a file that only this user can read. */
const jobWith = (file: string) => {
  const { pem, publicJwk } = makeKey()
  fs.writeFileSync(file, pem, { mode: 0o600 })
  return {
    client_id: "nightly",
    grant_types: ["client_credentials"],
    redirect_uris: [],
    response_types: [],
    token_endpoint_auth_method: "private_key_jwt",
    token_endpoint_auth_signing_alg: "ES256",
    jwks: { keys: [publicJwk] }
  }
}

const jobKey = values["job-key"]

// The provider prints notes about its default settings.
console.info = console.warn = () => {}

const provider = new Provider(issuer, {
  clients: jobKey === undefined ? [] : [jobWith(jobKey)],
  clientAuthMethods: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
  clientDefaults: { id_token_signed_response_alg: "ES256" },
  cookies: { keys: [crypto.randomBytes(32).toString("hex")] },
  features: {
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true },
    devInteractions: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      getResourceServerInfo: (_context: unknown, resource: string) => ({
        audience: resource,
        scope: "notes:read notes:write",
        accessTokenFormat: "jwt",
        jwt: { sign: { alg: "ES256" } }
      }),
      useGrantedResource: () => true
    },
    revocation: { enabled: true }
  },
  findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
  issueRefreshToken: () => true,
  // With the name of the last start, servers would not request the key of this one.
  jwks: { keys: [{ ...makeKey().privateJwk, kid: crypto.randomUUID() }] },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  scopes: ["notes:read", "notes:write", "offline_access", "openid"],
  ttl: {
    AccessToken: seconds,
    ClientCredentials: seconds,
    DeviceCode: 600,
    Grant: 86_400,
    Interaction: 600,
    RefreshToken: 86_400,
    Session: 86_400
  }
})

const respond = provider.callback()

http.createServer((request, response) => {
  if (request.method === "POST" && request.url === "/token") {
    let body = ""
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString()
    })
    response.on("finish", () => console.log(`${new URLSearchParams(body).get("grant_type")} ${response.statusCode}`))
  }
  respond(request, response)
}).listen(Number(values.port), "127.0.0.1", () => console.log(`issuer ${issuer}`))
